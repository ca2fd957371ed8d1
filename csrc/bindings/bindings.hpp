// What the binding files share: registration entry points and conversions of common arguments.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "text/text_view.hpp"

namespace sqe::bindings {

namespace py = pybind11;

void register_errors(py::module_& m);
void register_util(py::module_& m);
void register_text(py::module_& m);
void register_bm25(py::module_& m);
void register_fusion(py::module_& m);
void register_rrf_lists(py::module_& m);
void register_stats(py::module_& m);

// The stored code points of a str; the caller keeps the object alive. `object` must be a str.
text::TextView view_of(PyObject* object);

}  // namespace sqe::bindings
