// What must hold for an index from any file that load_index accepts, however the file came about.
#pragma once

#include <algorithm>
#include <string>

#include "bm25/index.hpp"
#include "bm25_checks.hpp"

namespace sqe::testing {

// Searching agrees with the rows, at every level; adding and deleting work; all without a crash. A file made
// with intent may hold a term that the search cannot find, so nothing is said about which documents match.
inline void check_loaded(bm25::Index& index) {
  const auto state = index.state();
  const std::size_t n_docs = static_cast<std::size_t>(state->n_docs);
  Corpus words{{}, {"unknown"}};
  Document all;
  const std::uint32_t n_terms = state->vocabulary->size();
  for (std::uint32_t term = 0; term < n_terms; term += 1 + n_terms / 4) {
    const std::string token(state->vocabulary->term(term));
    if (token.size() > 100) continue;
    // Tokens of a file may hold bytes that split here; the parts are then unknown words.
    if (std::any_of(token.begin(), token.end(), [](char c) { return static_cast<unsigned char>(c) > 127; })) {
      continue;
    }
    words.push_back({token});
    all.push_back(token);
  }
  words.push_back(all);
  const Texts queries(words);
  const Exact<float> rows = all_scores(*state, queries, 1);
  for (const std::uint32_t k : {1u, 10u, static_cast<std::uint32_t>(n_docs) + 1}) {
    const Answers found = answers(*state, queries, k, 1);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      for (std::size_t i = 0; i < k; ++i) {
        const std::int32_t id = found.ids[q * k + i];
        const float score = found.scores[q * k + i];
        CHECK(id >= -1 && id < static_cast<std::int64_t>(n_docs));
        if (id >= 0) CHECK(score == rows[q * n_docs + static_cast<std::size_t>(id)]);
        if (i > 0) CHECK(score <= found.scores[q * k + i - 1]);
      }
      // Rows above 0 match; the best of them are the answer unless it holds rows of other signs.
      const float* row = rows.data() + q * n_docs;
      const auto positive = [&](std::size_t doc) { return row[doc] > 0; };
      const std::vector<std::int32_t> best = best_rows(row, n_docs, k, positive);
      for (std::size_t i = 0; i < k && best[i] >= 0; ++i) CHECK(found.ids[q * k + i] == best[i]);
    }
    if (k == 10) at_each_level([&] { CHECK(answers(*state, queries, k, 1) == found); });
  }
  const Texts more{Corpus{{"w0", "w1", "w0"}, {}, {"new"}}};
  index.add(more.feed(2), 1);
  CHECK(index.state()->n_docs == n_docs + 3);
  std::vector<std::uint32_t> gone;
  for (std::uint32_t row = 0; row < n_docs; row += 2) gone.push_back(row);
  index.remove(gone, 1);
  CHECK(index.state()->n_docs == n_docs + 3 - gone.size());
  answers(*index.state(), queries, 3, 1);
}

}  // namespace sqe::testing
