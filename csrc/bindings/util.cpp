#include <pybind11/stl.h>

#include <string_view>

#include "bindings/bindings.hpp"
#include "util/error.hpp"
#include "util/isa.hpp"
#include "util/threads.hpp"

namespace sqe::bindings {
namespace {

// Raise the exception `name` of sqe_fast.errors with the message of `error`.
void raise_as(const char* name, const std::exception& error) {
  py::object type = py::module_::import("sqe_fast.errors").attr(name);
  // A path in the message need not be UTF-8.
  const std::string_view what = error.what();
  const auto message = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "replace"));
  PyErr_SetObject(type.ptr(), message.ptr());
}

}  // namespace

void register_errors(py::module_& /*m*/) {
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const InputError& error) {
      raise_as("InvalidInputError", error);
    } catch (const FileError& error) {
      raise_as("IndexFileError", error);
    }
  });
}

void register_util(py::module_& m) {
  isa();  // refuse a wrong SQE_FAST_ISA now rather than in the middle of a search
  m.def("isa", [] { return isa_name(isa()); });
  m.def("set_isa", &set_isa, py::arg("level"));
  m.def("isa_levels", &isa_levels);
  m.def("default_threads", &default_threads);
}

text::TextView view_of(PyObject* object) {
  return {PyUnicode_DATA(object), static_cast<std::size_t>(PyUnicode_GET_LENGTH(object)),
          static_cast<int>(PyUnicode_KIND(object)), PyUnicode_IS_ASCII(object) != 0};
}

}  // namespace sqe::bindings
