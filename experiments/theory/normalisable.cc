#include "experiments/theory/normalisable.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/failure.h"
#include "selfnorm/error.h"

namespace selfnorm {

NormalizerMoments normalizer_moments(std::span<const double> log_normalizers) {
  if (log_normalizers.empty()) throw Error("moments of log Z need at least one input, received none");
  const double n = static_cast<double>(log_normalizers.size());
  NormalizerMoments out;
  double square = 0;
  for (const double a : log_normalizers) {
    out.mean += a / n;
    out.mean_absolute += std::abs(a) / n;
    square += a * a / n;
    out.largest = std::max(out.largest, std::abs(a));
  }
  out.rms = std::sqrt(square);
  for (const double a : log_normalizers) out.variance += (a - out.mean) * (a - out.mean) / n;
  return out;
}

NormalizerMoments normalizer_moments(const FeatureTable& table, std::span<const double> eta) {
  return normalizer_moments(log_normalizers(table, eta));
}

bool is_normalised(const FeatureTable& table, std::span<const double> eta, double tolerance) {
  require_range(tolerance >= 0, "tolerance", tolerance, "a number >= 0");
  return normalizer_moments(table, eta).largest <= tolerance;
}

bool is_approximately_normalised(const FeatureTable& table, std::span<const double> eta, double delta) {
  require_range(delta > 0, "delta", delta, "a number > 0");
  return normalizer_moments(table, eta).rms < delta;
}

NormalisationExample normalisable_example() {
  NormalisationExample out{
      .table = {.inputs = 2, .outputs = 2, .features = 2, .values = {}, .log_carrier = {}},
      .eta = {1, std::log(0.4)}};
  for (const double x : {std::numbers::ln2, -std::numbers::ln2}) {
    for (const double y : {-1.0, 1.0}) out.table.values.insert(out.table.values.end(), {x * y, 1});
  }
  return out;
}

NormalisationExample only_uniform_example() {
  NormalisationExample out{
      .table = {.inputs = 3, .outputs = 2, .features = 3, .values = {}, .log_carrier = {}},
      .eta = {0, 0, -std::numbers::ln2}};
  for (const auto& [x1, x2] : {std::pair{1.0, 0.0}, {0.0, 1.0}, {1.0, 1.0}}) {
    for (const double y : {-1.0, 1.0}) out.table.values.insert(out.table.values.end(), {x1 * y, x2 * y, 1});
  }
  return out;
}

}  // namespace selfnorm
