// Sums of bootstrap resamples.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sqe::stats {

// sums[r] = the sum of n draws with replacement from sorted[0..n), for resamples r = 0, 1, ...; which draws
// these are says draw_kernels.hpp. `sorted` ascends, n >= 1, n < 2^31, resamples < 2^31. The result depends
// on nothing but the values, n and the seed. O(n * resamples).
//
// With few distinct values a resample is counted, not drawn: as the rows are sorted, how many draws pick a
// value of at least v is how many random numbers reach a threshold.
void bootstrap_sums(const std::int8_t* sorted, std::size_t n, std::size_t resamples, std::uint64_t seed,
                    int threads, std::int64_t* sums);

// The same for other numbers, in double precision: draw d is added to partial sum d % 8, in order; partial
// sums are combined as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).
void bootstrap_sums(const double* sorted, std::size_t n, std::size_t resamples, std::uint64_t seed,
                    int threads, double* sums);

}  // namespace sqe::stats
