#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "levels.hpp"
#include "stats/bootstrap.hpp"
#include "stats/draw_kernels.hpp"
#include "stats/sign_flip.hpp"
#include "util/philox.hpp"
#include "util/xxh64.hpp"

namespace sqe::stats {

static const DrawKernels& level_kernels() { return SQE_DISPATCH(draw_kernels); }

}  // namespace sqe::stats

namespace sqe::testing {
namespace {

using stats::level_kernels;

// Row that draw d of resample r picks of n, as draw_kernels.hpp says it.
std::size_t drawn_row(std::uint64_t seed, std::uint32_t r, std::size_t d, std::size_t n) {
  const auto half = [&](std::uint32_t stream) {
    const PhiloxBlock block =
        philox::block(static_cast<std::uint32_t>(d / 8), r, stream, stats::kBootstrap, seed);
    return static_cast<std::uint64_t>(block.word[d % 8 / 2] >> (d % 2 * 16) & 0xFFFF);
  };
  return static_cast<std::size_t>((half(stats::kHigh) << 16 | half(stats::kLow)) * n >> 32);
}

bool sign_bit(std::uint64_t seed, std::uint32_t r, std::size_t i) {
  const PhiloxBlock block = philox::block(static_cast<std::uint32_t>(i / 128), r, 0, stats::kSignFlip, seed);
  return block.word[i % 128 / 32] >> (i % 32) & 1;
}

double pairwise(const double* part) {
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

template <class T>
std::vector<T> sorted_values(Random& random, std::size_t n, std::size_t distinct, bool with_signs) {
  std::vector<T> values(n);
  for (T& value : values) {
    const auto whole =
        static_cast<int>(random.below(distinct)) - (with_signs ? static_cast<int>(distinct / 2) : 0);
    value = static_cast<T>(whole);
  }
  std::sort(values.begin(), values.end());
  return values;
}

TEST(stats_philox_known_answers) {
  // From the test vectors of the authors' Random123 library.
  const PhiloxBlock zeros = philox::block(0, 0, 0, 0, 0);
  const PhiloxBlock ones = philox::block(~0u, ~0u, ~0u, ~0u, ~std::uint64_t{0});
  const std::uint32_t of_zeros[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const std::uint32_t of_ones[] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  CHECK(std::memcmp(zeros.word, of_zeros, sizeof of_zeros) == 0);
  CHECK(std::memcmp(ones.word, of_ones, sizeof of_ones) == 0);
}

TEST(stats_xxh64_known_answers) {
  CHECK(xxh64("", 0) == 0xEF46DB3751D8E999u);
  CHECK(xxh64("a", 1) == 0xD24EC4F1A98C6E5Bu);
  CHECK(xxh64("abc", 3) == 0x44BC2CF5AD770999u);
  for (std::size_t n = 0; n < 100; ++n) {
    const Exact<char> exact(n);  // no byte behind the end is read
    const std::vector<char> longer(n + 8);
    CHECK(xxh64(exact.data(), n, 7) == xxh64(longer.data(), n, 7));
  }
}

TEST(stats_fill) {
  Random random(4);
  for (std::size_t n_blocks = 0; n_blocks <= 33; ++n_blocks) {
    const std::uint64_t seed = random.next();
    const auto first = static_cast<std::uint32_t>(random.next());  // wraps around
    const auto index = static_cast<std::uint32_t>(random.next());
    at_each_level([&] {
      Exact<std::uint32_t> words(4 * n_blocks);
      level_kernels().fill(seed, first, n_blocks, index, 1, 2, words.data());
      for (std::size_t i = 0; i < n_blocks; ++i) {
        const PhiloxBlock block = philox::block(first + static_cast<std::uint32_t>(i), index, 1, 2, seed);
        CHECK(std::memcmp(words.data() + 4 * i, block.word, sizeof block.word) == 0);
      }
    });
  }
}

TEST(stats_bootstrap_of_bytes) {
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    const std::size_t n = round < 20 ? random.from(1, 70) : random.from(71, 1500);
    const std::size_t resamples = random.from(1, 40);
    // Up to 13 distinct values are counted, more are drawn.
    const Exact<std::int8_t> sorted(
        sorted_values<std::int8_t>(random, n, round % 2 ? random.from(1, 12) : 256, true));
    const std::uint64_t seed = random.next();
    Exact<std::int64_t> expected(resamples);
    for (std::uint32_t r = 0; r < resamples; ++r) {
      for (std::size_t d = 0; d < n; ++d) expected[r] += sorted[drawn_row(seed, r, d, n)];
    }
    at_each_level([&] {
      for (const int threads : {1, 3}) {
        Exact<std::int64_t> sums(resamples);
        stats::bootstrap_sums(sorted.data(), n, resamples, seed, threads, sums.data());
        CHECK(sums == expected);
      }
    });
  }
}

TEST(stats_bootstrap_of_doubles) {
  Random random(6);
  for (int round = 0; round < 20; ++round) {
    const std::size_t n = random.from(1, 1200);
    const std::size_t resamples = random.from(1, 40);
    std::vector<double> values(n);
    for (double& value : values) value = random.unit() - 0.5;
    std::sort(values.begin(), values.end());
    const Exact<double> sorted(values);
    const std::uint64_t seed = random.next();
    Exact<double> expected(resamples);
    for (std::uint32_t r = 0; r < resamples; ++r) {
      double part[8] = {};
      for (std::size_t d = 0; d < n; ++d) part[d % 8] += sorted[drawn_row(seed, r, d, n)];
      expected[r] = pairwise(part);
    }
    at_each_level([&] {
      for (const int threads : {1, 3}) {
        Exact<double> sums(resamples);
        stats::bootstrap_sums(sorted.data(), n, resamples, seed, threads, sums.data());
        CHECK(sums == expected);
      }
    });
  }
}

TEST(stats_sign_flip) {
  Random random(7);
  for (int round = 0; round < 40; ++round) {
    const std::size_t n = round == 0 ? 0 : random.from(1, round < 30 ? 300 : 9000);
    const std::size_t rounds = random.from(1, 50);
    const Exact<std::uint8_t> whole(sorted_values<std::uint8_t>(random, n, random.from(1, 129), false));
    std::vector<double> values(whole.data(), whole.data() + n);
    for (double& value : values) value += random.unit() / 1024;
    std::sort(values.begin(), values.end());
    const Exact<double> real(values);
    const std::uint64_t seed = random.next();
    const auto limit = static_cast<std::int64_t>(random.below(4 * n + 1));
    std::uint64_t of_whole = 0, of_real = 0;
    for (std::uint32_t r = 0; r < rounds; ++r) {
      std::int64_t sum = 0;
      double part[8] = {};
      for (std::size_t i = 0; i < n; ++i) {
        const bool positive = sign_bit(seed, r, i);
        sum += positive ? whole[i] : -std::int64_t{whole[i]};
        part[i % 8] += positive ? real[i] : -real[i];
      }
      of_whole += std::abs(sum) >= limit;
      of_real += std::abs(pairwise(part)) >= static_cast<double>(limit);
    }
    at_each_level([&] {
      for (const int threads : {1, 3}) {
        CHECK(stats::count_extreme_flips(whole.data(), n, limit, rounds, seed, threads) == of_whole);
        CHECK(stats::count_extreme_flips(real.data(), n, static_cast<double>(limit), rounds, seed, threads) ==
              of_real);
      }
    });
  }
}

}  // namespace
}  // namespace sqe::testing
