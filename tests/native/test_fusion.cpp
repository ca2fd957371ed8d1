#include <cmath>
#include <limits>

#include "fusion_checks.hpp"
#include "util/error.hpp"

namespace sqe::testing {
namespace {

FusionCase random_case(Random& random, std::size_t queries, std::size_t lists, std::size_t depth) {
  FusionCase c;
  c.queries = queries;
  c.lists = lists;
  c.depth = depth;
  c.k = random.from(1, random.chance(3) ? 3 : 2 * lists * depth + 2);
  const std::size_t n_documents = random.from(1, 2 * lists * depth + 2);
  const bool few_scores = random.chance(2);  // many ties
  for (std::size_t i = 0; i < queries * lists * depth; ++i) {
    c.ids.push_back(random.chance(8) ? -1 : static_cast<std::int32_t>(random.below(n_documents)));
    if (random.chance(50)) c.ids.back() = std::numeric_limits<std::int32_t>::max();
    c.scores.push_back(few_scores ? static_cast<float>(random.below(3)) - 1.0f
                                  : static_cast<float>(random.unit() * 20 - 10));
  }
  if (random.chance(2)) {
    for (std::size_t i = 0; i < queries * lists; ++i) {
      c.lengths.push_back(static_cast<std::int32_t>(random.below(depth + 1)));
    }
  }
  c.weights_per_query = random.chance(2);
  if (random.chance(2)) {
    for (std::size_t i = 0; i < (c.weights_per_query ? queries : 1) * lists; ++i) {
      c.weights.push_back(random.chance(5) ? (random.chance(2) ? 0.0 : -0.0) : random.unit() * 3);
    }
  }
  c.constant = random.chance(4) ? 0.0 : random.unit() * 60;
  return c;
}

TEST(fusion_random) {
  Random random(8);
  for (int round = 0; round < 400; ++round) {
    const FusionCase c =
        random_case(random, random.below(5), random.below(5), random.below(round % 10 == 0 ? 120 : 12));
    check_fusion(c, static_cast<int>(random.from(1, 4)));
  }
}

TEST(fusion_many_queries) {
  Random random(9);
  for (int round = 0; round < 3; ++round) check_fusion(random_case(random, 3000, 3, 6), 4);
}

TEST(fusion_wide_rows) {
  Random random(10);
  for (const std::size_t depth : {1, 15, 16, 17, 1023, 1024, 1025, 2500}) {
    FusionCase c = random_case(random, 2, 2, depth);
    for (std::size_t i = 0; i < c.ids.size(); ++i) c.ids[i] = static_cast<std::int32_t>(i % 7);
    for (const std::size_t k : {std::size_t{1}, std::size_t{20}, depth, depth + 3}) {
      c.k = k;
      check_fusion(c, 2);
    }
  }
}

// More entries than 16 bits number.
TEST(fusion_large_tables) {
  Random random(11);
  const std::size_t depth = 40'000;
  std::vector<std::int32_t> ids(2 * depth);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i % depth);
  const Exact<std::int32_t> exact(ids);
  const fusion::IdLists lists{exact.data(), nullptr, 1, 2, depth};
  Exact<std::int32_t> out(depth);
  Exact<float> scores(depth);
  fusion::rrf(lists, {}, 60, fusion::Duplicates::best, 2, {out.data(), scores.data(), depth});
  for (std::size_t i = 0; i < depth; ++i) {
    CHECK(out[i] == static_cast<std::int32_t>(i));
    const double gain = 1.0 / (60 + static_cast<double>(i + 1));
    CHECK(scores[i] == static_cast<float>(gain + gain));
  }
}

TEST(fusion_refuses) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::int32_t out_ids[4];
  float out_scores[4];
  const fusion::RankedRows out{out_ids, out_scores, 2};
  for (const int bad : {-2, std::numeric_limits<int>::min()}) {
    const std::int32_t ids[] = {3, bad};
    const float scores[] = {1, 2};
    const fusion::IdLists lists{ids, nullptr, 1, 1, 2};
    CHECK(throws<InputError>([&] { fusion::rrf(lists, {}, 60, fusion::Duplicates::best, 2, out); }));
    CHECK(throws<InputError>([&] { fusion::merge_topk(lists, scores, 2, out); }));
    CHECK(throws<InputError>([&] {
      fusion::fuse_scores(lists, scores, {}, fusion::Normalise::zscore, fusion::Absent::zero, 2, out);
    }));
  }
  for (const float bad : {nan, infinity, -infinity}) {
    // The last of 17 is beyond the vectors, the first and the tenth are inside them.
    for (const std::size_t place : {0, 9, 16}) {
      std::int32_t ids[17];
      float scores[17];
      for (int i = 0; i < 17; ++i) ids[i] = i, scores[i] = static_cast<float>(i);
      scores[place] = bad;
      const fusion::IdLists lists{ids, nullptr, 1, 1, 17};
      CHECK(throws<InputError>([&] { fusion::merge_topk(lists, scores, 2, out); }));
      CHECK(throws<InputError>([&] {
        fusion::fuse_scores(lists, scores, {}, fusion::Normalise::minmax, fusion::Absent::zero, 2, out);
      }));
      at_each_level([&] {
        CHECK(throws<InputError>(
            [&] { fusion::fuse_rows({scores, 1, 1, 17}, {}, fusion::Normalise::zscore, 2, out); }));
      });
      ids[place] = -1;  // scores of padding are not looked at
      fusion::merge_topk(lists, scores, 2, out);
    }
  }
}

}  // namespace
}  // namespace sqe::testing
