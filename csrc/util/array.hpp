// A read-only array that either owns its elements or views memory owned by something else (a mapped file).
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace sqe {

template <class T>
class Array {
 public:
  Array() = default;

  // Take over a vector.
  explicit Array(std::vector<T> values) {
    auto owned = std::make_shared<const std::vector<T>>(std::move(values));
    data_ = owned->data();
    size_ = owned->size();
    owner_ = std::move(owned);
  }

  // View `size` elements that live as long as `owner`.
  Array(const T* data, std::size_t size, std::shared_ptr<const void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}

  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

}  // namespace sqe
