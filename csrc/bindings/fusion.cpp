// Bindings of the fusion kernels. Shapes, dtypes and ranges are checked by sqe_fast/fusion.py.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bindings/bindings.hpp"
#include "fusion/merge.hpp"
#include "fusion/rows.hpp"
#include "fusion/rrf.hpp"
#include "fusion/scores.hpp"
#include "util/error.hpp"
#include "util/threads.hpp"

namespace sqe::bindings {
namespace {

using IntArray = py::array_t<std::int32_t, py::array::c_style>;
using FloatArray = py::array_t<float, py::array::c_style>;
using DoubleArray = py::array_t<double, py::array::c_style>;

std::size_t size_of(const py::array& array, int axis) { return static_cast<std::size_t>(array.shape(axis)); }

fusion::IdLists lists_of(const IntArray& ids, const std::optional<IntArray>& lengths) {
  if (ids.ndim() != 3) throw InputError("ids must have 3 axes");
  if (lengths &&
      (lengths->ndim() != 2 || lengths->shape(0) != ids.shape(0) || lengths->shape(1) != ids.shape(1))) {
    throw InputError("lengths must have the shape of ids without its last axis");
  }
  return {ids.data(), lengths ? lengths->data() : nullptr, size_of(ids, 0), size_of(ids, 1), size_of(ids, 2)};
}

fusion::Weights weights_of(const std::optional<DoubleArray>& weights, std::size_t queries,
                           std::size_t lists) {
  if (!weights) return {};
  const bool per_query = weights->ndim() == 2;
  if (size_of(*weights, per_query ? 1 : 0) != lists || (per_query && size_of(*weights, 0) != queries)) {
    throw InputError("weights must have one number a list");
  }
  return {weights->data(), per_query};
}

void check_scores(const FloatArray& scores, const IntArray& ids) {
  if (scores.ndim() != 3 || !std::equal(ids.shape(), ids.shape() + 3, scores.shape())) {
    throw InputError("scores must have the shape of ids");
  }
}

fusion::Normalise normalise_of(const std::string& how) {
  return how == "minmax" ? fusion::Normalise::minmax : fusion::Normalise::zscore;
}

// Run kernel(rows, threads) without the GIL on fresh arrays of [queries, k]; returns (ids, scores).
template <class Kernel>
py::tuple ranked(std::size_t queries, std::size_t k, std::optional<int> threads, const Kernel& kernel) {
  py::array_t<std::int32_t> ids({queries, k});
  py::array_t<float> scores({queries, k});
  const fusion::RankedRows rows{ids.mutable_data(), scores.mutable_data(), k};
  {
    const py::gil_scoped_release release;
    kernel(rows, threads.value_or(0) > 0 ? *threads : default_threads());
  }
  return py::make_tuple(std::move(ids), std::move(scores));
}

py::tuple rrf(const IntArray& ids, const std::optional<IntArray>& lengths, std::size_t k, double constant,
              const std::optional<DoubleArray>& weights, const std::string& duplicates,
              std::optional<int> threads) {
  const fusion::IdLists lists = lists_of(ids, lengths);
  const fusion::Weights list_weights = weights_of(weights, lists.queries, lists.lists);
  const auto mode = duplicates == "sum" ? fusion::Duplicates::sum : fusion::Duplicates::best;
  return ranked(lists.queries, k, threads, [&](const fusion::RankedRows& rows, int used) {
    fusion::rrf(lists, list_weights, constant, mode, used, rows);
  });
}

py::tuple fuse_scores(const IntArray& ids, const FloatArray& scores, const std::optional<IntArray>& lengths,
                      const std::string& how, const std::optional<DoubleArray>& weights, std::size_t k,
                      const std::string& absent, std::optional<int> threads) {
  const fusion::IdLists lists = lists_of(ids, lengths);
  check_scores(scores, ids);
  const fusion::Weights list_weights = weights_of(weights, lists.queries, lists.lists);
  const auto missing = absent == "zero" ? fusion::Absent::zero : fusion::Absent::lowest;
  return ranked(lists.queries, k, threads, [&](const fusion::RankedRows& rows, int used) {
    fusion::fuse_scores(lists, scores.data(), list_weights, normalise_of(how), missing, used, rows);
  });
}

py::tuple fuse_rows(const FloatArray& rows, const std::string& how, const std::optional<DoubleArray>& weights,
                    std::size_t k, std::optional<int> threads) {
  if (rows.ndim() != 3) throw InputError("rows must have 3 axes");
  const fusion::ScoreRows all{rows.data(), size_of(rows, 0), size_of(rows, 1), size_of(rows, 2)};
  const fusion::Weights list_weights = weights_of(weights, all.queries, all.lists);
  return ranked(all.queries, k, threads, [&](const fusion::RankedRows& out, int used) {
    fusion::fuse_rows(all, list_weights, normalise_of(how), used, out);
  });
}

py::tuple merge_topk(const IntArray& ids, const FloatArray& scores, std::size_t k,
                     std::optional<int> threads) {
  const fusion::IdLists lists = lists_of(ids, std::nullopt);
  check_scores(scores, ids);
  return ranked(lists.queries, k, threads, [&](const fusion::RankedRows& rows, int used) {
    fusion::merge_topk(lists, scores.data(), used, rows);
  });
}

}  // namespace

void register_fusion(py::module_& m) {
  using py::arg;
  m.def("rrf", &rrf, arg("ids").noconvert(), arg("lengths").noconvert(), arg("k"), arg("constant"),
        arg("weights").noconvert(), arg("duplicates"), arg("threads"));
  m.def("fuse_scores", &fuse_scores, arg("ids").noconvert(), arg("scores").noconvert(),
        arg("lengths").noconvert(), arg("how"), arg("weights").noconvert(), arg("k"), arg("absent"),
        arg("threads"));
  m.def("fuse_rows", &fuse_rows, arg("rows").noconvert(), arg("how"), arg("weights").noconvert(), arg("k"),
        arg("threads"));
  m.def("merge_topk", &merge_topk, arg("ids").noconvert(), arg("scores").noconvert(), arg("k"),
        arg("threads"));
  register_rrf_lists(m);
}

}  // namespace sqe::bindings
