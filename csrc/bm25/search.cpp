#include "bm25/search.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "bm25/block_search.hpp"
#include "util/threads.hpp"

namespace sqe::bm25 {
namespace {

constexpr std::size_t kGroup = 32;  // queries that pass the blocks together, at most

// Few queries are shared out among the threads, unless they are over sooner than another thread wakes up.
std::size_t group_size(const State& state, std::size_t count, int threads) {
  const std::size_t share =
      (count + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
  const std::size_t least = 200'000 / static_cast<std::size_t>(state.n_docs + 1) + 1;
  return std::min(kGroup, std::max(share, least));
}

// What one thread needs; made when the thread takes its first group.
struct Scratch {
  explicit Scratch(const State& state) : search(state), queries(kGroup), best(kGroup) {}
  BlockSearch search;
  std::vector<Query> queries;
  std::vector<TopK> best;
  text::TokenBuffer tokens;
};

}  // namespace

void search(const State& state, std::size_t count, const TokenSource& queries, std::uint32_t k, int threads,
            std::int32_t* ids, float* scores) {
  const std::size_t size = group_size(state, count, threads);
  const std::size_t n_groups = (count + size - 1) / size;
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(threads));
  parallel_for(n_groups, threads, [&](std::size_t group, int slot) {
    auto& own = scratch[static_cast<std::size_t>(slot)];
    if (!own) own = std::make_unique<Scratch>(state);
    const std::size_t first = group * size;
    const std::size_t n = std::min(size, count - first);
    for (std::size_t i = 0; i < n; ++i) {
      queries(first + i, own->tokens);
      make_query(state, own->tokens, own->queries[i]);
      own->best[i].reset(k);
    }
    for (std::uint32_t b = 0; b < state.blocks.size(); ++b) {
      for (std::size_t i = 0; i < n; ++i) own->search.run(b, own->queries[i], k, own->best[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      own->best[i].finish(ids + (first + i) * k, scores + (first + i) * k);
    }
  });
}

void score_rows(const State& state, std::size_t count, const TokenSource& queries, int threads, float* rows) {
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(threads));
  parallel_for(count, threads, [&](std::size_t i, int slot) {
    auto& own = scratch[static_cast<std::size_t>(slot)];
    if (!own) own = std::make_unique<Scratch>(state);
    float* row = rows + i * state.n_docs;
    std::fill_n(row, state.n_docs, 0.0f);
    queries(i, own->tokens);
    make_query(state, own->tokens, own->queries[0]);
    for (std::uint32_t b = 0; b < state.blocks.size(); ++b) {
      own->search.rows(b, own->queries[0], row + state.views[b].first_row);
    }
  });
}

}  // namespace sqe::bm25
