// The input that all list fusions share: a batch of ranked lists of ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "util/error.hpp"
#include "util/threads.hpp"

namespace sqe::fusion {

// ids[q][l][position], best first; -1 is padding. lengths[q][l] entries of a list are looked at; without
// lengths, all `depth` of them.
struct IdLists {
  const std::int32_t* ids;
  const std::int32_t* lengths;  // or null
  std::size_t queries, lists, depth;

  std::size_t entries() const { return lists * depth; }
  std::size_t offset(std::size_t query, std::size_t list) const { return (query * lists + list) * depth; }
  std::size_t length(std::size_t query, std::size_t list) const {
    return lengths ? static_cast<std::size_t>(lengths[query * lists + list]) : depth;
  }
};

// Weights of the lists: none (all 1), one row for all queries, or one row a query.
struct Weights {
  const double* values = nullptr;
  bool per_query = false;

  double of(std::size_t query, std::size_t list, std::size_t lists) const {
    return values ? values[(per_query ? query * lists : 0) + list] : 1.0;
  }
};

// One row of results of width k.
struct RankedRows {
  std::int32_t* ids;
  float* scores;
  std::size_t k;

  void pad(std::size_t query, std::size_t from) const {
    std::fill(ids + query * k + from, ids + (query + 1) * k, -1);
    std::fill(scores + query * k + from, scores + (query + 1) * k, -std::numeric_limits<float>::infinity());
  }
};

[[noreturn]] inline void refuse_id(std::int32_t id, std::size_t query, std::size_t list,
                                   std::size_t position) {
  throw InputError("ids must be 0 or more, or -1 for padding; got " + std::to_string(id) + " at [" +
                   std::to_string(query) + ", " + std::to_string(list) + ", " + std::to_string(position) +
                   "]");
}

[[noreturn]] inline void refuse_score(float score, std::size_t query, std::size_t list,
                                      std::size_t position) {
  throw InputError("scores must be finite where ids are not -1; got " + std::to_string(score) + " at [" +
                   std::to_string(query) + ", " + std::to_string(list) + ", " + std::to_string(position) +
                   "]");
}

// Call task(query, slot) for every query, a few queries a work item so that small ones share its cost.
template <class Task>
void for_each_query(std::size_t queries, std::size_t work_per_query, int threads, const Task& task) {
  const std::size_t block = std::max<std::size_t>(1, 16384 / std::max<std::size_t>(1, work_per_query));
  parallel_for((queries + block - 1) / block, threads, [&](std::size_t index, int slot) {
    const std::size_t end = std::min(queries, (index + 1) * block);
    for (std::size_t query = index * block; query < end; ++query) task(query, slot);
  });
}

}  // namespace sqe::fusion
