// Bindings of the resampling kernels. Arguments are checked and sorted by sqe_fast/stats.py.
#include <pybind11/stl.h>

#include <array>
#include <optional>

#include "bindings/bindings.hpp"
#include "stats/bootstrap.hpp"
#include "stats/sign_flip.hpp"
#include "util/error.hpp"
#include "util/philox.hpp"
#include "util/threads.hpp"

namespace sqe::bindings {
namespace {

template <class T>
using Array = py::array_t<T, py::array::c_style>;

template <class T>
std::size_t length_of(const Array<T>& array) {
  if (array.ndim() != 1) throw InputError("deltas must have one axis");
  return static_cast<std::size_t>(array.size());
}

int threads_of(std::optional<int> threads) { return threads.value_or(0) > 0 ? *threads : default_threads(); }

template <class Value, class Sum>
Array<Sum> bootstrap_sums(const Array<Value>& sorted, std::size_t resamples, std::uint64_t seed,
                          std::optional<int> threads) {
  const std::size_t n = length_of(sorted);
  if (n == 0) throw InputError("deltas must not be empty");
  Array<Sum> sums(static_cast<py::ssize_t>(resamples));
  const Value* values = sorted.data();
  Sum* out = sums.mutable_data();
  const py::gil_scoped_release release;
  stats::bootstrap_sums(values, n, resamples, seed, threads_of(threads), out);
  return sums;
}

template <class Value, class Limit>
std::uint64_t count_extreme_flips(const Array<Value>& sorted, Limit limit, std::size_t rounds,
                                  std::uint64_t seed, std::optional<int> threads) {
  const std::size_t n = length_of(sorted);
  const Value* values = sorted.data();
  const py::gil_scoped_release release;
  return stats::count_extreme_flips(values, n, limit, rounds, seed, threads_of(threads));
}

std::array<std::uint32_t, 4> philox4x32_10(const std::array<std::uint32_t, 4>& counter, std::uint64_t key) {
  const PhiloxBlock block = philox::block(counter[0], counter[1], counter[2], counter[3], key);
  return {block.word[0], block.word[1], block.word[2], block.word[3]};
}

}  // namespace

void register_stats(py::module_& m) {
  using py::arg;
  m.def("bootstrap_sums", &bootstrap_sums<std::int8_t, std::int64_t>, arg("sorted").noconvert(),
        arg("resamples"), arg("seed"), arg("threads"));
  m.def("bootstrap_sums", &bootstrap_sums<double, double>, arg("sorted").noconvert(), arg("resamples"),
        arg("seed"), arg("threads"));
  m.def("count_extreme_flips", &count_extreme_flips<std::uint8_t, std::int64_t>, arg("sorted").noconvert(),
        arg("limit"), arg("rounds"), arg("seed"), arg("threads"));
  m.def("count_extreme_flips", &count_extreme_flips<double, double>, arg("sorted").noconvert(), arg("limit"),
        arg("rounds"), arg("seed"), arg("threads"));
  m.def("philox4x32_10", &philox4x32_10, arg("counter"), arg("key"));
}

}  // namespace sqe::bindings
