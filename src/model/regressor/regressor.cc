#include "selfnorm/model/regressor/regressor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/model/network/dense_record.h"

namespace selfnorm {
namespace {

constexpr size_t kValues = 4096;  // a unit of parallel work
constexpr double kRounding = 1.0 / (1 << 23);

std::unique_ptr<DenseNetwork> copy_of(const std::unique_ptr<DenseNetwork>& network) {
  if (!network) return nullptr;
  return std::make_unique<DenseNetwork>(make_dense_network(record_of(*network), "network"));
}

std::unique_ptr<FeatureNetwork> copy_of(const std::unique_ptr<FeatureNetwork>& features) {
  return features ? make_features(features->record()) : nullptr;
}

// The bounds of coordinate j, in standardised units.
std::array<double, 2> bounds(const MixtureShape& shape, size_t j) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {shape.lower.empty() ? -kInfinity : shape.lower[j],
          shape.upper.empty() ? kInfinity : shape.upper[j]};
}

// The float of [lower, upper] nearest to u.
float within(float u, double lower, double upper) {
  if (static_cast<double>(u) < lower) {
    u = static_cast<float>(lower);
    return static_cast<double>(u) < lower ? std::nextafter(u, HUGE_VALF) : u;
  }
  if (static_cast<double>(u) > upper) {
    u = static_cast<float>(upper);
    return static_cast<double>(u) > upper ? std::nextafter(u, -HUGE_VALF) : u;
  }
  return u;
}

}  // namespace

std::vector<std::span<float>> RegressorNetworks::parameters() {
  std::vector<std::span<float>> out;
  const auto add = [&out](const auto& network) {
    if (network) out.push_back(network->parameters());
  };
  add(features);
  add(tilt_features);
  add(mixture_head);
  add(context);
  add(tilt);
  add(normalizer);
  return out;
}

void RegressorNetworks::parameters_changed() {
  const auto tell = [](const auto& network) {
    if (network) network->parameters_changed();
  };
  tell(features);
  tell(tilt_features);
  tell(mixture_head);
  tell(context);
  tell(tilt);
  tell(normalizer);
}

RegressorNetworks RegressorNetworks::copy() const {
  return {copy_of(features),
          copy_of(tilt_features),
          copy_of(mixture_head),
          copy_of(context),
          tilt ? make_conditional_mlp(tilt->record()) : nullptr,
          copy_of(normalizer)};
}

double Regressor::log_volume() const {
  double sum = 0;
  for (const double scale : target_scale) sum += std::log(scale);
  return sum;
}

bool Regressor::standardise(std::span<const float> y, std::span<float> u) const {
  std::array<float, 3> inside;
  for (size_t j = 0; j < y.size(); ++j) {
    const auto [lower, upper] = bounds(mixture, j);
    const double value = static_cast<double>(y[j]);
    const double place = (value - target_mean[j]) / target_scale[j];
    const double slack = kRounding * std::abs(value) / target_scale[j];
    if (!std::isfinite(value) || place < lower - slack || place > upper + slack) return false;
    inside[j] = within(static_cast<float>(place), lower, upper);
    if (!std::isfinite(inside[j])) return false;
  }
  std::copy_n(inside.begin(), y.size(), u.begin());
  return true;
}

void Regressor::standardise(const Points& y, std::span<float> u) const {
  const uint32_t d = dimension();
  if (y.columns != d) throw Error(fmt::format("targets of {} columns, expected {}", y.columns, d));
  for (uint64_t i = 0; i < y.rows; ++i) {
    if (standardise(y.row(i), u.subspan(i * d, d))) continue;
    std::string found, support;
    for (uint32_t j = 0; j < d; ++j) {
      const auto [lower, upper] = bounds(mixture, j);
      found += fmt::format("{}{} = {}", j == 0 ? "" : ", ", targets[j], y.row(i)[j]);
      support +=
          fmt::format("{}[{:.6g}, {:.6g}]", j == 0 ? "" : " x ", target_mean[j] + target_scale[j] * lower,
                      target_mean[j] + target_scale[j] * upper);
    }
    throw Error(
        fmt::format("target {} of row {} (from 0) is outside the support {} of the model; remove the "
                    "row, or train with other bounds",
                    found, i, support));
  }
}

void base_log_prob(const ConditionalMixture& mixture, double w, const MixturePoints& at,
                   std::span<double> log_prob) {
  if (w == 1) return mixture.log_prob(at, {}, log_prob);
  if (w == 0) return mixture.log_prob(at, log_prob, {});
  std::vector<double> log_g(log_prob.size());
  mixture.log_prob(at, log_prob, log_g);
  parallel_ranges(log_prob.size(), kValues, [&](size_t begin, size_t end) {
    broaden(log_prob.subspan(begin, end - begin), std::span(log_g).subspan(begin, end - begin), w);
  });
}

}  // namespace selfnorm
