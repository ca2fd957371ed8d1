#include "fusion/rrf.hpp"

#include <memory>
#include <vector>

#include "fusion/doc_table.hpp"
#include "fusion/top.hpp"

namespace sqe::fusion {
namespace {

struct Entry {
  double sum;
  std::int32_t id;
  std::uint32_t last_list;
};

// What one list adds at each position: gains[list * depth + position].
void fill_gains(const IdLists& lists, const Weights& weights, double constant, std::size_t query,
                double* gains) {
  for (std::size_t list = 0; list < lists.lists; ++list) {
    const double weight = weights.of(query, list, lists.lists) + 0.0;  // -0 becomes 0
    for (std::size_t i = 0; i < lists.depth; ++i) {
      gains[list * lists.depth + i] = weight / (constant + static_cast<double>(i + 1));
    }
  }
}

template <class Index>
struct Scratch {
  explicit Scratch(std::size_t entries) : table(entries), keys(entries) {}

  DocTable<Entry, Index> table;
  TopSelector top;
  std::vector<std::uint64_t> keys;
  std::vector<double> gains;  // only for weights that differ by query
};

template <class Index, Duplicates duplicates>
void sum_gains(const IdLists& lists, std::size_t query, const double* gains, DocTable<Entry, Index>& table) {
  table.clear();
  for (std::size_t list = 0; list < lists.lists; ++list) {
    const std::int32_t* ids = lists.ids + lists.offset(query, list);
    const double* list_gains = gains + list * lists.depth;
    const std::size_t length = lists.length(query, list);
    const auto mark = static_cast<std::uint32_t>(list);
    for (std::size_t i = 0; i < length; ++i) {
      const std::int32_t id = ids[i];
      if (id < 0) {
        if (id != -1) refuse_id(id, query, list, i);
        continue;
      }
      const auto [entry, fresh] = table.insert(id);
      if (fresh) {
        entry->sum = list_gains[i];
      } else if (duplicates == Duplicates::sum || entry->last_list != mark) {
        entry->sum += list_gains[i];
      }
      entry->last_list = mark;
    }
  }
}

template <class Index>
void rrf_batch(const IdLists& lists, const Weights& weights, double constant, Duplicates duplicates,
               int threads, const RankedRows& out) {
  std::vector<double> shared_gains;
  if (!weights.per_query) {
    shared_gains.resize(lists.entries());
    fill_gains(lists, weights, constant, 0, shared_gains.data());
  }
  std::vector<std::unique_ptr<Scratch<Index>>> scratches(static_cast<std::size_t>(threads));
  for_each_query(lists.queries, lists.entries(), threads, [&](std::size_t query, int slot) {
    auto& scratch = scratches[static_cast<std::size_t>(slot)];
    if (!scratch) scratch = std::make_unique<Scratch<Index>>(lists.entries());
    const double* gains = shared_gains.data();
    if (weights.per_query) {
      scratch->gains.resize(lists.entries());
      fill_gains(lists, weights, constant, query, scratch->gains.data());
      gains = scratch->gains.data();
    }
    if (duplicates == Duplicates::sum) {
      sum_gains<Index, Duplicates::sum>(lists, query, gains, scratch->table);
    } else {
      sum_gains<Index, Duplicates::best>(lists, query, gains, scratch->table);
    }
    const Entry* entries = scratch->table.begin();
    const std::size_t size = scratch->table.size();
    const std::size_t kept = std::min(size, out.k);
    std::uint64_t* keys = scratch->keys.data();
    for (std::size_t i = 0; i < size; ++i) keys[i] = std::bit_cast<std::uint64_t>(entries[i].sum);  // >= 0
    const std::uint32_t* order = scratch->top.select(keys, size, kept);
    for (std::size_t i = 0; i < kept; ++i) {
      out.ids[query * out.k + i] = entries[order[i]].id;
      out.scores[query * out.k + i] = static_cast<float>(entries[order[i]].sum);
    }
    out.pad(query, kept);
  });
}

}  // namespace

void rrf(const IdLists& lists, const Weights& weights, double constant, Duplicates duplicates, int threads,
         const RankedRows& out) {
  if (DocTable<Entry, std::uint16_t>::fits(lists.entries())) {
    rrf_batch<std::uint16_t>(lists, weights, constant, duplicates, threads, out);
  } else {
    rrf_batch<std::uint32_t>(lists, weights, constant, duplicates, threads, out);
  }
}

}  // namespace sqe::fusion
