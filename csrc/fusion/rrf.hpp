// Reciprocal rank fusion of ranked id lists.
#pragma once

#include "fusion/lists.hpp"

namespace sqe::fusion {

enum class Duplicates { best, sum };

// score(d) = sum over lists, in order, of weight / (constant + rank), rank from 1 (Cormack, Clarke and
// Buettcher, SIGIR 2009), in double precision. A document that repeats inside one list counts once, at its
// best rank (Duplicates::best), or every time (Duplicates::sum). Order: score descending, then first seen.
// O(entries + k log k) a query. InputError if an id is below -1.
void rrf(const IdLists& lists, const Weights& weights, double constant, Duplicates duplicates, int threads,
         const RankedRows& out);

}  // namespace sqe::fusion
