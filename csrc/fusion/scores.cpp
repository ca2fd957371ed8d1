#include "fusion/scores.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "fusion/doc_table.hpp"
#include "fusion/top.hpp"

namespace sqe::fusion {
namespace {

struct Entry {
  double sum;
  float score;  // in the list that was read last
  std::int32_t id;
  std::uint32_t last_list;
};

using Table = DocTable<Entry, std::uint32_t>;

struct Scratch {
  explicit Scratch(const IdLists& lists) : table(lists.entries()), keys(lists.entries()) {
    members.reserve(lists.depth);
  }

  Table table;
  TopSelector top;
  std::vector<std::uint64_t> keys;
  std::vector<Entry*> members;  // the distinct documents of one list
};

// (x - centre) / spread, and what stands for it where all scores are equal.
struct Scale {
  double centre = 0.0, spread = 0.0, if_equal = 0.0;
  double lowest = 0.0;  // the lowest normalised score of the list

  double operator()(float score) const {
    return spread > 0.0 ? (static_cast<double>(score) - centre) / spread : if_equal;
  }
};

Scale scale_of(const std::vector<Entry*>& members, Normalise how) {
  float low = members[0]->score, high = low;
  for (const Entry* entry : members) {
    low = std::min(low, entry->score);
    high = std::max(high, entry->score);
  }
  Scale scale;
  if (how == Normalise::minmax) {
    scale = {low, static_cast<double>(high) - static_cast<double>(low), 1.0};
  } else if (low < high) {
    const auto count = static_cast<double>(members.size());
    double sum = 0.0, squares = 0.0;
    for (const Entry* entry : members) sum += entry->score;
    const double mean = sum / count;
    for (const Entry* entry : members) {
      const double difference = entry->score - mean;
      squares += difference * difference;
    }
    scale = {mean, std::sqrt(squares / count), 0.0};
  }
  scale.lowest = scale(low);
  return scale;
}

void read_list(const IdLists& lists, const float* scores, std::size_t query, std::size_t list, double base,
               Scratch& scratch) {
  const std::size_t offset = lists.offset(query, list);
  const std::size_t length = lists.length(query, list);
  const auto mark = static_cast<std::uint32_t>(list);
  scratch.members.clear();
  for (std::size_t i = 0; i < length; ++i) {
    const std::int32_t id = lists.ids[offset + i];
    if (id < 0) {
      if (id != -1) refuse_id(id, query, list, i);
      continue;
    }
    const float score = scores[offset + i];
    if (!std::isfinite(score)) refuse_score(score, query, list, i);
    const auto [entry, fresh] = scratch.table.insert(id);
    if (fresh) entry->sum = base;
    if (fresh || entry->last_list != mark) {
      entry->score = score;
      entry->last_list = mark;
      scratch.members.push_back(entry);
    } else {
      entry->score = std::max(entry->score, score);
    }
  }
}

}  // namespace

void fuse_scores(const IdLists& lists, const float* scores, const Weights& weights, Normalise how,
                 Absent absent, int threads, const RankedRows& out) {
  std::vector<std::unique_ptr<Scratch>> scratches(static_cast<std::size_t>(threads));
  for_each_query(lists.queries, lists.entries(), threads, [&](std::size_t query, int slot) {
    auto& scratch = scratches[static_cast<std::size_t>(slot)];
    if (!scratch) scratch = std::make_unique<Scratch>(lists);
    Table& table = scratch->table;
    table.clear();
    double base = 0.0;  // what a document has that no list so far holds
    for (std::size_t list = 0; list < lists.lists; ++list) {
      read_list(lists, scores, query, list, base, *scratch);
      if (scratch->members.empty()) continue;
      const Scale scale = scale_of(scratch->members, how);
      const double weight = weights.of(query, list, lists.lists);
      if (absent == Absent::zero) {
        for (Entry* entry : scratch->members) entry->sum += weight * scale(entry->score);
        continue;
      }
      const double missing = weight * scale.lowest;
      const auto mark = static_cast<std::uint32_t>(list);
      for (Entry& entry : table) entry.sum += entry.last_list == mark ? weight * scale(entry.score) : missing;
      base += missing;
    }
    const Entry* entries = table.begin();
    const std::size_t kept = std::min(table.size(), out.k);
    for (std::size_t i = 0; i < table.size(); ++i) scratch->keys[i] = order_key(entries[i].sum);
    const std::uint32_t* order = scratch->top.select(scratch->keys.data(), table.size(), kept);
    for (std::size_t i = 0; i < kept; ++i) {
      out.ids[query * out.k + i] = entries[order[i]].id;
      out.scores[query * out.k + i] = static_cast<float>(entries[order[i]].sum);
    }
    out.pad(query, kept);
  });
}

}  // namespace sqe::fusion
