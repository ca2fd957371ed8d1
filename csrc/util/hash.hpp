// A fast hash for tokens (a few bytes each). Its values are stored in index files: changing it changes the
// format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sqe {

namespace detail {

inline std::uint64_t load64(const char* p) {
  std::uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

inline std::uint64_t load32(const char* p) {
  std::uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

// Both halves of the 128-bit product, folded (the mixing step that wyhash made popular).
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace detail

inline std::uint64_t hash_token(std::string_view token) {
  constexpr std::uint64_t kA = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kB = 0xc2b2ae3d27d4eb4fULL;
  const char* p = token.data();
  std::size_t n = token.size();
  std::uint64_t state = n * kA;
  while (n > 16) {
    state = detail::fold(detail::load64(p) ^ state ^ kB, detail::load64(p + 8) ^ kA);
    p += 16;
    n -= 16;
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (n >= 8) {
    low = detail::load64(p);
    high = detail::load64(p + n - 8);
  } else if (n >= 4) {
    low = detail::load32(p);
    high = detail::load32(p + n - 4);
  } else if (n > 0) {
    low = static_cast<std::uint64_t>(static_cast<unsigned char>(p[0])) << 16 |
          static_cast<std::uint64_t>(static_cast<unsigned char>(p[n / 2])) << 8 |
          static_cast<unsigned char>(p[n - 1]);
  }
  return detail::fold(low ^ state ^ kA, high ^ kB);
}

}  // namespace sqe
