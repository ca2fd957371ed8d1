// Fusion restated: one query at a time, maps and sorting. Every kernel is held against it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "check.hpp"
#include "fusion/merge.hpp"
#include "fusion/rows.hpp"
#include "fusion/rrf.hpp"
#include "fusion/scores.hpp"
#include "levels.hpp"

namespace sqe::testing {

// A batch of lists and everything that the fusions can be asked about it.
struct FusionCase {
  std::size_t queries, lists, depth, k;
  std::vector<std::int32_t> ids;      // [queries, lists, depth]
  std::vector<float> scores;          // as ids
  std::vector<std::int32_t> lengths;  // [queries, lists], or empty
  std::vector<double> weights;        // [lists] or [queries, lists], or empty
  bool weights_per_query;
  double constant;
};

struct Scored {
  std::int32_t id;
  double score;
};

class FusionOracle {
 public:
  explicit FusionOracle(const FusionCase& of) : case_(of) {}

  // Documents in the order in which they are first seen.
  std::vector<Scored> rrf(std::size_t query, fusion::Duplicates duplicates) const {
    std::vector<Scored> documents;
    for (std::size_t list = 0; list < case_.lists; ++list) {
      std::vector<std::int32_t> seen;
      for (std::size_t i = 0; i < length(query, list); ++i) {
        const std::int32_t id = at(query, list, i);
        const bool again = std::find(seen.begin(), seen.end(), id) != seen.end();
        if (id == -1 || (again && duplicates == fusion::Duplicates::best)) continue;
        seen.push_back(id);
        find(documents, id).score += weight(query, list) / (case_.constant + static_cast<double>(i + 1));
      }
    }
    return documents;
  }

  std::vector<Scored> scores(std::size_t query, fusion::Normalise how, fusion::Absent absent) const {
    std::vector<Scored> documents;
    for (std::size_t list = 0; list < case_.lists; ++list) {
      for (std::size_t i = 0; i < length(query, list); ++i) {
        if (at(query, list, i) != -1) find(documents, at(query, list, i));
      }
    }
    for (std::size_t list = 0; list < case_.lists; ++list) {
      std::vector<Scored> members;
      for (std::size_t i = 0; i < length(query, list); ++i) {
        const std::int32_t id = at(query, list, i);
        if (id == -1) continue;
        const double score = score_at(query, list, i);
        Scored& member = find(members, id, -std::numeric_limits<double>::infinity());
        member.score = std::max(member.score, score);
      }
      if (members.empty()) continue;
      normalise(members, how);
      double lowest = members[0].score;
      for (const Scored& member : members) lowest = std::min(lowest, member.score);
      for (Scored& document : documents) {
        const auto member = std::find_if(members.begin(), members.end(),
                                         [&](const Scored& m) { return m.id == document.id; });
        if (member != members.end()) {
          document.score += weight(query, list) * member->score;
        } else if (absent == fusion::Absent::lowest) {
          document.score += weight(query, list) * lowest;
        }
      }
    }
    return documents;
  }

  // Ascending by id, so that a stable sort breaks ties as merge_topk does.
  std::vector<Scored> merged(std::size_t query) const {
    std::map<std::int32_t, double> best;
    for (std::size_t list = 0; list < case_.lists; ++list) {
      for (std::size_t i = 0; i < case_.depth; ++i) {
        const std::int32_t id = at(query, list, i);
        if (id == -1) continue;
        const double score = score_at(query, list, i);
        const auto [place, fresh] = best.emplace(id, score);
        if (!fresh) place->second = std::max(place->second, score);
      }
    }
    std::vector<Scored> documents;
    for (const auto& [id, score] : best) documents.push_back({id, score});
    return documents;
  }

  // The scores as whole rows of `depth` documents.
  std::vector<Scored> rows(std::size_t query, fusion::Normalise how) const {
    std::vector<Scored> documents;
    if (case_.lists == 0) return documents;
    for (std::size_t i = 0; i < case_.depth; ++i) documents.push_back({static_cast<std::int32_t>(i), 0.0});
    for (std::size_t list = 0; list < case_.lists; ++list) {
      std::vector<double> row;
      for (std::size_t i = 0; i < case_.depth; ++i) row.push_back(score_at(query, list, i));
      if (row.empty()) continue;
      const double low = *std::min_element(row.begin(), row.end());
      const double high = *std::max_element(row.begin(), row.end());
      const double n = static_cast<double>(row.size());
      const double mean = lane_sum(row) / n;
      std::vector<double> squares;
      for (const double x : row) squares.push_back((x - mean) * (x - mean));
      const double deviation = std::sqrt(lane_sum(squares) / n);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double part = how == fusion::Normalise::minmax
                                ? (low == high ? 1.0 : (row[i] - low) / (high - low))
                                : (low == high ? 0.0 : (row[i] - mean) / deviation);
        documents[i].score += weight(query, list) * part;
      }
    }
    return documents;
  }

 private:
  std::size_t offset(std::size_t query, std::size_t list) const {
    return (query * case_.lists + list) * case_.depth;
  }
  std::int32_t at(std::size_t query, std::size_t list, std::size_t i) const {
    return case_.ids[offset(query, list) + i];
  }
  double score_at(std::size_t query, std::size_t list, std::size_t i) const {
    return static_cast<double>(case_.scores[offset(query, list) + i]);
  }
  std::size_t length(std::size_t query, std::size_t list) const {
    return case_.lengths.empty() ? case_.depth
                                 : static_cast<std::size_t>(case_.lengths[query * case_.lists + list]);
  }
  double weight(std::size_t query, std::size_t list) const {
    return case_.weights.empty() ? 1.0
                                 : case_.weights[(case_.weights_per_query ? query * case_.lists : 0) + list];
  }
  static Scored& find(std::vector<Scored>& documents, std::int32_t id, double initial = 0.0) {
    for (Scored& document : documents) {
      if (document.id == id) return document;
    }
    documents.push_back({id, initial});
    return documents.back();
  }
  static void normalise(std::vector<Scored>& members, fusion::Normalise how) {
    double low = members[0].score, high = low, sum = 0.0, squares = 0.0;
    for (const Scored& member : members) {
      low = std::min(low, member.score);
      high = std::max(high, member.score);
      sum += member.score;
    }
    const double n = static_cast<double>(members.size());
    const double mean = sum / n;
    for (const Scored& member : members) squares += (member.score - mean) * (member.score - mean);
    const double deviation = std::sqrt(squares / n);
    for (Scored& member : members) {
      member.score = how == fusion::Normalise::minmax
                         ? (low == high ? 1.0 : (member.score - low) / (high - low))
                         : (low == high ? 0.0 : (member.score - mean) / deviation);
    }
  }
  static double lane_sum(const std::vector<double>& values) {
    double lanes[16] = {};
    for (std::size_t i = 0; i < values.size(); ++i) lanes[i % 16] += values[i];
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
  }

  const FusionCase& case_;
};

// Hold a kernel's rows against the oracle's documents, best first after a stable sort. Sums are made in the
// same order on both sides, so scores are equal and not merely near.
template <class Kernel, class Expect>
void check_ranked(const FusionCase& of, const Kernel& kernel, const Expect& expect) {
  Exact<std::int32_t> ids(of.queries * of.k);
  Exact<float> scores(of.queries * of.k);
  kernel(fusion::RankedRows{ids.data(), scores.data(), of.k});
  for (std::size_t query = 0; query < of.queries; ++query) {
    std::vector<Scored> documents = expect(query);
    std::stable_sort(documents.begin(), documents.end(),
                     [](const Scored& a, const Scored& b) { return a.score > b.score; });
    for (std::size_t i = 0; i < of.k; ++i) {
      const std::int32_t id = ids[query * of.k + i];
      const float score = scores[query * of.k + i];
      if (i < documents.size()) {
        CHECK(id == documents[i].id);
        CHECK(score == static_cast<float>(documents[i].score));
      } else {
        CHECK(id == -1 && score == -std::numeric_limits<float>::infinity());
      }
    }
  }
}

// Every fusion of the case, on `threads` threads, at every level where the level matters.
inline void check_fusion(const FusionCase& of, int threads) {
  const Exact<std::int32_t> ids(of.ids), lengths(of.lengths);
  const Exact<float> scores(of.scores);
  const Exact<double> weight_values(of.weights);
  const fusion::IdLists lists{ids.data(), of.lengths.empty() ? nullptr : lengths.data(), of.queries, of.lists,
                              of.depth};
  const fusion::IdLists whole{ids.data(), nullptr, of.queries, of.lists, of.depth};
  const fusion::Weights weights{of.weights.empty() ? nullptr : weight_values.data(), of.weights_per_query};
  const FusionOracle oracle(of);
  for (const auto duplicates : {fusion::Duplicates::best, fusion::Duplicates::sum}) {
    check_ranked(
        of, [&](const auto& out) { fusion::rrf(lists, weights, of.constant, duplicates, threads, out); },
        [&](std::size_t query) { return oracle.rrf(query, duplicates); });
  }
  for (const auto how : {fusion::Normalise::zscore, fusion::Normalise::minmax}) {
    for (const auto absent : {fusion::Absent::lowest, fusion::Absent::zero}) {
      check_ranked(
          of,
          [&](const auto& out) {
            fusion::fuse_scores(lists, scores.data(), weights, how, absent, threads, out);
          },
          [&](std::size_t query) { return oracle.scores(query, how, absent); });
    }
    at_each_level([&] {
      const fusion::ScoreRows rows{scores.data(), of.queries, of.lists, of.depth};
      check_ranked(
          of, [&](const auto& out) { fusion::fuse_rows(rows, weights, how, threads, out); },
          [&](std::size_t query) { return oracle.rows(query, how); });
    });
  }
  check_ranked(
      of, [&](const auto& out) { fusion::merge_topk(whole, scores.data(), threads, out); },
      [&](std::size_t query) { return oracle.merged(query); });
}

}  // namespace sqe::testing
