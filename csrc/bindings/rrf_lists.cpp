// Reciprocal rank fusion of one query's Python lists, equal bit for bit to the usual dict loop:
//
//   for each list: for each rank, (id, _): scores[id] = scores.get(id, 0.0) + 1 / (constant + rank)
//   sorted by score descending (stable), first k
//
// A plain C function: a call costs less than pybind11's argument handling. The ids are gathered first; from
// then on the lists are not looked at again, so an id whose __eq__ or __hash__ changes them does no harm. As
// long as all ids are exact str no Python code can run between gathering and the end of the sums, and
// borrowed references do; otherwise (and in builds without the GIL) every id is held.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "fusion/top.hpp"

namespace sqe::bindings {
namespace {

constexpr Py_ssize_t kMaxEntries = Py_ssize_t{1} << 30;
constexpr Py_ssize_t kAhead = 8;  // pairs

// Raise sqe_fast.errors.`name`; returns false.
bool fail(const char* name, const std::string& message) {
  try {
    PyErr_SetString(py::module_::import("sqe_fast.errors").attr(name).ptr(), message.c_str());
  } catch (py::error_already_set& error) {
    error.restore();
  }
  return false;
}

std::string type_of(PyObject* object) {
  return object == Py_None ? std::string("None") : std::string(Py_TYPE(object)->tp_name);
}

bool is_sequence(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

// A list or tuple whose items stay put while this object lives. Under the GIL the sequence itself is read,
// item by item, and no Python code runs meanwhile; without it a list is copied, which locks it.
class Sequence {
 public:
  explicit Sequence(PyObject* object) {
#ifdef Py_GIL_DISABLED
    object_ =
        py::reinterpret_steal<py::object>(PyList_Check(object) ? PyList_AsTuple(object) : Py_NewRef(object));
    if (!object_) throw py::error_already_set();
#else
    object_ = py::reinterpret_borrow<py::object>(object);
#endif
    const bool list = PyList_Check(object_.ptr());
    items_ = list ? reinterpret_cast<PyListObject*>(object_.ptr())->ob_item
                  : reinterpret_cast<PyTupleObject*>(object_.ptr())->ob_item;
    size_ = Py_SIZE(object_.ptr());
  }

  Py_ssize_t size() const { return size_; }
  PyObject* operator[](Py_ssize_t i) const { return items_[i]; }

 private:
  py::object object_;
  PyObject** items_;
  Py_ssize_t size_;
};

struct Doc {
  PyObject* id;
  Py_hash_t hash;
  double sum;
  std::uint32_t last_list;
};

class Fuser {
 public:
  Fuser(double constant, bool sum_duplicates) : constant_(constant), sum_duplicates_(sum_duplicates) {
#ifdef Py_GIL_DISABLED
    held_ = true;
#endif
  }
  ~Fuser() {
    if (!held_) return;
    for (PyObject* id : ids_) Py_DECREF(id);
  }
  Fuser(const Fuser&) = delete;
  Fuser& operator=(const Fuser&) = delete;

  // Read all ids; false with an exception set if the input is malformed.
  bool gather(PyObject* object) {
    const Sequence lists(object);
    list_ends_.reserve(static_cast<std::size_t>(lists.size()));
    for (Py_ssize_t l = 0; l < lists.size(); ++l) {
      if (!is_sequence(lists[l])) {
        return fail("InvalidTypeError", "lists[" + std::to_string(l) +
                                            "] must be a list or tuple of (id, score) pairs; got " +
                                            type_of(lists[l]));
      }
      if (!gather_list(Sequence(lists[l]), l)) return false;
      list_ends_.push_back(ids_.size());
    }
    if (static_cast<Py_ssize_t>(ids_.size()) > kMaxEntries) {
      return fail("InvalidInputError", "lists must hold at most 2**30 pairs in all");
    }
    const bool all_str =
        std::all_of(ids_.begin(), ids_.end(), [](PyObject* id) { return PyUnicode_CheckExact(id) != 0; });
    if (!held_ && !all_str) {
      for (PyObject* id : ids_) Py_INCREF(id);
      held_ = true;
    }
    return true;
  }

  // Sum the gains; false with an exception set if an id cannot be hashed or compared.
  bool add_up() {
    std::size_t slots = 16;
    while (slots < ids_.size() * 2) slots *= 2;
    slots_.assign(slots, 0);
    docs_.reserve(ids_.size());
    std::size_t at = 0;
    for (std::size_t list = 0; list < list_ends_.size(); ++list) {
      for (std::size_t rank = 1; at < list_ends_[list]; ++at, ++rank) {
        PyObject* id = ids_[at];
        Py_hash_t hash;
        if (PyUnicode_CheckExact(id)) {
          hash = reinterpret_cast<PyASCIIObject*>(id)->hash;
          if (hash == -1) hash = PyObject_Hash(id);
        } else {
          hash = PyObject_Hash(id);
          if (hash == -1) return refuse_unhashable(id, list, rank - 1);
        }
        Doc* doc = find(id, hash);
        if (!doc) return false;
        if (!sum_duplicates_ && doc->last_list == list) continue;
        doc->sum += 1.0 / (constant_ + static_cast<double>(rank));
        doc->last_list = static_cast<std::uint32_t>(list);
      }
    }
    return true;
  }

  // The best k as a list of (id, score) tuples.
  PyObject* best(std::size_t k) {
    std::vector<std::uint64_t> keys(docs_.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = std::bit_cast<std::uint64_t>(docs_[i].sum);
    k = std::min(k, keys.size());
    fusion::TopSelector top;
    const std::uint32_t* order = top.select(keys.data(), keys.size(), k);
    // Objects are made from here on, which may run Python code: hold what will be returned.
    for (std::size_t i = 0; i < k; ++i) Py_INCREF(docs_[order[i]].id);
    PyObject* result = PyList_New(static_cast<Py_ssize_t>(k));
    for (std::size_t i = 0; i < k; ++i) {
      const Doc& doc = docs_[order[i]];
      PyObject* score = result ? PyFloat_FromDouble(doc.sum) : nullptr;
      PyObject* pair = score ? PyTuple_New(2) : nullptr;
      if (!pair) {
        Py_XDECREF(score);
        Py_DECREF(doc.id);
        Py_CLEAR(result);
        continue;
      }
      PyTuple_SET_ITEM(pair, 0, doc.id);
      PyTuple_SET_ITEM(pair, 1, score);
      // A pair of str and float can be in no cycle. The collector would find that out on its first visit;
      // telling it now saves the visit, which costs more than the fusion when many results are kept.
      if (PyUnicode_CheckExact(doc.id)) PyObject_GC_UnTrack(pair);
      PyList_SET_ITEM(result, static_cast<Py_ssize_t>(i), pair);
    }
    return result;
  }

 private:
  bool gather_list(const Sequence& list, Py_ssize_t l) {
    for (Py_ssize_t i = 0; i < list.size(); ++i) {
      // Pairs and ids are scattered over memory: fetching ahead takes most of the wait away.
      if (i + kAhead < list.size()) __builtin_prefetch(list[i + kAhead]);
      PyObject* pair = list[i];
      if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2) {
        take(PyTuple_GET_ITEM(pair, 0));
        continue;
      }
      if (!PyList_Check(pair)) return refuse_pair(pair, l, i);
      const Sequence items(pair);
      if (items.size() != 2) return refuse_pair(pair, l, i);
      take(items[0]);
    }
    return true;
  }

  void take(PyObject* id) {
    __builtin_prefetch(id);
    __builtin_prefetch(&reinterpret_cast<PyASCIIObject*>(id)->hash);  // at times on the next cache line
    ids_.push_back(id);
    if (held_) Py_INCREF(id);
  }

  // The document of `id`, made if new; null with an exception set if comparing fails. Like dict: identity
  // first, then equal hashes, then ==, the key that was seen first on its left.
  Doc* find(PyObject* id, Py_hash_t hash) {
    const std::size_t mask = slots_.size() - 1;
    auto slot = static_cast<std::size_t>(static_cast<std::uint64_t>(hash) * 0x9E3779B97F4A7C15u >> 20) & mask;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
      Doc& doc = docs_[slots_[slot] - 1];
      if (doc.id == id) return &doc;
      if (doc.hash != hash) continue;
      const int equal = PyObject_RichCompareBool(doc.id, id, Py_EQ);
      if (equal < 0) return nullptr;
      if (equal) return &doc;
    }
    docs_.push_back({id, hash, 0.0, static_cast<std::uint32_t>(-1)});
    slots_[slot] = static_cast<std::uint32_t>(docs_.size());
    return &docs_.back();
  }

  static std::string place(std::size_t list, std::size_t position) {
    return "lists[" + std::to_string(list) + "][" + std::to_string(position) + "]";
  }

  bool refuse_pair(PyObject* pair, Py_ssize_t l, Py_ssize_t i) const {
    std::string given = type_of(pair);
    if (is_sequence(pair)) given += " of length " + std::to_string(PySequence_Size(pair));
    return fail("InvalidTypeError", place(static_cast<std::size_t>(l), static_cast<std::size_t>(i)) +
                                        " must be an (id, score) pair (tuple or list); got " + given);
  }

  static bool refuse_unhashable(PyObject* id, std::size_t list, std::size_t position) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError) || Py_TYPE(id)->tp_hash != PyObject_HashNotImplemented) {
      return false;  // the id's own __hash__ failed: let its exception through
    }
    PyErr_Clear();
    return fail("InvalidTypeError",
                place(list, position) + ": id must be hashable (str, int, ...); got " + type_of(id));
  }

  const double constant_;
  const bool sum_duplicates_;
  bool held_ = false;
  std::vector<PyObject*> ids_;
  std::vector<std::size_t> list_ends_;
  std::vector<Doc> docs_;
  std::vector<std::uint32_t> slots_;  // document number + 1; 0 is free
};

bool parse_k(PyObject* object, std::size_t* k) {
  PyObject* number = PyBool_Check(object) ? nullptr : PyNumber_Index(object);
  if (!number) {
    PyErr_Clear();
    return fail("InvalidTypeError", "k must be an int; got " + type_of(object));
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  Py_DECREF(number);
  if (overflow != 0 || value < 1 || value > 2147483647) {
    return fail("InvalidInputError",
                "k must be from 1 to 2147483647; got " +
                    (overflow != 0 ? std::string("an int of more than 64 bits") : std::to_string(value)));
  }
  *k = static_cast<std::size_t>(value);
  return true;
}

bool parse_constant(PyObject* object, double* constant) {
  if (PyBool_Check(object) || !(PyFloat_Check(object) || PyLong_Check(object) || PyIndex_Check(object) ||
                                (Py_TYPE(object)->tp_as_number && Py_TYPE(object)->tp_as_number->nb_float))) {
    return fail("InvalidTypeError", "constant must be a number; got " + type_of(object));
  }
  *constant = PyFloat_AsDouble(object);
  if (*constant == -1.0 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
    PyErr_Clear();
    *constant = INFINITY;
  }
  if (!(*constant >= 0.0) || std::isinf(*constant)) {
    return fail("InvalidInputError",
                "constant must be a finite number >= 0; got " + std::to_string(*constant));
  }
  return true;
}

bool parse_duplicates(PyObject* object, bool* sum) {
  if (PyUnicode_Check(object)) {
    *sum = PyUnicode_CompareWithASCIIString(object, "sum") == 0;
    if (*sum || PyUnicode_CompareWithASCIIString(object, "best") == 0) return true;
  }
  py::str text = py::repr(py::handle(object));
  return fail(PyUnicode_Check(object) ? "InvalidInputError" : "InvalidTypeError",
              "duplicates must be one of best, sum; got " + std::string(text));
}

// Put each argument into its place in `values`; missing ones stay null. False with an exception set.
bool bind(PyObject* const* args, Py_ssize_t n_args, PyObject* keywords, PyObject** values) {
  static constexpr const char* kNames[] = {"lists", "k", "constant", "duplicates"};
  constexpr Py_ssize_t kCount = 4;
  if (n_args > kCount) {
    PyErr_Format(PyExc_TypeError, "rrf_lists() takes at most %zd arguments (%zd given)", kCount, n_args);
    return false;
  }
  for (Py_ssize_t i = 0; i < n_args; ++i) values[i] = args[i];
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i) {
    PyObject* name = PyTuple_GET_ITEM(keywords, i);
    Py_ssize_t at = 0;
    while (at < kCount && PyUnicode_CompareWithASCIIString(name, kNames[at]) != 0) ++at;
    if (at == kCount) {
      PyErr_Format(PyExc_TypeError, "rrf_lists() got an unexpected keyword argument '%U'", name);
      return false;
    }
    if (values[at]) {
      PyErr_Format(PyExc_TypeError, "rrf_lists() got multiple values for argument '%U'", name);
      return false;
    }
    values[at] = args[n_args + i];
  }
  if (!values[0]) {
    PyErr_SetString(PyExc_TypeError, "rrf_lists() missing 1 required argument: 'lists'");
    return false;
  }
  return true;
}

PyObject* rrf_lists(PyObject* /*module*/, PyObject* const* args, Py_ssize_t n_args, PyObject* keywords) {
  PyObject* values[4] = {};
  if (!bind(args, n_args, keywords, values)) return nullptr;
  try {
    std::size_t k = 5;
    double constant = 60.0;
    bool sum = true;
    if (values[1] && !parse_k(values[1], &k)) return nullptr;
    if (values[2] && !parse_constant(values[2], &constant)) return nullptr;
    if (values[3] && !parse_duplicates(values[3], &sum)) return nullptr;
    if (!is_sequence(values[0])) {
      fail("InvalidTypeError",
           "lists must be a list or tuple of lists of (id, score) pairs; got " + type_of(values[0]));
      return nullptr;
    }
    Fuser fuser(constant, sum);
    return fuser.gather(values[0]) && fuser.add_up() ? fuser.best(k) : nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

constexpr const char* kDoc = R"(rrf_lists(lists, k=5, constant=60.0, duplicates="sum")
--

Fuse ranked lists of one query given as Python lists of (id, score) pairs.

The result equals, bit for bit, that of the usual loop over a dict: every list adds
``1 / (constant + rank)``, rank from 1, to each of its ids; the sums are sorted in descending order and
equal sums keep the order in which ids were first seen. For batches use `rrf` on id arrays.

Parameters
----------
lists : list or tuple of lists or tuples of (id, score) pairs
    Best first. Ids are any hashable objects; str is fastest. Scores are not looked at.
k : int
    Number of results, at least 1; fewer where there are fewer ids.
constant : float
    Finite, 0 or more.
duplicates : {"sum", "best"}
    Whether an id that repeats inside one list adds every time, as in the loop, or once at its best rank.

Returns
-------
list of (id, float)
    The ids are those objects that were seen first.

Raises
------
InvalidTypeError
    If a list, a pair or an id is of the wrong kind; the message names list and position.
InvalidInputError
    If `k`, `constant` or `duplicates` is out of range.

Examples
--------
>>> dense, sparse = [("a", 0.9), ("b", 0.8)], [("b", 7.1), ("c", 3.0)]
>>> [id for id, _ in rrf_lists([dense, sparse], k=2)]
['b', 'a']
)";

PyMethodDef rrf_lists_def = {"rrf_lists",
                             reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&rrf_lists)),
                             METH_FASTCALL | METH_KEYWORDS, kDoc};

}  // namespace

void register_rrf_lists(py::module_& m) {
  PyObject* function = PyCFunction_NewEx(&rrf_lists_def, nullptr, py::str("sqe_fast.fusion").ptr());
  if (!function) throw py::error_already_set();
  m.attr("rrf_lists") = py::reinterpret_steal<py::object>(function);
}

}  // namespace sqe::bindings
