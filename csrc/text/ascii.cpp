// Tokens of ASCII text: the whole text is lowered once, and every token is a span of the lowered text.
#include <algorithm>
#include <bit>

#include "text/ascii_kernels.hpp"
#include "text/paths.hpp"

namespace sqe::text {
namespace {

using Span = TokenBuffer::Span;

constexpr std::size_t kChunkBlocks = 64;  // masks kept on the stack: 4 KiB of text

// Turns masks of "inside a span" into spans, block by block; a span may cross any number of blocks.
class SpanScanner {
 public:
  explicit SpanScanner(std::vector<Span>& spans) : spans_(spans) {}

  // inside[k] describes the 64 bytes from base + 64 k on.
  void scan(const std::uint64_t* inside, std::size_t n_blocks, std::size_t base) {
    std::size_t starts = 0;
    std::uint64_t carry = carry_;
    for (std::size_t k = 0; k < n_blocks; ++k) {
      starts += static_cast<std::size_t>(std::popcount(inside[k] & ~(inside[k] << 1 | carry)));
      carry = inside[k] >> 63;
    }
    spans_.resize(spans_.size() + starts);
    for (std::size_t k = 0; k < n_blocks; ++k) {
      const auto at = static_cast<std::uint32_t>(base + k * kBlock);
      const std::uint64_t before = inside[k] << 1 | carry_;
      for (std::uint64_t bits = inside[k] & ~before; bits; bits &= bits - 1) {
        spans_[begun_++].begin = at + static_cast<std::uint32_t>(std::countr_zero(bits));
      }
      for (std::uint64_t bits = ~inside[k] & before; bits; bits &= bits - 1) {
        end_one(at + static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
      carry_ = inside[k] >> 63;
    }
  }

  // End the span that reaches the end of the text, if one does.
  void finish(std::size_t length) {
    if (ended_ < begun_) end_one(static_cast<std::uint32_t>(length));
  }

 private:
  void end_one(std::uint32_t end) {
    spans_[ended_].length = end - spans_[ended_].begin;
    ++ended_;
  }

  std::vector<Span>& spans_;
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;
  std::uint64_t carry_ = 0;  // whether the byte before is inside
};

}  // namespace

void whitespace_ascii(const char* text, std::size_t length, TokenBuffer& out) {
  char* lowered = out.room(length + kBlock);
  const AsciiKernels& kernels = SQE_DISPATCH(ascii_kernels);
  SpanScanner scanner(out.spans);
  std::uint64_t masks[kChunkBlocks];
  constexpr std::size_t kChunk = kChunkBlocks * kBlock;
  for (std::size_t base = 0; base < length; base += kChunk) {
    const std::size_t size = std::min(kChunk, length - base);
    const std::size_t n_blocks = (size + kBlock - 1) / kBlock;
    kernels.lower_spaces(text + base, size, lowered + base, masks);
    for (std::size_t k = 0; k < n_blocks; ++k) masks[k] = ~masks[k];
    scanner.scan(masks, n_blocks, base);
  }
  scanner.finish(length);
}

}  // namespace sqe::text
