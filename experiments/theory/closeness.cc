#include "experiments/theory/closeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

// sup_y |T(x,y) - T(x*,y)|^2
double squared_supremum(const FeatureTable& table, uint64_t x, const FeatureTable& normalised,
                        uint64_t star) {
  double largest = 0;
  for (uint32_t y = 0; y < table.outputs; ++y) {
    if (table.exists(y)) largest = std::max(largest, squared_distance(table(x, y), normalised(star, y)));
  }
  return largest;
}

}  // namespace

std::vector<double> distances(const FeatureTable& table, const FeatureTable& normalised) {
  table.validate();
  normalised.validate();
  if (table.outputs != normalised.outputs || table.features != normalised.features) {
    throw Error(fmt::format(
        "the normalised set has {} outputs and {} features; expected {} and {}, those of the inputs",
        normalised.outputs, normalised.features, table.outputs, table.features));
  }
  std::vector<double> out(table.inputs);
  parallel_ranges(table.inputs, 16, [&](size_t begin, size_t end) {
    for (uint64_t x = begin; x < end; ++x) {
      double smallest = std::numeric_limits<double>::infinity();
      for (uint64_t star = 0; star < normalised.inputs; ++star) {
        smallest = std::min(smallest, squared_supremum(table, x, normalised, star));
      }
      out[x] = std::sqrt(smallest);
    }
  });
  return out;
}

Closeness closeness(std::span<const double> distances) {
  if (distances.empty()) throw Error("closeness needs at least one input, received none");
  const double n = static_cast<double>(distances.size());
  double first = 0, second = 0;
  for (const double v : distances) {
    first += v / n;
    second += v * v / n;
  }
  return {.first_moment = first, .root_second_moment = std::sqrt(second)};
}

double mean_absolute_bound(const Closeness& closeness, double eta_norm) {
  require_range(eta_norm >= 0, "|eta|", eta_norm, "a number >= 0");
  return eta_norm * closeness.first_moment;
}

double rms_bound(const Closeness& closeness, double eta_norm) {
  require_range(eta_norm >= 0, "|eta|", eta_norm, "a number >= 0");
  return eta_norm * closeness.root_second_moment;
}

}  // namespace selfnorm
