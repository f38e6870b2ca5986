// Parallel loops whose results do not depend on the number of threads: work is cut into units by its size
// alone, a unit writes only what it owns, and partial sums are added in the order of the units.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace selfnorm {

// While alive, at most `threads` threads work (0 = all cores).
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  struct Control;
  std::unique_ptr<Control> control_;
};

// How many may work now.
size_t allowed_threads();

// The same loop on plain threads, for ThreadSanitizer: it cannot see the synchronisation inside oneTBB's
// library, which is not instrumented, but sees every race between the bodies of our loops.
void units_on_plain_threads(size_t units, const std::function<void(size_t)>& body);

// The same as parallel_units with a body of one type, so that the headers of oneTBB, a second of compile
// time, stay in one file. A unit is work of microseconds or more, beside which the indirect call is nothing.
void run_units(size_t units, const std::function<void(size_t)>& body);

// body(unit) for unit = 0 .. units-1, in any order, in parallel.
template <class Body>
void parallel_units(size_t units, const Body& body) {
  if (units == 1)
    body(size_t{0});
  else
    run_units(units, std::cref(body));
}

// body(begin, end) over [0, n) in pieces of at most `grain`.
template <class Body>
void parallel_ranges(size_t n, size_t grain, const Body& body) {
  parallel_units((n + grain - 1) / grain,
                 [&](size_t unit) { body(unit * grain, std::min(n, (unit + 1) * grain)); });
}

// The sum of body(begin, end) over the pieces of [0, n), added in order.
template <class Body>
double ordered_sum(size_t n, size_t grain, const Body& body) {
  std::vector<double> part((n + grain - 1) / grain);
  parallel_ranges(n, grain, [&](size_t begin, size_t end) { part[begin / grain] = body(begin, end); });
  double sum = 0;
  for (const double p : part) sum += p;
  return sum;
}

}  // namespace selfnorm
