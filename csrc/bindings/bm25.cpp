#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bm25/index.hpp"
#include "bm25/search.hpp"
#include "text/tokenizer.hpp"
#include "util/threads.hpp"

namespace sqe::bindings {
namespace {

using bm25::Builder;
using bm25::Index;
using bm25::Params;
using bm25::TokenSource;
using text::TextView;
using text::TokenBuffer;

// A chunk of texts in hand ends at whichever comes first.
constexpr std::size_t kChunkTexts = 1 << 15;
constexpr std::size_t kChunkBytes = 64 << 20;
// Queries answered between two looks at pending signals (Ctrl-C).
constexpr std::size_t kQueriesPerRound = 4096;

// Python objects and how to read tokens from them. `tokenizer` is the name of a native one, or a Python
// function that takes the object and returns a list of str.
class Texts {
 public:
  // `name` and `first` (the position of objects[0]) are for messages.
  Texts(py::list objects, const py::object& tokenizer, const char* name, std::size_t first)
      : objects_(std::move(objects)) {
    if (py::isinstance<py::str>(tokenizer)) {
      kind_ = text::tokenizer_kind(tokenizer.cast<std::string>());
      views_ = views_of(objects_, name, first);
      return;
    }
    ready_.resize(objects_.size());
    for (std::size_t i = 0; i < ready_.size(); ++i) fill(tokenizer(objects_[i]), ready_[i]);
  }

  std::size_t size() const { return objects_.size(); }

  // Needs no interpreter lock; each text is read once.
  TokenSource source() {
    if (!ready_.empty()) return [this](std::size_t i, TokenBuffer& out) { std::swap(out, ready_[i]); };
    return [this](std::size_t i, TokenBuffer& out) { text::tokenize(kind_, views_[i], out); };
  }

 private:
  static void fill(const py::object& tokens, TokenBuffer& out) {
    out.spans.clear();
    out.bytes.clear();
    for (const py::handle token : tokens.cast<py::list>()) {
      // The sender has checked that these are str. Unpaired surrogates have no UTF-8 form of their own.
      Py_ssize_t size = 0;
      const char* data = PyUnicode_AsUTF8AndSize(token.ptr(), &size);
      py::object encoded;
      if (!data) {
        PyErr_Clear();
        encoded = py::reinterpret_steal<py::object>(
            PyUnicode_AsEncodedString(token.ptr(), "utf-8", "surrogatepass"));
        if (!encoded) throw py::error_already_set();
        data = PyBytes_AS_STRING(encoded.ptr());
        size = PyBytes_GET_SIZE(encoded.ptr());
      }
      out.spans.push_back({static_cast<std::uint32_t>(out.bytes.size()), static_cast<std::uint32_t>(size)});
      out.bytes.insert(out.bytes.end(), data, data + size);
    }
    out.bytes.resize(out.bytes.size() + TokenBuffer::kPadding);
  }

  py::list objects_;  // keeps the buffers behind views_ alive
  text::TokenizerKind kind_ = text::TokenizerKind::whitespace;
  std::vector<TextView> views_;
  std::vector<TokenBuffer> ready_;
};

// Pulls texts from an iterator in chunks. Called without the interpreter lock; takes it to pull.
Index::Feed feed_from(const py::iterator& texts, const py::object& tokenizer) {
  return [&texts, &tokenizer](Builder& builder) {
    std::size_t first = 0;
    for (bool more = true; more;) {
      py::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      py::list chunk;
      std::size_t bytes = 0;
      while (chunk.size() < kChunkTexts && bytes < kChunkBytes) {
        PyObject* text = PyIter_Next(texts.ptr());
        if (!text) {
          if (PyErr_Occurred()) throw py::error_already_set();
          more = false;
          break;
        }
        if (PyUnicode_Check(text))
          bytes += view_of(text).length * static_cast<std::size_t>(view_of(text).width);
        chunk.append(py::reinterpret_steal<py::object>(text));
      }
      if (chunk.empty()) break;
      Texts batch(std::move(chunk), tokenizer, "texts", first);
      first += batch.size();
      py::gil_scoped_release release;
      builder.add(batch.size(), batch.source());
    }
  };
}

std::unique_ptr<Index> build(const py::iterator& texts, const py::object& tokenizer,
                             const std::string& tokenizer_name, const std::string& variant, double k1,
                             double b, double delta, double epsilon, int threads, std::uint32_t block_docs) {
  const Params params{bm25::parse_variant(variant), k1, b, delta, epsilon, block_docs};
  params.check();
  const Index::Feed feed = feed_from(texts, tokenizer);
  py::gil_scoped_release release;
  return Index::build(params, tokenizer_name, feed, threads);
}

void add(Index& index, const py::iterator& texts, const py::object& tokenizer, int threads) {
  const Index::Feed feed = feed_from(texts, tokenizer);
  py::gil_scoped_release release;
  index.add(feed, threads);
}

// Run `answer(first, count, source)` over the queries, a round at a time.
template <class Answer>
void in_rounds(const py::list& queries, const py::object& tokenizer, const Answer& answer) {
  for (std::size_t first = 0; first < queries.size(); first += kQueriesPerRound) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    const std::size_t count = std::min(kQueriesPerRound, queries.size() - first);
    Texts batch(
        queries[py::slice(static_cast<py::ssize_t>(first), static_cast<py::ssize_t>(first + count), 1)],
        tokenizer, "queries", first);
    const TokenSource source = batch.source();
    py::gil_scoped_release release;
    answer(first, count, source);
  }
}

py::tuple search(const Index& index, const py::list& queries, const py::object& tokenizer, std::uint32_t k,
                 int threads) {
  const auto state = index.state();
  const py::ssize_t n = static_cast<py::ssize_t>(queries.size());
  py::array_t<std::int32_t> ids({n, static_cast<py::ssize_t>(k)});
  py::array_t<float> scores({n, static_cast<py::ssize_t>(k)});
  std::int32_t* id = ids.mutable_data();
  float* score = scores.mutable_data();
  in_rounds(queries, tokenizer, [&](std::size_t first, std::size_t count, const TokenSource& source) {
    bm25::search(*state, count, source, k, threads, id + first * k, score + first * k);
  });
  return py::make_tuple(ids, scores);
}

py::array_t<float> score_rows(const Index& index, const py::list& queries, const py::object& tokenizer,
                              int threads) {
  const auto state = index.state();
  const std::size_t n_docs = static_cast<std::size_t>(state->n_docs);
  py::array_t<float> rows({static_cast<py::ssize_t>(queries.size()), static_cast<py::ssize_t>(n_docs)});
  float* row = rows.mutable_data();
  in_rounds(queries, tokenizer, [&](std::size_t first, std::size_t count, const TokenSource& source) {
    bm25::score_rows(*state, count, source, threads, row + first * n_docs);
  });
  return rows;
}

void remove(Index& index, const py::array_t<std::uint32_t>& rows, int threads) {
  const std::vector<std::uint32_t> sorted(rows.data(), rows.data() + rows.size());
  py::gil_scoped_release release;
  index.remove(sorted, threads);
}

// Of each token: the number of documents that hold it and its idf (0 and 0 for an unknown one).
py::tuple term_statistics(const Index& index, const py::list& tokens) {
  const auto state = index.state();
  py::array_t<std::int32_t> df(static_cast<py::ssize_t>(tokens.size()));
  py::array_t<float> idf(static_cast<py::ssize_t>(tokens.size()));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto bytes = py::reinterpret_steal<py::object>(
        PyUnicode_AsEncodedString(tokens[i].ptr(), "utf-8", "surrogatepass"));
    if (!bytes) throw py::error_already_set();
    const std::uint32_t term = state->vocabulary->find(
        {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))});
    const bool known = term != bm25::Vocabulary::kMissing;
    df.mutable_at(static_cast<py::ssize_t>(i)) = known ? static_cast<std::int32_t>(state->terms[term].df) : 0;
    idf.mutable_at(static_cast<py::ssize_t>(i)) = known ? state->terms[term].idf : 0.0f;
  }
  return py::make_tuple(df, idf);
}

py::dict info(const Index& index) {
  const auto state = index.state();
  std::uint64_t n_terms = 0;
  for (const bm25::TermInfo& term : state->terms) n_terms += term.df > 0;
  py::dict result;
  result["n_docs"] = state->n_docs;
  result["n_tokens"] = state->n_tokens;
  result["n_terms"] = n_terms;
  result["n_postings"] = state->n_postings;
  result["n_blocks"] = state->blocks.size();
  result["nbytes"] = bm25::memory_bytes(*state);
  result["variant"] = bm25::variant_name(state->params.variant);
  result["k1"] = state->params.k1;
  result["b"] = state->params.b;
  result["delta"] = state->params.delta;
  result["epsilon"] = state->params.epsilon;
  result["tokenizer"] = index.tokenizer();
  return result;
}

}  // namespace

void register_bm25(py::module_& m) {
  py::class_<Index>(m, "Bm25Index")
      .def_static("build", &build, py::arg("texts"), py::arg("tokenizer"), py::arg("tokenizer_name"),
                  py::arg("variant"), py::arg("k1"), py::arg("b"), py::arg("delta"), py::arg("epsilon"),
                  py::arg("threads"), py::arg("block_docs") = bm25::kMaxBlockDocs)
      .def_static("load", &Index::load, py::arg("path"), py::arg("threads"),
                  py::call_guard<py::gil_scoped_release>())
      .def("save", &Index::save, py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def("add", &add, py::arg("texts"), py::arg("tokenizer"), py::arg("threads"))
      .def("delete", &remove, py::arg("rows"), py::arg("threads"))
      .def("search", &search, py::arg("queries"), py::arg("tokenizer"), py::arg("k"), py::arg("threads"))
      .def("score_rows", &score_rows, py::arg("queries"), py::arg("tokenizer"), py::arg("threads"))
      .def("term_statistics", &term_statistics, py::arg("tokens"))
      .def("__len__", [](const Index& index) { return index.state()->n_docs; })
      .def("info", &info);
}

}  // namespace sqe::bindings
