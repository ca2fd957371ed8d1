// The index file: one file, little-endian, mapped when opened.
//
//   header     magic, version, sizes, parameters, tokenizer name, checksum of the header and the table
//   table      for each section: offset, bytes, XXH64
//   sections   vocabulary slots, offsets, bytes; then for each block lengths, codes, terms, starts, postings
//
// Sections start at multiples of 64 bytes. Statistics, weights and bounds are computed when opening.
#pragma once

#include <memory>
#include <string>

#include "bm25/state.hpp"

namespace sqe::bm25 {

struct IndexFile {
  std::shared_ptr<const State> state;
  std::string tokenizer;
};

// FileError, naming the path, if it cannot be written; the file that was there before stays whole.
void save_index(const State& state, const std::string& tokenizer, const std::string& path);

// FileError, naming the path and what is wrong, if the file is not a whole, valid index file of this version.
// Every checksum is checked and every number in it is within bounds when this returns.
IndexFile load_index(const std::string& path, int threads);

}  // namespace sqe::bm25
