#include "selfnorm/proposal/density/plus_plus.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/math/parallel.h"
#include "selfnorm/math/random.h"

namespace selfnorm {
namespace {

constexpr size_t kGrain = 2048;

}  // namespace

std::vector<uint32_t> plus_plus_clusters(std::span<const double> rows, uint32_t dimension, uint32_t clusters,
                                         uint64_t seed) {
  const size_t d = dimension, n = rows.size() / d;
  RandomStream random(seed, 0);
  std::vector<uint32_t> nearest(n);
  const auto square_distance = [&](size_t i, size_t centre) {
    double sum = 0;
    for (size_t j = 0; j < d; ++j) {
      const double away = rows[i * d + j] - rows[centre * d + j];
      sum += away * away;
    }
    return sum;
  };
  // To the nearest centre, were this row a centre too.
  std::vector<double> distance(n), candidate(n), best(n);
  const auto distances_with = [&](size_t centre, const std::vector<double>& before, bool is_first) {
    return ordered_sum(n, kGrain, [&](size_t begin, size_t end) {
      double sum = 0;
      for (size_t i = begin; i < end; ++i) {
        const double own = square_distance(i, centre);
        candidate[i] = is_first ? own : std::min(before[i], own);
        sum += candidate[i];
      }
      return sum;
    });
  };
  double total = distances_with(random.below(n), distance, true);
  distance.swap(candidate);
  const auto draws = 2 + static_cast<uint32_t>(std::log(static_cast<double>(clusters)));
  for (uint32_t k = 1; k < clusters && total > 0; ++k) {
    double least = 0;
    for (uint32_t draw = 0; draw < draws; ++draw) {
      double left = random.uniform() * total;
      size_t centre = 0;
      for (size_t i = 0; i < n; ++i) {
        if (distance[i] > 0) centre = i;  // the last one with mass, should rounding leave some over
        if ((left -= distance[i]) < 0) break;
      }
      const double sum = distances_with(centre, distance, false);
      if (draw > 0 && sum >= least) continue;
      least = sum;
      best.swap(candidate);
    }
    for (size_t i = 0; i < n; ++i)
      if (best[i] < distance[i]) nearest[i] = k;
    distance.swap(best);
    total = least;
  }
  return nearest;
}

}  // namespace selfnorm
