// Score fusion of ranked lists: normalise each list, then sum by document.
#pragma once

#include "fusion/lists.hpp"

namespace sqe::fusion {

enum class Normalise { zscore, minmax };

// What a list gives to a document that it does not hold: its lowest normalised score, or nothing.
enum class Absent { lowest, zero };

// scores[q][l][position] belong to lists.ids; where the id is -1 the score is not looked at. Every list is
// normalised over its distinct documents (of a repeated one the best score counts), in double precision, in
// list order:
//   zscore  (x - mean) / deviation, the deviation of the population; 0 where all scores are equal
//   minmax  (x - lowest) / (highest - lowest); 1 where all scores are equal
// score(d) = sum over lists, in order, of weight * normalised score. An empty list adds nothing. Order: score
// descending, then first seen. O(entries + lists * distinct documents + k log k) a query. InputError if an id
// is below -1 or a score that counts is not finite.
void fuse_scores(const IdLists& lists, const float* scores, const Weights& weights, Normalise how,
                 Absent absent, int threads, const RankedRows& out);

}  // namespace sqe::fusion
