// The inner loops of searching, one table of functions for each instruction set level.
#pragma once

#include <cstdint>

#include "util/isa.hpp"

namespace sqe::bm25 {

struct SearchKernels {
  // scores[doc] += factor * weights[code] for every posting.
  void (*accumulate)(const std::uint32_t* postings, std::uint32_t n, const float* weights, float factor,
                     float* scores);

  // The same, appending each document whose score was 0 to `touched` (room for one element more than it will
  // hold); returns the new number of touched documents.
  std::uint32_t (*accumulate_touching)(const std::uint32_t* postings, std::uint32_t n, const float* weights,
                                       float factor, float* scores, std::uint16_t* touched,
                                       std::uint32_t n_touched);

  // The same for documents with a score above 0 only.
  void (*accumulate_present)(const std::uint32_t* postings, std::uint32_t n, const float* weights,
                             float factor, float* scores);

  // Documents of [0, n) with score >= cut (cut > 0), ascending, to `out` (room for n + 16); returns how many.
  std::uint32_t (*scan)(const float* scores, std::uint32_t n, float cut, std::uint16_t* out);

  // Those of `docs` with score >= cut, in order, to `out` (may be `docs` itself; room for n + 16).
  std::uint32_t (*filter)(const float* scores, const std::uint16_t* docs, std::uint32_t n, float cut,
                          std::uint16_t* out);

  // sums[i] += bound where docs[i] is in the bitmap; keeps the documents whose sum is then >= cut, with their
  // sums, in order and in place (both arrays have room for n + 16); returns how many.
  std::uint32_t (*bound_by_bitmap)(const std::uint64_t* bitmap, float bound, float cut, std::uint16_t* docs,
                                   float* sums, std::uint32_t n);

  // out[i] = scores[docs[i]].
  void (*gather)(const float* scores, const std::uint16_t* docs, std::uint32_t n, float* out);

  // out[i] = the largest of values[i], values[i + m], values[i + 2 m], ...; m <= n, no value negative.
  void (*fold)(const float* values, std::uint32_t n, std::uint32_t m, float* out);

  // How many values (none negative) are >= cut; the largest value (0 of none).
  std::uint32_t (*count_from)(const float* values, std::uint32_t n, float cut);
  float (*largest)(const float* values, std::uint32_t n);
};

SQE_DECLARE_LEVELS(SearchKernels, search_kernels)

}  // namespace sqe::bm25
