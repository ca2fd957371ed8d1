#include "bm25/query.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace sqe::bm25 {
namespace {

// Weights are above 1e-16 whatever the parameters, so that scores from this factor on are normal floats.
constexpr float kLeastFactor = 1e-20f;

// A float sum of m products is off by at most (m + 3) * 2^-24 of itself: below 1e-5 for this many.
constexpr std::size_t kMostFloatTerms = 160;

constexpr std::size_t kShortRun = 32;

std::uint64_t pack(std::uint32_t high, std::uint32_t low) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}
std::uint32_t high_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }
std::uint32_t low_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

// Append the terms of tokens of one df, in order of first appearance, with their counts. A short run is
// looked through for repeats; a long one keeps a table.
void add_run(const State& state, const std::uint64_t* keys, std::size_t n, Query& query) {
  const std::size_t first = query.terms.size();
  std::optional<std::unordered_map<std::uint32_t, std::size_t>> places;
  if (n > kShortRun) places.emplace();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t position = low_of(keys[i]);
    const std::uint32_t term = query.found[position];
    std::size_t at = first;
    if (places) {
      at = places->try_emplace(term, query.terms.size()).first->second;
    } else {
      while (at < query.terms.size() && query.terms[at].term != term) ++at;
    }
    if (at < query.terms.size()) {
      ++query.terms[at].count;
      continue;
    }
    const TermInfo& info = state.terms[term];
    query.terms.push_back({term, position, 1, info.df, 0, state.slices.data() + info.first_slice,
                           state.slices.data() + state.terms[term + 1].first_slice});
  }
}

}  // namespace

void make_query(const State& state, const text::TokenBuffer& tokens, Query& query) {
  query.terms.clear();
  query.careful = false;
  // One sort of small keys gives the order; equal terms have equal df, so repeats lie within a run of one df.
  std::vector<std::uint64_t>& keys = query.keys;
  keys.clear();
  query.found.resize(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::uint32_t term = state.vocabulary->find(tokens[i]);
    if (term == Vocabulary::kMissing || state.terms[term].df == 0) continue;
    query.found[i] = term;
    keys.push_back(pack(state.terms[term].df, static_cast<std::uint32_t>(i)));
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t begin = 0; begin < keys.size();) {
    std::size_t end = begin + 1;
    while (end < keys.size() && high_of(keys[end]) == high_of(keys[begin])) ++end;
    add_run(state, keys.data() + begin, end - begin, query);
    begin = end;
  }
  for (QueryTerm& term : query.terms) {
    term.factor = state.terms[term.term].idf * static_cast<float>(term.count);
    if (!(term.factor > kLeastFactor)) query.careful = true;
  }
  if (query.terms.size() > kMostFloatTerms) query.careful = true;
}

}  // namespace sqe::bm25
