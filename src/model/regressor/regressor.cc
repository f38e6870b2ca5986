#include "model/regressor/regressor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "math/parallel.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr size_t kScoredValues = 4096;  // a unit of parallel work
constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();

std::unique_ptr<DenseNetwork> copy_of(const std::unique_ptr<DenseNetwork>& network) {
  if (!network) return nullptr;
  return std::make_unique<DenseNetwork>(network->record(), "network");
}

std::unique_ptr<FeatureNetwork> copy_of(const std::unique_ptr<FeatureNetwork>& features) {
  if (!features) return nullptr;
  SELFNORM_CHECK(!features->is_sealed());  // so that what is copied runs already
  return make_features(features->record(), EmbeddedCode::run);
}

// body(network) for those that are there, in the order of RegressorNetworks::parameters.
template <class Body>
void for_networks(RegressorNetworks& networks, const Body& body) {
  const auto visit = [&body](const auto&... each) { ((each ? body(*each) : void()), ...); };
  visit(networks.features, networks.tilt_features, networks.mixture_head, networks.context, networks.tilt,
        networks.normalizer);
}

// The bounds of coordinate j, in standardised units.
std::array<double, 2> bounds(const MixtureShape& shape, size_t j) {
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
  for_networks(*this, [&out](auto& network) { out.push_back(network.parameters()); });
  return out;
}

void RegressorNetworks::parameters_changed() {
  for_networks(*this, [](auto& network) { network.parameters_changed(); });
}

RegressorNetworks RegressorNetworks::copy() const {
  return {copy_of(features),
          copy_of(tilt_features),
          copy_of(mixture_head),
          copy_of(context),
          tilt ? make_conditional_mlp(tilt->record()) : nullptr,
          copy_of(normalizer),
          temperature};
}

double Regressor::log_volume() const {
  double sum = 0;
  for (const double scale : target_scale) sum += std::log(scale);
  return sum;
}

TargetReach Regressor::standardise(std::span<const double> y, std::span<float> u) const {
  std::array<float, 3> inside;
  bool is_far = false;
  for (size_t j = 0; j < y.size(); ++j) {
    const auto [lower, upper] = bounds(mixture, j);
    const double place = (y[j] - target_mean[j]) / target_scale[j];
    const double slack = kRounding * std::max(std::abs(y[j]), std::abs(target_mean[j])) / target_scale[j];
    if (!std::isfinite(y[j]) || place < lower - slack || place > upper + slack) return TargetReach::kOutside;
    is_far = is_far || std::abs(place) > kFarthestTarget;
    if (!is_far) inside[j] = within(static_cast<float>(place), lower, upper);
  }
  if (is_far) return TargetReach::kFar;
  std::copy_n(inside.begin(), y.size(), u.begin());
  return TargetReach::kInside;
}

void base_log_prob(const ConditionalMixture& mixture, double w, const MixturePoints& at,
                   std::span<double> log_prob) {
  if (w == 1) return mixture.log_prob(at, {}, log_prob);
  if (w == 0) return mixture.log_prob(at, log_prob, {});
  std::vector<double> log_g(log_prob.size());
  mixture.log_prob(at, log_prob, log_g);
  parallel_ranges(log_prob.size(), kScoredValues, [&](size_t begin, size_t end) {
    broaden(log_prob.subspan(begin, end - begin), std::span(log_g).subspan(begin, end - begin), w);
  });
}

}  // namespace selfnorm
