#include "bm25/query.hpp"

#include <algorithm>

namespace sqe::bm25 {
namespace {

// Weights are above 1e-16 whatever the parameters, so that scores from this factor on are normal floats.
constexpr float kLeastFactor = 1e-20f;

// A float sum of m products is off by at most (m + 3) * 2^-24 of itself: below 1e-5 for this many.
constexpr std::size_t kMostFloatTerms = 160;

std::uint64_t pack(std::uint32_t high, std::uint32_t low) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}
std::uint32_t high_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }
std::uint32_t low_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

}  // namespace

void make_query(const State& state, const text::TokenBuffer& tokens, Query& query) {
  query.terms.clear();
  query.careful = false;
  // Sorting by (term, position) brings the occurrences of a term together, the first in front.
  std::vector<std::uint64_t>& keys = query.keys;
  keys.clear();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::uint32_t term = state.vocabulary->find(tokens[i]);
    if (term == Vocabulary::kMissing || state.terms[term].df == 0) continue;
    keys.push_back(pack(term, static_cast<std::uint32_t>(i)));
  }
  std::sort(keys.begin(), keys.end());
  for (const std::uint64_t key : keys) {
    const std::uint32_t term = high_of(key);
    if (!query.terms.empty() && query.terms.back().term == term) {
      ++query.terms.back().count;
      continue;
    }
    const TermInfo& info = state.terms[term];
    query.terms.push_back({term, low_of(key), 1, info.df, 0, state.slices.data() + info.first_slice,
                           state.slices.data() + state.terms[term + 1].first_slice});
  }
  for (QueryTerm& term : query.terms) {
    term.factor = state.terms[term.term].idf * static_cast<float>(term.count);
    if (!(term.factor > kLeastFactor)) query.careful = true;
  }
  if (query.terms.size() > kMostFloatTerms) query.careful = true;
  std::sort(query.terms.begin(), query.terms.end(), [](const QueryTerm& a, const QueryTerm& b) {
    return pack(a.df, a.position) < pack(b.df, b.position);
  });
}

}  // namespace sqe::bm25
