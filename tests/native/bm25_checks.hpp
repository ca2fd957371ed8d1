// BM25 restated document by document, and what every index must satisfy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "bm25/params.hpp"
#include "bm25/search.hpp"
#include "bm25/state.hpp"
#include "check.hpp"
#include "corpus.hpp"
#include "levels.hpp"

namespace sqe::testing {

struct Answers {
  Exact<std::int32_t> ids;
  Exact<float> scores;
  bool operator==(const Answers& other) const { return ids == other.ids && scores == other.scores; }
};

inline Answers answers(const bm25::State& state, const Texts& queries, std::uint32_t k, int threads) {
  Answers out{Exact<std::int32_t>(queries.size() * k), Exact<float>(queries.size() * k)};
  bm25::search(state, queries.size(), queries.source(), k, threads, out.ids.data(), out.scores.data());
  return out;
}

inline Exact<float> all_scores(const bm25::State& state, const Texts& queries, int threads) {
  Exact<float> rows(queries.size() * static_cast<std::size_t>(state.n_docs));
  bm25::score_rows(state, queries.size(), queries.source(), threads, rows.data());
  return rows;
}

// The formulas of the papers, in double precision.
class Bm25Oracle {
 public:
  Bm25Oracle(const bm25::Params& params, const Corpus& corpus) : p_(params) {
    for (const Document& document : corpus) {
      std::map<std::string, double> counts;
      for (const std::string& token : document) ++counts[token];
      for (const auto& [token, count] : counts) ++df_[token];
      tokens_ += static_cast<double>(document.size());
      lengths_.push_back(static_cast<double>(document.size()));
      counts_.push_back(std::move(counts));
    }
    double sum = 0;
    for (const auto& [token, df] : df_) sum += raw_idf(df);
    floor_ = df_.empty() ? 0 : p_.epsilon * sum / static_cast<double>(df_.size());
  }

  bool holds_any(const Document& query, std::size_t row) const {
    return std::any_of(query.begin(), query.end(),
                       [&](const auto& token) { return counts_[row].count(token); });
  }

  double score(const Document& query, std::size_t row) const {
    double sum = 0;
    for (const std::string& token : query) {
      const auto at = counts_[row].find(token);
      if (at != counts_[row].end()) sum += idf(df_.at(token)) * weight(at->second, lengths_[row]);
    }
    return sum;
  }

  // The sum of the magnitudes of what score() adds: rounding is relative to it.
  double scale(const Document& query, std::size_t row) const {
    double sum = 0;
    for (const std::string& token : query) {
      const auto at = counts_[row].find(token);
      if (at != counts_[row].end()) sum += std::abs(idf(df_.at(token)) * weight(at->second, lengths_[row]));
    }
    return sum;
  }

 private:
  double n() const { return static_cast<double>(lengths_.size()); }

  double raw_idf(double df) const {
    switch (p_.variant) {
      case bm25::Variant::okapi:
        return std::log((n() - df + 0.5) / (df + 0.5));
      case bm25::Variant::lucene:
        return std::log(1 + (n() - df + 0.5) / (df + 0.5));
      case bm25::Variant::atire:
        return std::log(n() / df);
      case bm25::Variant::bm25l:
        return std::log((n() + 1) / (df + 0.5));
      case bm25::Variant::bm25plus:
        return std::log((n() + 1) / df);
    }
    return 0;
  }

  double idf(double df) const {
    const double raw = raw_idf(df);
    return p_.variant == bm25::Variant::okapi && raw < 0 ? floor_ : raw;
  }

  double weight(double tf, double length) const {
    const double norm = 1 - p_.b + p_.b * length * n() / tokens_;
    switch (p_.variant) {
      case bm25::Variant::lucene:
        return tf / (tf + p_.k1 * norm);
      case bm25::Variant::bm25l:
        return (p_.k1 + 1) * (tf / norm + p_.delta) / (p_.k1 + tf / norm + p_.delta);
      default:
        return tf * (p_.k1 + 1) / (tf + p_.k1 * norm) +
               (p_.variant == bm25::Variant::bm25plus ? p_.delta : 0);
    }
  }

  bm25::Params p_;
  std::vector<std::map<std::string, double>> counts_;
  std::vector<double> lengths_;
  std::map<std::string, double> df_;
  double tokens_ = 0;
  double floor_ = 0;
};

// The best k by the row's own scores among the rows for which `matches` holds, ids padded with -1.
template <class Matches>
std::vector<std::int32_t> best_rows(const float* row, std::size_t n_docs, std::size_t k,
                                    const Matches& matches) {
  std::vector<std::int32_t> ids;
  for (std::size_t doc = 0; doc < n_docs; ++doc) {
    if (matches(doc)) ids.push_back(static_cast<std::int32_t>(doc));
  }
  std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) { return row[a] > row[b]; });
  ids.resize(k, -1);
  return ids;
}

// `rows` are one query's scores: the search's k answers must be the best of them, to the bit.
template <class Matches>
void check_answers(const Answers& found, std::size_t query, std::size_t k, const float* row,
                   std::size_t n_docs, const Matches& matches) {
  const std::vector<std::int32_t> expected = best_rows(row, n_docs, k, matches);
  for (std::size_t i = 0; i < k; ++i) {
    const std::int32_t id = found.ids[query * k + i];
    const float score = found.scores[query * k + i];
    CHECK(id == expected[i]);
    CHECK(score == (id < 0 ? -std::numeric_limits<float>::infinity() : row[id]));
  }
}

// The scores are the oracle's but for rounding; the search gives the best rows by those scores, for any k,
// number of threads and level. The formulas are checked for the first query only if `formulas` is false.
inline void check_index(const bm25::State& state, const Corpus& corpus, const Corpus& queries,
                        bool formulas = true) {
  CHECK(state.n_docs == corpus.size());
  const Texts texts(queries);
  const Exact<float> rows = all_scores(state, texts, 2);
  const Bm25Oracle oracle(state.params, corpus);
  for (std::size_t q = 0; q < (formulas ? queries.size() : std::min<std::size_t>(1, queries.size())); ++q) {
    for (std::size_t doc = 0; doc < corpus.size(); ++doc) {
      const double error = rows[q * corpus.size() + doc] - oracle.score(queries[q], doc);
      CHECK(std::abs(error) <= 1e-5 * oracle.scale(queries[q], doc));
    }
  }
  std::vector<bool> matches;
  for (const Document& query : queries) {
    for (std::size_t doc = 0; doc < corpus.size(); ++doc) matches.push_back(oracle.holds_any(query, doc));
  }
  for (const std::size_t k : {std::size_t{1}, std::size_t{10}, corpus.size() + 1}) {
    const Answers found = answers(state, texts, static_cast<std::uint32_t>(k), 1);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      check_answers(found, q, k, rows.data() + q * corpus.size(), corpus.size(),
                    [&](std::size_t doc) { return matches[q * corpus.size() + doc]; });
    }
    CHECK(answers(state, texts, static_cast<std::uint32_t>(k), 3) == found);
    if (k != 10) continue;
    at_each_level([&] {
      CHECK(answers(state, texts, 10, 1) == found);
      CHECK(all_scores(state, texts, 1) == rows);
    });
  }
}

}  // namespace sqe::testing
