#include "bindings/bindings.hpp"

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "Native kernels of sqe_fast; use the Python modules that wrap them.";
  sqe::bindings::register_errors(m);
  sqe::bindings::register_util(m);
  sqe::bindings::register_text(m);
  sqe::bindings::register_bm25(m);
  sqe::bindings::register_fusion(m);
  sqe::bindings::register_stats(m);
}
