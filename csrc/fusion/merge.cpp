#include "fusion/merge.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "fusion/doc_table.hpp"
#include "fusion/top.hpp"

namespace sqe::fusion {
namespace {

struct Entry {
  std::int32_t id;
  float score;
};

struct Scratch {
  explicit Scratch(std::size_t entries) : table(entries), keys(entries) {}

  DocTable<Entry, std::uint32_t> table;
  TopSelector top;
  std::vector<std::uint64_t> keys;
};

}  // namespace

void merge_topk(const IdLists& lists, const float* scores, int threads, const RankedRows& out) {
  std::vector<std::unique_ptr<Scratch>> scratches(static_cast<std::size_t>(threads));
  for_each_query(lists.queries, lists.entries(), threads, [&](std::size_t query, int slot) {
    auto& scratch = scratches[static_cast<std::size_t>(slot)];
    if (!scratch) scratch = std::make_unique<Scratch>(lists.entries());
    auto& table = scratch->table;
    table.clear();
    for (std::size_t list = 0; list < lists.lists; ++list) {
      const std::size_t offset = lists.offset(query, list);
      for (std::size_t i = 0; i < lists.depth; ++i) {
        const std::int32_t id = lists.ids[offset + i];
        if (id < 0) {
          if (id != -1) refuse_id(id, query, list, i);
          continue;
        }
        const float score = scores[offset + i];
        if (!std::isfinite(score)) refuse_score(score, query, list, i);
        const auto [entry, fresh] = table.insert(id);
        if (fresh || score > entry->score) entry->score = score;
      }
    }
    const Entry* entries = table.begin();
    const std::size_t kept = std::min(table.size(), out.k);
    for (std::size_t i = 0; i < table.size(); ++i) {
      scratch->keys[i] = static_cast<std::uint64_t>(order_key(entries[i].score)) << 32 |
                         (0xFFFFFFFFu - static_cast<std::uint32_t>(entries[i].id));
    }
    const std::uint32_t* order = scratch->top.select(scratch->keys.data(), table.size(), kept);
    for (std::size_t i = 0; i < kept; ++i) {
      out.ids[query * out.k + i] = entries[order[i]].id;
      out.scores[query * out.k + i] = entries[order[i]].score;
    }
    out.pad(query, kept);
  });
}

}  // namespace sqe::fusion
