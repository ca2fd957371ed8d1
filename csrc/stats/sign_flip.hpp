// Sums of differences whose signs are drawn at random.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sqe::stats {

// How many rounds r = 0, 1, ... give |sum of +-magnitudes| >= limit. Magnitude i counts positive in round r
// where bit i % 128 (bit b is bit b % 32 of word b / 32) of Philox block (i / 128, r, 0, kSignFlip) is set;
// the key is the seed. `sorted` ascends, n < 2^31. The result depends on nothing but the values and the seed.
// Equal magnitudes are one popcount: O(n / 64 * rounds).
std::uint64_t count_extreme_flips(const std::uint8_t* sorted, std::size_t n, std::int64_t limit,
                                  std::size_t rounds, std::uint64_t seed, int threads);

// The same for other numbers, in double precision: magnitude i is added to partial sum i % 8, in order;
// partial sums are combined as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). O(n * rounds).
std::uint64_t count_extreme_flips(const double* sorted, std::size_t n, double limit, std::size_t rounds,
                                  std::uint64_t seed, int threads);

}  // namespace sqe::stats
