// A pass over examples that processes share: each runs its units and then tells those who watch what the
// others found, example by example, as if it had run all of them.
#pragma once

#include <algorithm>
#include <vector>

#include "math/process/shared_loop.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

// What is found of so many units is held until all processes have it.
inline constexpr size_t kUnitsTold = size_t{1} << 14;

// body(unit, tell) for every unit, in parallel, where it says tell(i, found) of its examples i: those from
// begin_of(unit) to begin_of(unit + 1). Units are whole granules.
template <class Found, class BeginOf, class Tell, class Body>
void tell_in_units(size_t all_units, const BeginOf& begin_of, const Tell& tell, const Body& body) {
  Communicator* const all = sharing(all_units);
  if (all == nullptr) return parallel_units(all_units, [&](size_t unit) { body(unit, tell); });
  for (size_t start = 0; start < all_units; start += kUnitsTold) {
    const size_t units = std::min(kUnitsTold, all_units - start);
    const uint64_t first = begin_of(start);
    std::vector<Found> found(begin_of(start + units) - first);
    const auto note = [&](uint64_t i, const Found& x) {
      found[i - first] = x;
      return tell(i, x);
    };
    share_units(
        *all, units, [&](size_t unit) { body(start + unit, note); },
        shared_array(*all, units, found.data(), [&](size_t unit) { return begin_of(start + unit) - first; }));
    const UnitShare own = all->share(units);
    parallel_units(units - own.size(), [&](size_t other) {
      const size_t unit = start + (other < own.begin ? other : other + own.size());
      for (uint64_t i = begin_of(unit); i < begin_of(unit + 1); ++i) tell(i, found[i - first]);
    });
  }
}

// The same of a pass whose body says visit(i, score, log_z).
template <class BeginOf, class Body>
void visit_in_units(size_t units, const BeginOf& begin_of, const Visit& visit, const Body& body) {
  struct Numbers {
    double score, log_z;
  };
  tell_in_units<Numbers>(
      units, begin_of, [&](uint64_t i, const Numbers& x) { return visit(i, x.score, x.log_z); },
      [&](size_t unit, const auto& tell) {
        body(unit, [&](uint64_t i, double score, double log_z) { return tell(i, Numbers{score, log_z}); });
      });
}

}  // namespace selfnorm
