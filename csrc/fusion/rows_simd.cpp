// Compiled once per instruction set level; see util/isa.hpp. The vectors below are of GCC's and clang's
// portable kind: each level splits them into what its registers hold, which changes no element's arithmetic.
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "fusion/row_kernels.hpp"

namespace sqe::fusion::SQE_ISA {
namespace {

constexpr std::size_t kWidth = 8;  // elements of a vector; two vectors of sums make the 16 lanes
constexpr std::size_t kLanes = 2 * kWidth;

typedef float FloatVector __attribute__((vector_size(kWidth * 4), aligned(4), may_alias));
typedef double DoubleVector __attribute__((vector_size(kWidth * 8)));
typedef int IntVector __attribute__((vector_size(kWidth * 4)));

// Lanes are combined pairwise: 0+8, 1+9, ...; then 0+4, ...; 0+2, ...; 0+1.
double combine(double* lanes) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

void spill(const DoubleVector& first, const DoubleVector& second, double* lanes) {
  for (std::size_t i = 0; i < kWidth; ++i) {
    lanes[i] = first[i];
    lanes[i + kWidth] = second[i];
  }
}

// Sum of row, and its smallest and largest element; false if one is not finite.
bool scan(const float* row, std::size_t n, double* sum, float* low, float* high) {
  DoubleVector sum0 = {}, sum1 = {};
  FloatVector lows, highs;
  for (std::size_t i = 0; i < kWidth; ++i) lows[i] = highs[i] = row[0];
  IntVector bad = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const FloatVector x0 = *reinterpret_cast<const FloatVector*>(row + i);
    const FloatVector x1 = *reinterpret_cast<const FloatVector*>(row + i + kWidth);
    sum0 += __builtin_convertvector(x0, DoubleVector);
    sum1 += __builtin_convertvector(x1, DoubleVector);
    lows = x0 < lows ? x0 : lows;
    lows = x1 < lows ? x1 : lows;
    highs = x0 > highs ? x0 : highs;
    highs = x1 > highs ? x1 : highs;
    bad |= (x0 - x0 != 0.0f) | (x1 - x1 != 0.0f);  // x - x is NaN for an infinity too
  }
  double lanes[kLanes];
  spill(sum0, sum1, lanes);
  bool finite = true;
  float smallest = row[0], largest = row[0];
  for (std::size_t j = 0; j < kWidth; ++j) {
    finite &= bad[j] == 0;
    smallest = lows[j] < smallest ? lows[j] : smallest;
    largest = highs[j] > largest ? highs[j] : largest;
  }
  for (std::size_t lane = 0; i < n; ++i, ++lane) {
    lanes[lane] += row[i];
    smallest = row[i] < smallest ? row[i] : smallest;
    largest = row[i] > largest ? row[i] : largest;
    finite &= row[i] - row[i] == 0.0f;
  }
  *sum = combine(lanes);
  *low = smallest;
  *high = largest;
  return finite;
}

double squared_differences(const float* row, std::size_t n, double mean) {
  DoubleVector sum0 = {}, sum1 = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const DoubleVector x0 =
        __builtin_convertvector(*reinterpret_cast<const FloatVector*>(row + i), DoubleVector) - mean;
    const DoubleVector x1 =
        __builtin_convertvector(*reinterpret_cast<const FloatVector*>(row + i + kWidth), DoubleVector) - mean;
    sum0 += x0 * x0;
    sum1 += x1 * x1;
  }
  double lanes[kLanes];
  spill(sum0, sum1, lanes);
  for (std::size_t lane = 0; i < n; ++i, ++lane) {
    const double difference = row[i] - mean;
    lanes[lane] += difference * difference;
  }
  return combine(lanes);
}

void moments(const float* row, std::size_t n, RowMoments* out) {
  double sum;
  out->finite = scan(row, n, &sum, &out->low, &out->high);
  out->mean = sum / static_cast<double>(n);
  out->deviation = __builtin_sqrt(squared_differences(row, n, out->mean) / static_cast<double>(n));
}

void add_scaled(const float* row, std::size_t n, double centre, double spread, double weight, double* sums) {
  for (std::size_t i = 0; i < n; ++i) {
    sums[i] += weight * ((static_cast<double>(row[i]) - centre) / spread);
  }
}

std::size_t above(const double* values, std::size_t n, double floor, std::uint32_t* picked) {
  std::size_t found = 0, i = 0;
#if defined(__AVX512F__)
  for (; i + 8 <= n; i += 8) {
    unsigned mask = _mm512_cmp_pd_mask(_mm512_loadu_pd(values + i), _mm512_set1_pd(floor), _CMP_GT_OQ);
    for (; mask != 0; mask &= mask - 1) picked[found++] = static_cast<std::uint32_t>(i + __builtin_ctz(mask));
  }
#elif defined(__AVX2__)
  for (; i + 4 <= n; i += 4) {
    auto mask = static_cast<unsigned>(
        _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(values + i), _mm256_set1_pd(floor), _CMP_GT_OQ)));
    for (; mask != 0; mask &= mask - 1) picked[found++] = static_cast<std::uint32_t>(i + __builtin_ctz(mask));
  }
#endif
  for (; i < n; ++i) {
    if (values[i] > floor) picked[found++] = static_cast<std::uint32_t>(i);
  }
  return found;
}

}  // namespace

const RowKernels& row_kernels() {
  static constexpr RowKernels kernels = {moments, add_scaled, above};
  return kernels;
}

}  // namespace sqe::fusion::SQE_ISA
