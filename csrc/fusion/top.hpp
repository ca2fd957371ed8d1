// Selection of the best k of n: the one place where fused documents are ordered.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sqe::fusion {

// A key that orders like the number it is made of (not NaN); -0.0 equals 0.0.
inline std::uint64_t order_key(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return bits ^
         (static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63) | (std::uint64_t{1} << 63));
}
inline std::uint32_t order_key(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  return bits ^
         (static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | (std::uint32_t{1} << 31));
}

// The number that order_key(double) made the key of (0.0 for either zero).
inline double number_of_key(std::uint64_t key) {
  const std::uint64_t sign = std::uint64_t{1} << 63;
  return std::bit_cast<double>(key & sign ? key ^ sign : ~key);
}

// Finds the positions of the largest keys; holds the scratch space of one thread.
class TopSelector {
 public:
  // Write the positions of the min(k, n) largest of keys[0..n) to the start of the returned array: key
  // descending, then position ascending. n < 2^32. Expected O(n + k log k); no comparison is approximate.
  // The array is valid until the next call.
  const std::uint32_t* select(const std::uint64_t* keys, std::size_t n, std::size_t k);

 private:
  void insert_few(const std::uint64_t* keys, std::size_t n, std::size_t k);
  std::size_t gather_by_bucket(const std::uint64_t* keys, std::size_t n, std::size_t k);

  std::vector<std::uint32_t> order_;
  std::vector<std::uint16_t> bucket_;
};

}  // namespace sqe::fusion
