// numpy arrays, sparse rows and lists of str as the data of the C++ interface, where they are; vectors of the
// interface as arrays that own them, its reports as dicts.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <selfnorm/selfnorm.hpp>

namespace selfnorm::python {

namespace py = pybind11;

template <class T>
using Tight = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <class T>
std::span<const T> span_of(const Tight<T>& array) {
  return {array.data(), static_cast<size_t>(array.size())};
}

// float32 or float64 in two dimensions, any strides, without a copy; others have been converted in Python.
inline Rows rows_of(const py::array& array) {
  const bool is_float = py::isinstance<py::array_t<float>>(array);
  if (array.ndim() != 2 || !(is_float || py::isinstance<py::array_t<double>>(array)))
    throw Error("found an array of another kind; expected float32 or float64 in two dimensions");
  return Rows(Rows::Layout{.data = array.data(),
                           .type = is_float ? NumberType::float32 : NumberType::float64,
                           .rows = static_cast<uint64_t>(array.shape(0)),
                           .columns = static_cast<uint32_t>(array.shape(1)),
                           .row_step = array.strides(0),
                           .column_step = array.strides(1)});
}

// An array; a tuple (indptr, indices, data, columns); or a list of str. Keeps what it points to.
class Data {
 public:
  explicit Data(const py::object& given) {
    if (py::isinstance<py::array>(given)) {
      array_ = py::cast<py::array>(given);
      inputs_.emplace(rows_of(array_));
    } else if (py::isinstance<py::tuple>(given)) {
      const auto parts = py::cast<py::tuple>(given);
      begin_ = py::cast<Tight<int64_t>>(parts[0]);
      column_ = py::cast<Tight<int32_t>>(parts[1]);
      SparseRows rows{span_of(begin_), span_of(column_), {}, py::cast<uint32_t>(parts[3])};
      if (py::isinstance<py::array_t<double>>(parts[2])) {
        value64_ = py::cast<Tight<double>>(parts[2]);
        rows.value64 = span_of(value64_);
      } else {
        value_ = py::cast<Tight<float>>(parts[2]);
        rows.value = span_of(value_);
      }
      inputs_.emplace(rows);
    } else {
      list_ = py::cast<py::list>(given);
      for (const py::handle text : list_) {
        Py_ssize_t size = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (bytes == nullptr) throw py::error_already_set();
        texts_.emplace_back(bytes, static_cast<size_t>(size));
      }
      inputs_.emplace(Texts(texts_));
    }
  }
  const Inputs& operator*() const { return *inputs_; }

 private:
  py::array array_;
  Tight<int64_t> begin_;
  Tight<int32_t> column_;
  Tight<float> value_;
  Tight<double> value64_;
  py::list list_;
  std::vector<std::string_view> texts_;
  std::optional<Inputs> inputs_;
};

template <class T>
py::array owned(std::vector<T>&& values, std::vector<py::ssize_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const py::capsule owner(kept, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array_t<T>(std::move(shape), kept->data(), owner);
}

template <class T>
py::array owned(std::vector<T>&& values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return owned(std::move(values), {size});
}

// values of `rows` rows.
template <class T>
py::array owned_rows(std::vector<T>&& values, uint64_t rows) {
  const auto n = static_cast<py::ssize_t>(rows);
  const py::ssize_t width = n == 0 ? 0 : static_cast<py::ssize_t>(values.size()) / n;
  return owned(std::move(values), {n, width});
}

inline py::dict audit_dict(const AuditReport& a) {
  using namespace py::literals;
  return py::dict("kind"_a = a.kind, "rows"_a = a.rows, "mean"_a = a.mean, "deviation"_a = a.deviation,
                  "rms"_a = a.rms, "least"_a = a.least, "largest"_a = a.largest, "quantiles"_a = a.quantiles,
                  "eps"_a = a.eps, "rho"_a = a.rho, "confidence"_a = a.confidence, "exceed"_a = a.exceed,
                  "rho_bound"_a = a.rho_bound, "smallest_eps"_a = a.smallest_eps, "certified"_a = a.certified,
                  "variance"_a = a.variance, "lossless_variance"_a = a.lossless_variance,
                  "nll_exact"_a = a.nll_exact, "nll_given"_a = a.nll_given, "accuracy"_a = a.accuracy);
}

// The call without the lock of the interpreter.
template <class Call>
auto unlocked(const Call& call) {
  const py::gil_scoped_release release;
  return call();
}

}  // namespace selfnorm::python
