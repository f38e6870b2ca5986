#include "selfnorm/proposal/conditional/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mixture_row.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr float kLargestParameter = std::numeric_limits<float>::max();
constexpr uint32_t kMostDimensions = 64, kMostComponents = 4096;

// The float32 next to a bound, inside.
float inner(double bound, float toward) {
  if (std::abs(bound) > kLargestParameter) return std::copysign(kLargestParameter, static_cast<float>(bound));
  const auto near = static_cast<float>(bound);
  const bool is_outside = toward > 0 ? near < bound : near > bound;
  return is_outside ? std::nextafter(near, toward * kLargestParameter) : near;
}

void require_bounds(const MixtureShape& shape) {
  const size_t d = shape.dimension;
  if (shape.lower.size() != d || shape.upper.size() != d)
    throw Error(fmt::format(
        "a mixture of {} dimensions has {} lower and {} upper bounds; expected one of each a dimension, "
        "infinite where there is none",
        d, shape.lower.size(), shape.upper.size()));
  for (size_t j = 0; j < d; ++j)
    if (!(inner(shape.lower[j], 1) < inner(shape.upper[j], -1)))
      throw Error(
          fmt::format("the support of coordinate {} of y is [{}, {}]; expected a lower bound below the upper "
                      "one, as float32",
                      j, shape.lower[j], shape.upper[j]));
}

}  // namespace

ConditionalMixture::ConditionalMixture(MixtureShape shape) : shape_(std::move(shape)) {
  const size_t d = shape_.dimension;
  require_range(d >= 1 && d <= kMostDimensions, "dimension", static_cast<double>(d), "1 to 64");
  require_range(shape_.components >= 1 && shape_.components <= kMostComponents, "components",
                shape_.components, "1 to 4096");
  require_range(shape_.least_scale > 0, "least_scale", shape_.least_scale, "a number above 0");
  require_range(shape_.broad_scale > 0, "broad_scale", shape_.broad_scale, "a number above 0");
  require_range(true, "broad_mean", shape_.broad_mean, "a number");
  if (!shape_.lower.empty() || !shape_.upper.empty()) require_bounds(shape_);
  if (std::ranges::all_of(shape_.lower, [](double b) { return std::isinf(b); }) &&
      std::ranges::all_of(shape_.upper, [](double b) { return std::isinf(b); })) {
    shape_.lower.clear();
    shape_.upper.clear();
  }
  for (size_t j = 0; j < d; ++j) {
    const double lower = is_bounded() ? shape_.lower[j] : -kInfinity;
    const double upper = is_bounded() ? shape_.upper[j] : kInfinity;
    broad_.push_back(TruncatedNormal::of(shape_.broad_mean, shape_.broad_scale, lower, upper));
    least_.push_back(inner(lower, 1));
    most_.push_back(inner(upper, -1));
  }
}

float ConditionalMixture::within(double y, uint32_t j) const {
  return std::clamp(static_cast<float>(y), least_[j], most_[j]);
}

void ConditionalMixture::log_prob(const MixturePoints& at, std::span<double> log_q,
                                  std::span<double> log_g) const {
  SELFNORM_CHECK(log_q.empty() || log_q.size() == at.y.rows);
  SELFNORM_CHECK(log_g.empty() || log_g.size() == at.y.rows);
  for_each_row(*this, at, 0, [&](uint32_t r, uint64_t begin, uint64_t end, MixtureRow& row) {
    const bool is_finite = !log_q.empty() && row.set(at.parameters.row(r));
    for (; begin < end; begin += kMixtureBlock) {
      const size_t n = std::min<size_t>(kMixtureBlock, end - begin);
      row.load(at.y, begin, n);
      if (!log_g.empty())
        for (size_t i = 0; i < n; ++i) log_g[begin + i] = row.is_inside(i) ? row.log_broad(i) : -kInfinity;
      if (is_finite) {
        row.evaluate();
        for (size_t i = 0; i < n; ++i) log_q[begin + i] = row.is_inside(i) ? row.log_prob(i) : -kInfinity;
      } else if (!log_q.empty()) {
        std::ranges::fill(log_q.subspan(begin, n), std::numeric_limits<double>::quiet_NaN());
      }
    }
  });
}

std::vector<ConditionalMixture::Component> ConditionalMixture::components(
    std::span<const float> parameters) const {
  SELFNORM_CHECK(parameters.size() == shape_.parameters());
  MixtureRow row(*this, 0);
  if (!row.set(parameters)) throw Error("a mixture has parameters that are not finite; expected numbers");
  std::vector<Component> out;
  const size_t d = shape_.dimension;
  for (size_t k = 0; k < shape_.components; ++k) {
    Component& c = out.emplace_back(Component{row.weight(k), {}, {}});
    for (size_t j = 0; j < d; ++j) {
      c.mean.push_back(static_cast<double>(parameters[shape_.components + k * d + j]));
      c.scale.push_back(row.scale(k * d + j));
    }
  }
  return out;
}

double broadened(double log_q, double log_g, double w) {
  broaden({&log_q, 1}, {&log_g, 1}, w);
  return log_q;
}

void broaden(std::span<double> log_q, std::span<const double> log_g, double w) {
  SELFNORM_CHECK(w >= 0 && w <= 1 && log_q.size() == log_g.size());
  const LogWeights weights{std::log1p(-w), std::log(w)};
  const size_t whole = log_q.size() / kMixtureVector * kMixtureVector;
  log_weighted_sums(whole, weights, log_q.data(), log_g.data());
  if (whole == log_q.size()) return;
  double q[kMixtureVector] = {}, g[kMixtureVector] = {};
  std::ranges::copy(log_q.subspan(whole), q);
  std::ranges::copy(log_g.subspan(whole), g);
  log_weighted_sums(kMixtureVector, weights, q, g);
  std::copy_n(q, log_q.size() - whole, log_q.begin() + static_cast<ptrdiff_t>(whole));
}

}  // namespace selfnorm
