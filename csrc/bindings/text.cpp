#include <string>
#include <string_view>
#include <vector>

#include "bindings/bindings.hpp"
#include "text/stop_words.hpp"
#include "text/tokenizer.hpp"
#include "text/unicode.hpp"
#include "util/threads.hpp"

namespace sqe::bindings {
namespace {

using text::TextView;
using text::TokenBuffer;
using text::TokenizerKind;

// How much is tokenized before its tokens become Python strings: bounds the memory of a batch.
constexpr std::size_t kChunkCodes = 1 << 20;
constexpr std::size_t kChunkTexts = 4096;

// A list of str. Decoding is what a batch spends most of its time on.
py::list tokens_of(const TokenBuffer& buffer) {
  py::list tokens(buffer.size());
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const std::string_view token = buffer[i];
    PyObject* str =
        PyUnicode_DecodeUTF8(token.data(), static_cast<Py_ssize_t>(token.size()), "surrogatepass");
    if (!str) throw py::error_already_set();
    PyList_SET_ITEM(tokens.ptr(), static_cast<Py_ssize_t>(i), str);
  }
  return tokens;
}

// The tokens of each text. `texts` must be a list that nobody else changes: its strings are read in place
// while the GIL is released.
py::list tokenize_batch(const py::list& texts, const std::string& tokenizer, int threads) {
  const TokenizerKind kind = text::tokenizer_kind(tokenizer);
  const std::vector<TextView> views = views_of(texts, "texts");
  py::list result(views.size());
  for (std::size_t first = 0, last = 0; first < views.size(); first = last) {
    for (std::size_t codes = 0; last < views.size() && last - first < kChunkTexts && codes < kChunkCodes;
         ++last) {
      codes += views[last].length;
    }
    std::vector<TokenBuffer> buffers(last - first);
    {
      py::gil_scoped_release release;
      parallel_for(last - first, threads,
                   [&](std::size_t i, int) { text::tokenize(kind, views[first + i], buffers[i]); });
    }
    for (std::size_t i = first; i < last; ++i) result[i] = tokens_of(buffers[i - first]);
  }
  return result;
}

}  // namespace

std::vector<TextView> views_of(const py::list& texts, const char* name, std::size_t first) {
  std::vector<TextView> views(texts.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    PyObject* text = PyList_GET_ITEM(texts.ptr(), static_cast<Py_ssize_t>(i));
    if (!PyUnicode_Check(text)) {
      const py::object type = py::module_::import("sqe_fast.errors").attr("InvalidTypeError");
      py::set_error(type, (std::string(name) + "[" + std::to_string(first + i) + "] must be a str; got " +
                           Py_TYPE(text)->tp_name)
                              .c_str());
      throw py::error_already_set();
    }
    views[i] = view_of(text);
  }
  return views;
}

void register_text(py::module_& m) {
  m.attr("unicode_version") = text::kUnicodeVersion;
  m.attr("tokenizers") = py::make_tuple("whitespace", "code", "word");
  py::set stop_words;
  for (const std::string_view word : text::kStopWords) stop_words.add(py::str(word.data(), word.size()));
  m.attr("stop_words") = py::frozenset(stop_words);
  m.def("tokenize_batch", &tokenize_batch, py::arg("texts"), py::arg("tokenizer"), py::arg("threads"));
}

}  // namespace sqe::bindings
