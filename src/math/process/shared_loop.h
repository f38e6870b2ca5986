// Loops whose units the processes of a job share (math/process/communicator.h), and the threads of each
// process its units (math/parallel.h): the same units and the same order of sums, so the same bits.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "math/parallel.h"
#include "math/process/communicator.h"

namespace selfnorm {

// Who shares a loop of so many units; null: nobody, every process runs all of it.
inline Communicator* sharing(size_t units) { return units < 2 ? nullptr : current_communicator(); }

// The units of this process.
inline UnitShare own_units(size_t units) {
  Communicator* const all = sharing(units);
  return all == nullptr ? UnitShare{0, units} : all->share(units);
}

// An array that units write one after the other: unit u from begin_of(u) to begin_of(u + 1).
template <class T, class BeginOf>
SharedArray shared_array(const Communicator& all, size_t units, T* data, const BeginOf& begin_of) {
  static_assert(std::is_trivially_copyable_v<T>);
  SharedArray out{reinterpret_cast<std::byte*>(data), {}};
  for (int r = 0; r < all.size(); ++r) out.begin.push_back(begin_of(all.share(units, r).begin) * sizeof(T));
  out.begin.push_back(begin_of(units) * sizeof(T));
  return out;
}

// body(unit) for the own units; afterwards all processes have all of the arrays, and nothing else that bodies
// wrote.
template <class Body, class... Array>
void share_units(Communicator& all, size_t units, const Body& body, Array... arrays) {
  const UnitShare own = all.share(units);
  all.share_work([&] { parallel_units(own.size(), [&](size_t unit) { body(own.begin + unit); }); },
                 {std::move(arrays)...});
}

// What the units of a loop over [0, n) write: `each` values for every index, one after the other.
template <class T>
struct Owned {
  T* data;
  size_t each = 1;
};
template <class T>
Owned<T> owned(std::span<T> values, size_t each = 1) {
  return {values.data(), values.empty() ? 0 : each};
}
template <class T>
Owned<T> owned(std::vector<T>& values, size_t each = 1) {
  return owned(std::span(values), each);
}

// body(begin, end) over [0, n) in pieces of at most `grain`, which write `outputs` and nothing else.
template <class Body, class... T>
void shared_ranges(size_t n, size_t grain, const Body& body, Owned<T>... outputs) {
  const size_t units = (n + grain - 1) / grain;
  Communicator* const all = sharing(units);
  if (all == nullptr) return parallel_ranges(n, grain, body);
  share_units(
      *all, units, [&](size_t unit) { body(unit * grain, std::min(n, (unit + 1) * grain)); },
      shared_array(*all, units, outputs.data,
                   [&](size_t unit) { return std::min(n, unit * grain) * outputs.each; })...);
}

// Of a matrix, in rows of `columns`, of which unit u has written the columns from begin_of(u) to
// begin_of(u + 1): afterwards all processes have all of it.
template <class T, class BeginOf>
void gather_columns(Communicator& all, size_t units, std::span<T> matrix, size_t columns,
                    const BeginOf& begin_of) {
  const size_t rows = matrix.size() / columns;
  std::vector<T> packed(matrix.size());
  const auto copy = [&](size_t first_unit, size_t last_unit, bool is_back) {
    const size_t begin = begin_of(first_unit), width = begin_of(last_unit) - begin;
    parallel_ranges(rows, 256, [&](size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) {
        T *own = matrix.data() + i * columns + begin, *other = packed.data() + rows * begin + i * width;
        std::copy_n(is_back ? other : own, width, is_back ? own : other);
      }
    });
  };
  const UnitShare own = all.share(units);
  all.share_work([&] { copy(own.begin, own.end, false); },
                 {shared_array(all, units, packed.data(), [&](size_t u) { return rows * begin_of(u); })});
  for (int r = 0; r < all.size(); ++r)
    if (r != all.rank()) copy(all.share(units, r).begin, all.share(units, r).end, true);
}

// sum += the parts of these units, in order: add(begin, end) adds the own ones to these elements, in order.
template <class Real, class Add>
void add_in_order(size_t units, std::span<Real> sum, size_t grain, const Add& add) {
  const auto in_parallel = [&](size_t first, size_t last) {
    parallel_ranges(last - first, grain, [&](size_t begin, size_t end) { add(first + begin, first + end); });
  };
  if (Communicator* const all = sharing(units))
    all->fold(sum, in_parallel);
  else
    in_parallel(0, sum.size());
}

}  // namespace selfnorm
