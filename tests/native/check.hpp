// What the native tests and the fuzzers share: a check that ends the process, tests that register themselves,
// and random numbers that are the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace sqe::testing {

[[noreturn]] inline void fail(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  std::abort();  // a sanitizer or a fuzzer reports where
}

// Usable in any thread.
#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) ::sqe::testing::fail(__FILE__, __LINE__, #condition); \
  } while (false)

template <class Exception, class Call>
bool throws(const Call& call) {
  try {
    call();
  } catch (const Exception&) {
    return true;
  }
  return false;
}

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

#define TEST(name)                                                               \
  static void test_##name();                                                     \
  static const ::sqe::testing::Registration register_##name{#name, test_##name}; \
  static void test_##name()

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // A number of [0, n), n >= 1.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  // A number of [low, high].
  std::size_t from(std::size_t low, std::size_t high) { return low + below(high - low + 1); }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// A copy on the heap that ends where its block ends, so that AddressSanitizer sees every read behind it.
template <class T>
class Exact {
 public:
  Exact(const T* values, std::size_t n) : data_(new T[n]), size_(n) {
    for (std::size_t i = 0; i < n; ++i) data_[i] = values[i];
  }
  explicit Exact(const std::vector<T>& values) : Exact(values.data(), values.size()) {}
  explicit Exact(std::size_t n) : data_(new T[n]()), size_(n) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  bool operator==(const Exact& other) const {
    if (size_ != other.size_) return false;
    for (std::size_t i = 0; i < size_; ++i) {
      if (!(data_[i] == other.data_[i])) return false;
    }
    return true;
  }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t size_;
};

}  // namespace sqe::testing
