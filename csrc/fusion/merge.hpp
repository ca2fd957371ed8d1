// The best k of several shards' results.
#pragma once

#include "fusion/lists.hpp"

namespace sqe::fusion {

// lists.ids[q][shard][position] are ids that are the same on every shard, scores belong to them; where the id
// is -1 the score is not looked at. A repeated id counts once, with its best score. Order: score descending,
// then id ascending. O(entries + k log k) a query. InputError if an id is below -1 or a score that counts is
// not finite.
void merge_topk(const IdLists& lists, const float* scores, int threads, const RankedRows& out);

}  // namespace sqe::fusion
