// Texts to blocks: tokenised in pieces by several threads, numbered in order, inverted a block at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bm25/block.hpp"
#include "bm25/vocabulary.hpp"
#include "text/tokenizer.hpp"

namespace sqe::bm25 {

// Fills `out` with the tokens of text `i` of a chunk; called from several threads at once.
using TokenSource = std::function<void(std::size_t i, text::TokenBuffer& out)>;

struct Piece;  // documents with term counts, their terms numbered within the piece

// Term ids follow the first appearance in the order of documents, whatever the number of threads. Memory
// beyond the finished blocks: one unfinished block and the chunk in hand.
class Builder {
 public:
  Builder(const Vocabulary& base, std::uint32_t block_docs, int threads);
  ~Builder();

  // Append a chunk of `count` documents. InputError for a document that cannot be indexed.
  void add(std::size_t count, const TokenSource& tokens);

  // Blocks of everything added, and the vocabulary.
  std::vector<std::shared_ptr<const Block>> finish();
  Vocabulary take_vocabulary() { return std::move(vocabulary_).finish(); }

 private:
  void number_terms(Piece& piece);
  void close_block();
  void invert_closed();

  std::uint32_t block_docs_;
  int threads_;
  VocabularyBuilder vocabulary_;
  std::vector<std::unique_ptr<Piece>> open_;  // pieces of the unfinished block
  CodeTable open_codes_;
  std::uint64_t open_docs_ = 0;
  std::uint64_t open_postings_ = 0;
  struct Closed {
    std::vector<std::unique_ptr<Piece>> pieces;
    CodeTable codes;
  };
  std::vector<Closed> closed_;  // complete, waiting for inversion
  std::vector<std::shared_ptr<const Block>> blocks_;
};

}  // namespace sqe::bm25
