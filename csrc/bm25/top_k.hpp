// Collects the best k (score, row) pairs of a query: score descending, then row ascending.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace sqe::bm25 {

// A pair as one number that orders like it: larger is better.
inline std::uint64_t rank_key(float score, std::uint32_t row) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(score + 0.0f);  // -0 becomes 0
  const std::uint32_t ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<std::uint64_t>(ordered) << 32 | static_cast<std::uint32_t>(~row);
}

inline float key_score(std::uint64_t key) {
  const std::uint32_t ordered = static_cast<std::uint32_t>(key >> 32);
  return std::bit_cast<float>(ordered & 0x80000000u ? ordered & 0x7FFFFFFFu : ~ordered);
}

inline std::uint32_t key_row(std::uint64_t key) { return ~static_cast<std::uint32_t>(key); }

// Keeps up to 2k keys and cuts back to k when full: O(1) a push in the mean, O(k log k) to finish.
class TopK {
 public:
  void reset(std::uint32_t k) {
    k_ = k;
    capacity_ = 2 * static_cast<std::size_t>(k) + 32;
    keys_.clear();
    least_ = 0;
  }

  void push(float score, std::uint32_t row) {
    const std::uint64_t key = rank_key(score, row);
    if (key <= least_) return;
    keys_.push_back(key);
    if (keys_.size() >= capacity_) settle();
  }

  // Keep the best k only, so that threshold() is as high as it can be.
  void settle() {
    if (keys_.size() < k_) return;
    if (keys_.size() > k_) {
      std::nth_element(keys_.begin(), keys_.begin() + (k_ - 1), keys_.end(), std::greater<>());
      keys_.resize(k_);
      least_ = keys_[k_ - 1];
    } else {
      least_ = *std::min_element(keys_.begin(), keys_.end());
    }
  }

  // A score that k rows reach, or -inf while fewer are known. A row below it cannot be among the best.
  float threshold() const { return least_ ? key_score(least_) : -std::numeric_limits<float>::infinity(); }

  const std::vector<std::uint64_t>& keys() const { return keys_; }

  // Write ids and scores of k places; unused ones get -1 and -inf.
  void finish(std::int32_t* ids, float* scores) {
    settle();
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    std::size_t i = 0;
    for (; i < keys_.size(); ++i) {
      ids[i] = static_cast<std::int32_t>(key_row(keys_[i]));
      scores[i] = key_score(keys_[i]);
    }
    for (; i < k_; ++i) {
      ids[i] = -1;
      scores[i] = -std::numeric_limits<float>::infinity();
    }
  }

 private:
  std::uint32_t k_ = 0;
  std::size_t capacity_ = 0;
  std::uint64_t least_ = 0;  // the k-th best key so far, 0 while unknown
  std::vector<std::uint64_t> keys_;
};

}  // namespace sqe::bm25
