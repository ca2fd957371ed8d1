// Random draws for resampling, one table of kernels per instruction set level. All results are exact integers
// that are a function of the seed alone, so every level and every number of threads gives the same.
//
// Draw d of resample r is a 32-bit number u. Its upper half is half-word d % 8 (half-word h is half h % 2,
// low first, of word h / 2) of Philox block (d / 8, r, kHigh, kBootstrap), its lower half the same of block
// (d / 8, r, kLow, kBootstrap); the key is the seed. The draw picks row (u * n) >> 32 of n rows.
// Two streams, because a comparison of u with a threshold almost never needs the lower half.
#pragma once

#include <cstddef>
#include <cstdint>

#include "util/isa.hpp"

namespace sqe::stats {

// Third and fourth counter words.
constexpr std::uint32_t kHigh = 0, kLow = 1;
constexpr std::uint32_t kBootstrap = 0, kSignFlip = 1;

struct DrawKernels {
  // words[0..4 * n_blocks): the blocks (first_block + i, index, stream, purpose), in order.
  void (*fill)(std::uint64_t seed, std::uint32_t first_block, std::size_t n_blocks, std::uint32_t index,
               std::uint32_t stream, std::uint32_t purpose, std::uint32_t* words);
  // counts[t] = how many of the n draws of resample `index` are >= thresholds[t].
  void (*count_at_least)(std::uint64_t seed, std::uint32_t index, std::size_t n,
                         const std::uint32_t* thresholds, std::size_t n_thresholds, std::uint64_t* counts);
};

SQE_DECLARE_LEVELS(DrawKernels, draw_kernels)

}  // namespace sqe::stats
