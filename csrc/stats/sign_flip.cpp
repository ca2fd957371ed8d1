#include "stats/sign_flip.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "stats/draw_kernels.hpp"
#include "util/threads.hpp"

namespace sqe::stats {
namespace {

constexpr std::size_t kWorkItem = 1 << 18;  // magnitudes that one item of parallel work handles, about
constexpr std::size_t kBlocksAtOnce = 64;   // Philox blocks buffered
constexpr std::size_t kBitsAtOnce = 128 * kBlocksAtOnce;

// Number of rounds for which extreme(r) holds.
template <class Extreme>
std::uint64_t count_rounds(std::size_t n, std::size_t rounds, int threads, const Extreme& extreme) {
  const std::size_t block = std::max<std::size_t>(1, kWorkItem / (n + 1));
  std::atomic<std::uint64_t> total{0};
  parallel_for((rounds + block - 1) / block, threads, [&](std::size_t item, int) {
    const std::size_t end = std::min(rounds, (item + 1) * block);
    std::uint64_t count = 0;
    for (std::size_t r = item * block; r < end; ++r) count += extreme(static_cast<std::uint32_t>(r));
    total += count;
  });
  return total;
}

// Call take(first, here, words) for runs of kBitsAtOnce sign bits of round r.
template <class Take>
void draw_bits(const DrawKernels& kernels, std::uint64_t seed, std::uint32_t r, std::size_t n,
               const Take& take) {
  std::uint32_t words[4 * kBlocksAtOnce];
  for (std::size_t first = 0; first < n; first += kBitsAtOnce) {
    const std::size_t here = std::min(n - first, kBitsAtOnce);
    kernels.fill(seed, static_cast<std::uint32_t>(first / 128), (here + 127) / 128, r, 0, kSignFlip, words);
    take(first, here, words);
  }
}

// Number of set bits in [from, to) of words.
std::int64_t count_bits(const std::uint32_t* words, std::size_t from, std::size_t to) {
  const std::size_t last = (to - 1) / 32;
  const std::uint32_t head = ~std::uint32_t{0} << (from % 32);
  const std::uint32_t tail = ~std::uint32_t{0} >> (31 - (to - 1) % 32);
  if (from / 32 == last) return std::popcount(words[last] & head & tail);
  std::int64_t count = std::popcount(words[from / 32] & head) + std::popcount(words[last] & tail);
  for (std::size_t i = from / 32 + 1; i < last; ++i) count += std::popcount(words[i]);
  return count;
}

}  // namespace

std::uint64_t count_extreme_flips(const std::uint8_t* sorted, std::size_t n, std::int64_t limit,
                                  std::size_t rounds, std::uint64_t seed, int threads) {
  const DrawKernels& kernels = SQE_DISPATCH(draw_kernels);
  std::vector<std::size_t> ends;  // of the runs of equal magnitudes
  std::int64_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    total += sorted[i];
    if (i + 1 == n || sorted[i + 1] != sorted[i]) ends.push_back(i + 1);
  }
  return count_rounds(n, rounds, threads, [&](std::uint32_t r) {
    std::int64_t positive = 0;
    std::size_t run = 0;
    draw_bits(kernels, seed, r, n, [&](std::size_t first, std::size_t here, const std::uint32_t* words) {
      for (std::size_t at = first; at < first + here;) {
        const std::size_t end = std::min(ends[run], first + here);
        positive += sorted[at] * count_bits(words, at - first, end - first);
        if (end == ends[run]) ++run;
        at = end;
      }
    });
    return std::abs(2 * positive - total) >= limit;
  });
}

std::uint64_t count_extreme_flips(const double* sorted, std::size_t n, double limit, std::size_t rounds,
                                  std::uint64_t seed, int threads) {
  const DrawKernels& kernels = SQE_DISPATCH(draw_kernels);
  return count_rounds(n, rounds, threads, [&](std::uint32_t r) {
    double part[8] = {};
    draw_bits(kernels, seed, r, n, [&](std::size_t first, std::size_t here, const std::uint32_t* words) {
      for (std::size_t i = 0; i < here; ++i) {
        const double magnitude = sorted[first + i];
        part[i % 8] += words[i / 32] >> (i % 32) & 1 ? magnitude : -magnitude;
      }
    });
    const double sum =
        ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    return std::abs(sum) >= limit;
  });
}

}  // namespace sqe::stats
