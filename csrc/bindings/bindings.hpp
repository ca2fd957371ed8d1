// What the binding files share: registration entry points and conversions of common arguments.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <vector>

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

// The same for every element of a list that nobody else changes meanwhile; InvalidTypeError names the
// argument and the position (counted from `first`) of an element that is not a str. Valid while the list
// holds its elements.
std::vector<text::TextView> views_of(const py::list& texts, const char* name, std::size_t first = 0);

}  // namespace sqe::bindings
