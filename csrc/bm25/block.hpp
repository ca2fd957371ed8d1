// A block: the postings of up to 65,536 consecutive documents.
//
// A posting is four bytes: the document within the block (low half) and the code of its (tf, length) pair
// (high half). A block has few distinct pairs, so BM25's weight is looked up in a small table, and a change
// of the corpus statistics (adding, deleting, other parameters) never rewrites postings.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "util/array.hpp"

namespace sqe::bm25 {

constexpr std::uint32_t kMaxBlockDocs = 1u << 16;
constexpr std::uint32_t kMaxBlockCodes = 1u << 16;

using Posting = std::uint32_t;

inline Posting make_posting(std::uint32_t doc, std::uint32_t code) { return code << 16 | doc; }
inline std::uint32_t posting_doc(Posting p) { return p & 0xFFFF; }
inline std::uint32_t posting_code(Posting p) { return p >> 16; }

struct TfLength {
  std::uint32_t tf;
  std::uint32_t length;
  std::uint64_t key() const { return static_cast<std::uint64_t>(length) << 32 | tf; }
};

struct Block {
  Array<std::uint32_t> lengths;  // tokens of each document
  Array<TfLength> codes;         // code -> (tf, length)
  Array<std::uint32_t> terms;    // ids of the terms that occur, ascending
  Array<std::uint32_t> starts;   // terms.size() + 1 offsets into postings
  Array<Posting> postings;       // by term, then by document

  std::uint32_t n_docs() const { return static_cast<std::uint32_t>(lengths.size()); }
};

// A map from (tf, length) to a dense code, first come first numbered.
class CodeTable {
 public:
  CodeTable();
  std::uint32_t size() const { return static_cast<std::uint32_t>(codes_.size()); }
  std::uint32_t insert(TfLength pair);
  const std::vector<TfLength>& codes() const { return codes_; }
  std::vector<TfLength> take() && { return std::move(codes_); }

 private:
  std::vector<std::uint32_t> slots_;  // code + 1; 0 is free
  std::vector<TfLength> codes_;
};

// A block that owns its arrays.
std::shared_ptr<const Block> own_block(std::vector<std::uint32_t> lengths, CodeTable codes,
                                       std::vector<std::uint32_t> terms, std::vector<std::uint32_t> starts,
                                       std::vector<Posting> postings);

// One block and the documents of it to keep: `keep` holds n_docs flags, or is empty for all.
struct BlockPart {
  std::shared_ptr<const Block> block;
  std::vector<bool> keep;
};

// The kept documents of `parts` as blocks of up to `block_docs`, in order, filled as far as the limits allow.
// The result depends on the kept documents and the parts' bounds alone. Time and memory: the postings of the
// parts.
std::vector<std::shared_ptr<const Block>> join_blocks(const std::vector<BlockPart>& parts,
                                                      std::uint32_t block_docs);

}  // namespace sqe::bm25
