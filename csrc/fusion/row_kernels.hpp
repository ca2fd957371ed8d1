// Kernels over whole score rows, one table per instruction set level. Every level gives the same bits: the
// lanes over which sums are spread, and the order in which they are combined, are fixed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/isa.hpp"

namespace sqe::fusion {

struct RowMoments {
  double mean;
  double deviation;  // of the population
  float low, high;
  bool finite;  // if false, the rest means nothing
};

struct RowKernels {
  // Moments of row[0..n), n > 0, in two passes; lane i % 16 of the double accumulators takes row[i].
  void (*moments)(const float* row, std::size_t n, RowMoments* out);
  // sums[i] += weight * ((row[i] - centre) / spread), all in double.
  void (*add_scaled)(const float* row, std::size_t n, double centre, double spread, double weight,
                     double* sums);
  // Append to picked the positions i, ascending, with values[i] > floor; returns how many.
  std::size_t (*above)(const double* values, std::size_t n, double floor, std::uint32_t* picked);
};

SQE_DECLARE_LEVELS(RowKernels, row_kernels)

}  // namespace sqe::fusion
