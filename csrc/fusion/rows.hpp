// Score fusion of whole score rows: every list scores every document.
#pragma once

#include "fusion/lists.hpp"
#include "fusion/scores.hpp"

namespace sqe::fusion {

struct ScoreRows {
  const float* scores;  // [query][list][document]
  std::size_t queries, lists, documents;
};

// As fuse_scores, where every list holds every document: normalise each row, sum weight * normalised score
// over the lists in order, keep the best k: score descending, then row ascending. Moments are sums over 16
// fixed lanes, so every instruction set level gives the same bits. O(lists * documents + k log k) a query;
// a thread needs O(k) memory. InputError if a score is not finite.
void fuse_rows(const ScoreRows& rows, const Weights& weights, Normalise how, int threads,
               const RankedRows& out);

}  // namespace sqe::fusion
