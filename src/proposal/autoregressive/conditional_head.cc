#include "proposal/autoregressive/conditional_head.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "math/sigmoid.h"
#include "math/special_functions.h"
#include "proposal/direction/direction_mixture.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr double kLeastLogScale = -7;  // of a normal, in the units of the points
constexpr double kLogRootTwoPi = 0.91893853320467274178;

double log_scale_of(float raw) {
  return kLeastLogScale + softplus(static_cast<double>(raw) - kLeastLogScale);
}

// The terms log pi_k + log q_k(x) of a mixture; returns log sum_k exp logit_k.
template <class LogProb>
double mixture_terms_of(const float* t, uint32_t count, const LogProb& log_prob, LogSumExp& total,
                        double* term) {
  LogSumExp weights;
  for (uint32_t k = 0; k < count; ++k) weights.add(static_cast<double>(t[k]));
  const double level = weights.value();
  for (uint32_t k = 0; k < count; ++k) {
    term[k] = static_cast<double>(t[k]) - level + log_prob(k);
    total.add(term[k]);
  }
  return level;
}

size_t drawn_component(const float* t, uint32_t count, RandomStream& random) {
  LogSumExp weights;
  for (uint32_t k = 0; k < count; ++k) weights.add(static_cast<double>(t[k]));
  double left = random.uniform();
  for (uint32_t k = 0; k + 1 < count; ++k)
    if ((left -= std::exp(static_cast<double>(t[k]) - weights.value())) < 0) return k;
  return count - 1;
}

}  // namespace

void ConditionalHead::input(float x, float* out) const {
  if (kind == Kind::real) {
    *out = x;
  } else if (kind == Kind::angle) {
    out[0] = std::cos(x);
    out[1] = std::sin(x);
  } else {
    std::fill_n(out, count - 1, 0.0f);
    if (x > 0) out[static_cast<size_t>(x) - 1] = 1;
  }
}

void ConditionalHead::input_slope(float x, float* out) const {
  out[0] = kind == Kind::real ? 1 : -std::sin(x);
  if (kind == Kind::angle) out[1] = std::cos(x);
}

double ConditionalHead::log_prob(const float* t, float x, float* d, double* dx) const {
  if (dx != nullptr) *dx = 0;
  if (kind == Kind::levels) {
    LogSumExp total;
    total.add(0);
    for (uint32_t l = 0; l + 1 < count; ++l) total.add(static_cast<double>(t[l]));
    const double level = total.value();
    const auto at = static_cast<size_t>(x);
    for (uint32_t l = 0; d != nullptr && l + 1 < count; ++l)
      d[l] = static_cast<float>((l + 1 == at ? 1 : 0) - std::exp(static_cast<double>(t[l]) - level));
    return (at == 0 ? 0 : static_cast<double>(t[at - 1])) - level;
  }
  double term[kMostComponents], first[kMostComponents], second[kMostComponents];
  LogSumExp total;
  double level = 0;
  const float *one = t + count, *two = t + size_t{2} * count;
  const double cosine = kind == Kind::angle ? std::cos(static_cast<double>(x)) : 0;
  const double sine = kind == Kind::angle ? std::sin(static_cast<double>(x)) : 0;
  if (kind == Kind::real) {
    level = mixture_terms_of(
        t, count,
        [&](uint32_t k) {
          second[k] = log_scale_of(two[k]);
          first[k] = (static_cast<double>(x) - static_cast<double>(one[k])) * std::exp(-second[k]);
          return -0.5 * first[k] * first[k] - second[k] - kLogRootTwoPi;
        },
        total, term);
  } else {
    level = mixture_terms_of(
        t, count,
        [&](uint32_t k) {
          const double a = one[k], b = two[k], kappa = std::hypot(a, b);
          const BesselI bessel = bessel_i(kappa);
          const double mean = kappa > 0 ? bessel.ratio / kappa : 0.5;
          first[k] = cosine - mean * a;
          second[k] = sine - mean * b;
          return a * cosine + b * sine - bessel.log_zero - std::log(2 * std::numbers::pi);
        },
        total, term);
  }
  const double log_q = total.value();
  for (uint32_t k = 0; k < count && (d != nullptr || dx != nullptr); ++k) {
    const double share = std::exp(term[k] - log_q);
    if (kind == Kind::real) {
      const double pull = share * first[k] * std::exp(-second[k]);
      if (dx != nullptr) *dx -= pull;
      if (d == nullptr) continue;
      d[count + k] = static_cast<float>(pull);
      d[2 * count + k] = static_cast<float>(share * (first[k] * first[k] - 1) *
                                            sigmoid(static_cast<double>(two[k]) - kLeastLogScale));
    } else {
      if (dx != nullptr)
        *dx += share * (static_cast<double>(two[k]) * cosine - static_cast<double>(one[k]) * sine);
      if (d == nullptr) continue;
      d[count + k] = static_cast<float>(share * first[k]);
      d[2 * count + k] = static_cast<float>(share * second[k]);
    }
    d[k] = static_cast<float>(share - std::exp(static_cast<double>(t[k]) - level));
  }
  return log_q;
}

float ConditionalHead::draw(const float* t, RandomStream& random) const {
  if (kind == Kind::levels) {
    LogSumExp total;
    total.add(0);
    for (uint32_t l = 0; l + 1 < count; ++l) total.add(static_cast<double>(t[l]));
    double left = random.uniform();
    for (uint32_t l = 0; l + 1 < count; ++l)
      if ((left -= std::exp(static_cast<double>(t[l]) - total.value())) < 0) return static_cast<float>(l + 1);
    return 0;
  }
  const size_t k = drawn_component(t, count, random);
  if (kind == Kind::real)
    return static_cast<float>(static_cast<double>(t[count + k]) +
                              std::exp(log_scale_of(t[size_t{2} * count + k])) * random.normal());
  const double a = t[count + k], b = t[size_t{2} * count + k];
  return static_cast<float>(von_mises_draw(random, std::atan2(b, a), std::hypot(a, b)));
}

std::vector<float> ConditionalHead::start(std::span<const float> values) const {
  std::vector<float> out(parameters());
  if (kind == Kind::levels) {
    std::vector<double> rows(count, 0.5);
    for (const float x : values) ++rows[static_cast<size_t>(x)];
    for (uint32_t l = 1; l < count; ++l) out[l - 1] = static_cast<float>(std::log(rows[l] / rows[0]));
    return out;
  }
  if (kind == Kind::angle) {  // around the circle
    for (uint32_t k = 0; k < count; ++k) {
      const double centre = 2 * std::numbers::pi * k / count;
      out[count + k] = static_cast<float>(std::cos(centre));
      out[2 * count + k] = static_cast<float>(std::sin(centre));
    }
    return out;
  }
  std::vector<float> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  double mean = 0, square = 0;
  for (const float x : values) mean += static_cast<double>(x) / static_cast<double>(values.size());
  for (const float x : values)
    square += std::pow(static_cast<double>(x) - mean, 2) / static_cast<double>(values.size());
  for (uint32_t k = 0; k < count; ++k) {
    out[count + k] = count == 1 ? static_cast<float>(mean)
                                : sorted[sorted.size() * (size_t{2} * k + 1) / (size_t{2} * count)];
    out[2 * count + k] = static_cast<float>(0.5 * std::log(square + 1e-12) - (count > 1 ? 0.7 : 0));
  }
  return out;
}

}  // namespace selfnorm
