#include "fusion/top.hpp"

#include <algorithm>
#include <numeric>

namespace sqe::fusion {
namespace {

constexpr std::size_t kFew = 16;         // up to this k an ordered insertion beats the buckets
constexpr std::size_t kBucketBits = 9;   // enough for hundreds of candidates; the counters fill 2 KB
constexpr std::size_t kCrowded = 64;     // a last bucket with more than this is cut before it is sorted
constexpr std::size_t kMovesPerKey = 8;  // insertion sort gives up beyond this average

}  // namespace

void TopSelector::insert_few(const std::uint64_t* keys, std::size_t n, std::size_t k) {
  std::uint64_t best[kFew];
  std::uint32_t* order = order_.data();
  std::size_t held = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t key = keys[i];
    if (held == k && key <= best[k - 1]) continue;  // an equal key that comes later loses
    std::size_t at = held < k ? held++ : k - 1;
    for (; at > 0 && best[at - 1] < key; --at) {
      best[at] = best[at - 1];
      order[at] = order[at - 1];
    }
    best[at] = key;
    order[at] = static_cast<std::uint32_t>(i);
  }
}

// Spread the keys over buckets of equal width, best bucket first, and gather the positions of those buckets
// that can hold the best k; positions of one bucket stay ascending. Returns how many were gathered, >= k.
std::size_t TopSelector::gather_by_bucket(const std::uint64_t* keys, std::size_t n, std::size_t k) {
  std::uint64_t low = keys[0], high = keys[0];
  for (std::size_t i = 1; i < n; ++i) {
    low = std::min(low, keys[i]);
    high = std::max(high, keys[i]);
  }
  const int width = std::bit_width(high - low);
  const int shift = std::max(0, width - static_cast<int>(kBucketBits));
  std::uint32_t counts[std::size_t{1} << kBucketBits] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const auto bucket = static_cast<std::uint16_t>((high - keys[i]) >> shift);
    bucket_[i] = bucket;
    ++counts[bucket];
  }
  std::uint32_t gathered = 0;
  std::uint16_t last = 0;
  for (;; ++last) {
    const std::uint32_t count = counts[last];
    counts[last] = gathered;  // from here on: where the bucket's next position goes
    gathered += count;
    if (gathered >= k) break;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (bucket_[i] <= last) order_[counts[bucket_[i]]++] = static_cast<std::uint32_t>(i);
  }
  return gathered;
}

const std::uint32_t* TopSelector::select(const std::uint64_t* keys, std::size_t n, std::size_t k) {
  k = std::min(k, n);
  if (k == 0) return order_.data();
  if (order_.size() < n) {
    order_.resize(n);
    bucket_.resize(n);
  }
  if (k <= kFew) {
    insert_few(keys, n, k);
    return order_.data();
  }
  std::size_t held = gather_by_bucket(keys, n, k);
  std::uint32_t* order = order_.data();
  const auto better = [keys](std::uint32_t a, std::uint32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
  };
  if (held > k + kCrowded) {
    std::nth_element(order, order + k, order + held, better);
    held = k;
    std::sort(order, order + held, better);
    return order;
  }
  // Nearly in order already: only neighbours of one bucket can be out of place.
  std::size_t moves_left = kMovesPerKey * held;
  for (std::size_t i = 1; i < held; ++i) {
    const std::uint32_t position = order[i];
    const std::uint64_t key = keys[position];
    std::size_t at = i;
    for (; at > 0 && keys[order[at - 1]] < key; --at) order[at] = order[at - 1];
    order[at] = position;
    if (i - at > moves_left) {
      std::sort(order, order + held, better);
      break;
    }
    moves_left -= i - at;
  }
  return order;
}

}  // namespace sqe::fusion
