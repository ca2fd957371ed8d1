// From masks of where spans start and end, 64 bytes a mask, to the spans.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/ascii_kernels.hpp"
#include "text/tokenizer.hpp"

namespace sqe::text {

// Bit i of `ends` says that a span ends before byte i; a span may cross any number of blocks.
struct Edges {
  std::uint64_t starts;
  std::uint64_t ends;
};

class SpanScanner {
 public:
  // Fills `spans` from its beginning.
  explicit SpanScanner(std::vector<TokenBuffer::Span>& spans) : spans_(spans) { spans_.clear(); }

  // edges[k] describes the 64 bytes from base + 64 k on.
  void scan(const Edges* edges, std::size_t n_blocks, std::size_t base) {
    std::size_t starts = 0;
    for (std::size_t k = 0; k < n_blocks; ++k) {
      starts += static_cast<std::size_t>(std::popcount(edges[k].starts));
    }
    spans_.resize(spans_.size() + starts);
    TokenBuffer::Span* spans = spans_.data();
    for (std::size_t k = 0; k < n_blocks; ++k) {
      const auto at = static_cast<std::uint32_t>(base + k * kBlock);
      for (std::uint64_t bits = edges[k].starts; bits; bits &= bits - 1) {
        spans[begun_++].begin = at + static_cast<std::uint32_t>(std::countr_zero(bits));
      }
      for (std::uint64_t bits = edges[k].ends; bits; bits &= bits - 1) {
        const std::uint32_t end = at + static_cast<std::uint32_t>(std::countr_zero(bits));
        spans[ended_].length = end - spans[ended_].begin;
        ++ended_;
      }
    }
  }

  // End the span that reaches the end of the text, if one does.
  void finish(std::size_t length) {
    if (ended_ == begun_) return;
    spans_[ended_].length = static_cast<std::uint32_t>(length) - spans_[ended_].begin;
  }

 private:
  std::vector<TokenBuffer::Span>& spans_;
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace sqe::text
