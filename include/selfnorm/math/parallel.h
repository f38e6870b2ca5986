// Parallel loops whose results do not depend on the number of threads: work is cut into units by its size
// alone, a unit writes only what it owns, and partial sums are added in the order of the units.
#pragma once

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace selfnorm {

// The library of oneTBB is not built for ThreadSanitizer, which therefore cannot see that a loop starts after
// what came before it and ends before what comes after. A Fork tells it; without the sanitizer it is nothing.
class Fork {
 public:
#if defined(__SANITIZE_THREAD__)
  Fork() { __tsan_release(&start_); }
  void begin_unit() { __tsan_acquire(&start_); }
  void end_unit() { __tsan_release(&end_); }
  void join() { __tsan_acquire(&end_); }

 private:
  char start_ = 0, end_ = 0;
#else
  void begin_unit() {}
  void end_unit() {}
  void join() {}
#endif
};

// While alive, at most `threads` threads work (0 = all cores).
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);

 private:
  std::unique_ptr<tbb::global_control> control_;
};

// body(unit) for unit = 0 .. units-1, in any order, in parallel.
template <class Body>
void parallel_units(size_t units, const Body& body) {
  if (units == 1) {
    body(size_t{0});
  } else {
    Fork fork;
    tbb::parallel_for(size_t{0}, units, [&](size_t unit) {
      fork.begin_unit();
      body(unit);
      fork.end_unit();
    });
    fork.join();
  }
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
