// Philox4x32-10, the counter-based random number generator of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011). A block is a pure function of its counter and key, so any thread
// can compute any block and no state is passed on.
//
// Everything here has internal linkage and is always inlined, so that *_simd.cpp files may use it.
#pragma once

#include <cstdint>

namespace sqe {

struct PhiloxBlock {
  std::uint32_t word[4];
};

namespace philox {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

[[gnu::always_inline]] static inline PhiloxBlock block(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2,
                                                       std::uint32_t c3, std::uint64_t key) {
  std::uint32_t key0 = static_cast<std::uint32_t>(key);
  std::uint32_t key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = static_cast<std::uint64_t>(kMultiplier0) * c0;
    const std::uint64_t product1 = static_cast<std::uint64_t>(kMultiplier1) * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c3 = static_cast<std::uint32_t>(product0);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace philox
}  // namespace sqe
