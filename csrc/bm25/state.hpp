// One immutable snapshot of an index: blocks and vocabulary (the truth, what a file holds), and what follows
// from them for searching (term statistics, weights, upper bounds, bitmaps).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bm25/block.hpp"
#include "bm25/params.hpp"
#include "bm25/vocabulary.hpp"

namespace sqe::bm25 {

constexpr std::uint32_t kRare = 0xFFFFFFFFu;

// The postings of one term in one block.
struct Slice {
  std::uint32_t block;
  std::uint32_t start;  // first posting in the block
  std::uint32_t count;
  float max_weight;        // over these postings
  std::uint32_t frequent;  // position in the block's frequent terms, or kRare
};

struct TermInfo {
  std::uint32_t first_slice;  // slices of a term are in block order; the next term's first_slice ends them
  std::uint32_t df;
  float idf;  // after okapi's floor; 0 for a term no document holds
};

// Bitmaps of a term that many documents of a block hold, by their first words in BlockView::bitmaps.
struct Frequent {
  std::uint32_t holders;  // documents with the term
  std::uint32_t heavy;    // documents where its weight is above common_weight
  float common_weight;    // most documents' weights are at most this
};

// What a block needs beyond its postings while searching.
struct BlockView {
  std::uint32_t first_row;
  std::vector<float> weights;  // by code
  std::vector<Frequent> frequent;
  std::vector<std::uint64_t> bitmaps;  // one bit a document
  std::vector<std::uint16_t> ranks;    // one a word: how many bits are set in the bitmap's words before it
};

struct State {
  Params params;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::vector<std::shared_ptr<const Block>> blocks;

  std::uint64_t n_docs = 0;
  std::uint64_t n_tokens = 0;
  std::uint64_t n_postings = 0;
  std::vector<BlockView> views;
  std::vector<TermInfo> terms;  // vocabulary size + 1
  std::vector<Slice> slices;

  double mean_length() const {
    return n_docs ? static_cast<double>(n_tokens) / static_cast<double>(n_docs) : 0;
  }
  double idf(std::uint32_t term) const;  // in double precision
  double floor_idf = 0;                  // okapi: what replaces a negative idf
};

// Complete a snapshot from blocks and vocabulary. Time: one pass over the postings.
std::shared_ptr<const State> make_state(const Params& params, std::shared_ptr<const Vocabulary> vocabulary,
                                        std::vector<std::shared_ptr<const Block>> blocks, int threads);

// Bytes held by a snapshot, mapped files included.
std::uint64_t memory_bytes(const State& state);

}  // namespace sqe::bm25
