#include "stats/bootstrap.hpp"

#include <algorithm>
#include <vector>

#include "stats/draw_kernels.hpp"
#include "util/threads.hpp"

namespace sqe::stats {
namespace {

constexpr std::size_t kMaxThresholds = 12;  // with more, drawing row by row is faster
constexpr std::size_t kWorkItem = 1 << 18;  // draws that one item of parallel work makes, about
constexpr std::size_t kBlocksAtOnce = 64;   // Philox blocks buffered when drawing row by row

template <class Task>
void for_each_resample(std::size_t n, std::size_t resamples, int threads, const Task& task) {
  const std::size_t block = std::max<std::size_t>(1, kWorkItem / n);
  parallel_for((resamples + block - 1) / block, threads, [&](std::size_t item, int) {
    const std::size_t end = std::min(resamples, (item + 1) * block);
    for (std::size_t r = item * block; r < end; ++r) task(r);
  });
}

// Call take(d, row) for the n draws of resample r, in order.
template <class Take>
void draw_rows(const DrawKernels& kernels, std::uint64_t seed, std::uint32_t r, std::size_t n,
               const Take& take) {
  std::uint32_t high[4 * kBlocksAtOnce], low[4 * kBlocksAtOnce];
  for (std::size_t first = 0; first < n; first += 8 * kBlocksAtOnce) {
    const std::size_t here = std::min(n - first, 8 * kBlocksAtOnce);
    const std::size_t n_blocks = (here + 7) / 8;
    const auto block = static_cast<std::uint32_t>(first / 8);
    kernels.fill(seed, block, n_blocks, r, kHigh, kBootstrap, high);
    kernels.fill(seed, block, n_blocks, r, kLow, kBootstrap, low);
    for (std::size_t i = 0; i < here; ++i) {
      const unsigned shift = i % 2 * 16;
      const std::uint64_t u = (high[i / 2] >> shift & 0xFFFF) << 16 | (low[i / 2] >> shift & 0xFFFF);
      take(first + i, static_cast<std::size_t>(u * n >> 32));
    }
  }
}

}  // namespace

void bootstrap_sums(const std::int8_t* sorted, std::size_t n, std::size_t resamples, std::uint64_t seed,
                    int threads, std::int64_t* sums) {
  const DrawKernels& kernels = SQE_DISPATCH(draw_kernels);
  // A draw picks row i or a later one where u * n >= i << 32, that is u >= ceil(i * 2^32 / n).
  std::vector<std::uint32_t> thresholds;
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < n; ++i) {
    if (sorted[i] == sorted[i - 1]) continue;
    thresholds.push_back(static_cast<std::uint32_t>(((static_cast<std::uint64_t>(i) << 32) + n - 1) / n));
    steps.push_back(sorted[i] - sorted[i - 1]);
  }
  const std::size_t count = thresholds.size();
  if (count <= kMaxThresholds) {
    for_each_resample(n, resamples, threads, [&](std::size_t r) {
      std::uint64_t reached[kMaxThresholds + 1];
      kernels.count_at_least(seed, static_cast<std::uint32_t>(r), n, thresholds.data(), count, reached);
      std::int64_t sum = static_cast<std::int64_t>(n) * sorted[0];
      for (std::size_t t = 0; t < count; ++t) sum += steps[t] * static_cast<std::int64_t>(reached[t]);
      sums[r] = sum;
    });
    return;
  }
  for_each_resample(n, resamples, threads, [&](std::size_t r) {
    std::int64_t sum = 0;
    draw_rows(kernels, seed, static_cast<std::uint32_t>(r), n,
              [&](std::size_t, std::size_t row) { sum += sorted[row]; });
    sums[r] = sum;
  });
}

void bootstrap_sums(const double* sorted, std::size_t n, std::size_t resamples, std::uint64_t seed,
                    int threads, double* sums) {
  const DrawKernels& kernels = SQE_DISPATCH(draw_kernels);
  for_each_resample(n, resamples, threads, [&](std::size_t r) {
    double part[8] = {};
    draw_rows(kernels, seed, static_cast<std::uint32_t>(r), n,
              [&](std::size_t d, std::size_t row) { part[d % 8] += sorted[row]; });
    sums[r] = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
  });
}

}  // namespace sqe::stats
