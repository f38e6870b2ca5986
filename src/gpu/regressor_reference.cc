#include "gpu/regressor_reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace selfnorm::gpu {

// q(y|x) of a row of parameters: logits, means, raw scales.
struct RegressorReference::Mixture {
  Mixture(const selfnorm_regressor_plan& p, const std::vector<double>& parameters) : plan(p) {
    const auto count = static_cast<size_t>(p.components), cells = count * static_cast<size_t>(p.targets);
    const double top = *std::max_element(parameters.begin(), parameters.begin() + p.components);
    double sum = 0;
    for (size_t k = 0; k < count; ++k) sum += std::exp(parameters[k] - top);
    for (size_t k = 0; k < count; ++k) weight.push_back(std::exp(parameters[k] - top) / sum);
    for (size_t kj = 0; kj < cells; ++kj) {
      mean.push_back(parameters[count + kj]);
      const MixtureScale s = mixture_scale(p, parameters[count + cells + kj]);
      scale.push_back(s.value);
      slope.push_back(s.slope);
    }
  }

  size_t targets() const { return static_cast<size_t>(plan.targets); }
  double log_component(size_t k, const double* y) const {
    double sum = std::log(weight[k]);
    for (size_t j = 0; j < targets(); ++j)
      sum += log_normal(y[j], mean[k * targets() + j], scale[k * targets() + j]);
    return sum;
  }
  double log_q(const double* y) const {
    double top = -INFINITY, sum = 0;
    for (size_t k = 0; k < weight.size(); ++k) top = std::max(top, log_component(k, y));
    for (size_t k = 0; k < weight.size(); ++k) sum += std::exp(log_component(k, y) - top);
    return top + std::log(sum);
  }
  // The last component that has any weight for the draw beyond them all.
  std::vector<double> draw(double choice, const double* normal) const {
    size_t k = 0;
    for (size_t i = 0; choice >= 0 && i < weight.size(); ++i) {
      if (weight[i] > 0) k = i;
      choice -= weight[i];
    }
    return at(k, normal);
  }
  std::vector<double> at(size_t k, const double* normal) const {
    std::vector<double> y;
    for (size_t j = 0; j < targets(); ++j)
      y.push_back(static_cast<float>(mean[k * targets() + j] + scale[k * targets() + j] * normal[j]));
    return y;
  }
  // d += c dlog q_w / dparameters, q_w broadened by w to log_qw.
  void add_gradient(const double* y, double c, double w, double log_qw, std::vector<double>& d) const {
    const size_t count = weight.size(), cells = count * targets();
    double total = 0;
    for (size_t k = 0; k < count; ++k) {
      const double share = c * std::exp(log_component(k, y) + std::log1p(-w) - log_qw);
      total += share;
      d[k] += share;
      for (size_t j = 0; j < targets(); ++j) {
        const size_t kj = k * targets() + j;
        const double tau = (y[j] - mean[kj]) / scale[kj];
        d[count + kj] += share * tau / scale[kj];
        d[count + cells + kj] += share * (tau * tau - 1) / scale[kj] * slope[kj];
      }
    }
    for (size_t k = 0; k < count; ++k) d[k] -= weight[k] * total;
  }

  const selfnorm_regressor_plan& plan;
  std::vector<double> weight, mean, scale, slope;
};

struct RegressorReference::Objective {
  double loss = 0, d_b = 0, log_ratio = 0, effective = 0;
  std::vector<double> d_score,
      share;  // of the target and its draws; exp(s - log q) of the draws over their sum
};

RegressorReference::RegressorReference(const selfnorm_regressor_plan& plan) : plan_(plan), layout_(plan) {
  const auto n = static_cast<size_t>(layout_.parameters);
  for (std::vector<float>* values : {&theta, &average, &mean, &square}) values->resize(n);
  gradient.resize(n);
}

RegressorReference::Trace RegressorReference::forward(const RegressorNetwork& network, std::vector<double> x,
                                                      const uint32_t* levels,
                                                      const std::vector<double>& start) const {
  Trace out;
  out.a.push_back(std::move(x));
  for (int32_t l = network.first; l < network.last; ++l) {
    const RegressorLayer& layer = layout_.layer[l];
    const std::vector<double>& below = out.a.back();
    std::vector<double> a, slope;
    for (int32_t o = 0; o < layer.out; ++o) {
      double z = theta[static_cast<size_t>(layer.bias + o)];
      for (int32_t i = 0; i < layer.in; ++i)
        z += static_cast<double>(theta[static_cast<size_t>(layer.weight + o * layer.in + i)]) *
             below[static_cast<size_t>(i)];
      if (l == network.first && !start.empty()) z += start[static_cast<size_t>(o)];
      for (int32_t c = 0; l == network.first && network.embeddings >= 0 && c < plan_.categorical; ++c)
        z += theta[static_cast<size_t>(network.embeddings) + levels[c] * static_cast<size_t>(layer.out) +
                   static_cast<size_t>(o)];
      const Activated<double> y =
          layer.is_activated != 0 ? activated(plan_.activation, z) : Activated<double>{z, 1};
      a.push_back(y.value);
      slope.push_back(y.slope);
    }
    out.a.push_back(std::move(a));
    out.slope.push_back(std::move(slope));
  }
  return out;
}

std::vector<double> RegressorReference::backward(const RegressorNetwork& network, const Trace& trace,
                                                 std::vector<double> delta, const uint32_t* levels,
                                                 std::vector<double>* first) {
  for (int32_t l = network.last - 1; l >= network.first; --l) {
    const RegressorLayer& layer = layout_.layer[l];
    const auto place = static_cast<size_t>(l - network.first);
    std::vector<double> below(static_cast<size_t>(layer.in));
    for (size_t o = 0; o < delta.size(); ++o) {
      delta[o] *= trace.slope[place][o];
      gradient[static_cast<size_t>(layer.bias) + o] += delta[o];
      for (size_t i = 0; i < below.size(); ++i) {
        const size_t w = static_cast<size_t>(layer.weight) + o * below.size() + i;
        gradient[w] += delta[o] * trace.a[place][i];
        below[i] += delta[o] * static_cast<double>(theta[w]);
      }
      for (int32_t c = 0; l == network.first && network.embeddings >= 0 && c < plan_.categorical; ++c)
        gradient[static_cast<size_t>(network.embeddings) + levels[c] * delta.size() + o] += delta[o];
    }
    if (first != nullptr && l == network.first)
      for (size_t o = 0; o < delta.size(); ++o) (*first)[o] += delta[o];
    delta = std::move(below);
  }
  return delta;
}

double RegressorReference::broad(const double* y) const {
  double sum = 0;
  for (int32_t j = 0; j < plan_.targets; ++j) sum += log_normal(y[j], plan_.broad_mean, plan_.broad_scale);
  return sum;
}

// src/objective has the formulas: snl.cc, importance_sampling.cc, nce.cc and ranking_nce.cc.
RegressorReference::Objective RegressorReference::compare(const std::vector<double>& score,
                                                          const std::vector<double>& log_q, double b) const {
  Objective out;
  const size_t points = score.size();
  const auto samples = static_cast<double>(points - 1);
  std::vector<double> u;
  for (size_t i = 0; i < points; ++i) u.push_back(score[i] - log_q[i]);
  const double top = *std::max_element(u.begin() + 1, u.end());
  double sum = 0, squares = 0;
  out.share.resize(points);
  for (size_t i = 1; i < points; ++i) sum += out.share[i] = std::exp(u[i] - top);
  for (size_t i = 1; i < points; ++i) squares += std::pow(out.share[i] /= sum, 2);
  const double log_z = top + std::log(sum) - std::log(samples);
  out.d_score.resize(points);
  if (plan_.objective == SELFNORM_SNL || plan_.objective == SELFNORM_IS) {
    const bool is_snl = plan_.objective == SELFNORM_SNL;
    const double r = is_snl ? std::exp(log_z - b) : 1;
    for (size_t i = 1; i < points; ++i) out.d_score[i] = r * out.share[i];
    out.d_score[0] = -1;
    out.d_b = is_snl ? 1 - r : 0;
    out.loss = is_snl ? b - score[0] + r - 1 : log_z - score[0];
    out.log_ratio = log_z - b;
    out.effective = 1 / squares;
  } else if (plan_.objective == SELFNORM_NCE) {
    const double level = b + std::log(samples);
    for (size_t i = 0; i < points; ++i) {
      const double v = i == 0 ? level - u[0] : u[i] - level, e = std::exp(-std::abs(v)),
                   sigma = (v >= 0 ? 1 : e) / (1 + e);
      out.loss += std::max(v, 0.0) + std::log1p(e);
      out.d_score[i] = i == 0 ? -sigma : sigma;
      out.d_b += i == 0 ? sigma : -sigma;
    }
  } else {
    const double most = std::max(top, u[0]), all = std::exp(u[0] - most) + std::exp(top - most) * sum;
    for (size_t i = 0; i < points; ++i) out.d_score[i] = std::exp(u[i] - most) / all - (i == 0 ? 1 : 0);
    out.loss = most + std::log(all) - u[0];
  }
  return out;
}

RegressorSums RegressorReference::take(const Row& row) {
  const selfnorm_regressor_plan& p = plan_;
  const std::vector<double> x(row.numbers, row.numbers + p.numbers);
  const Trace features = forward(layout_.features, x, row.levels, {});
  const std::vector<double>& h = features.a.back();
  const Trace head = forward(layout_.mixture, h, nullptr, {});
  const Mixture mixture(p, head.a.back());
  std::vector<double> d_mixture(head.a.back().size());
  const double scale = row.weight * row.share;
  const std::vector<double> y(row.target, row.target + p.targets);
  RegressorSums sums = {};
  std::vector<double> dh(h.size());

  if (row.is_warm || p.learns_from_data != 0) {
    const double log_q = broadened_by(p.tail_weight, mixture.log_q(y.data()), broad(y.data()));
    mixture.add_gradient(y.data(), -scale, p.tail_weight, log_q, d_mixture);
    if (row.is_warm) sums.loss = -row.weight * log_q;
  }
  if (!row.is_warm) {
    const bool is_own = p.has_tilt_features != 0;
    const Trace own = is_own ? forward(layout_.tilt_features, x, row.levels, {}) : Trace{};
    const std::vector<double>& h_tilt = is_own ? own.a.back() : h;
    const Trace context = forward(layout_.context, h_tilt, nullptr, {});
    Trace normalizer;
    if (p.has_normalizer != 0) normalizer = forward(layout_.normalizer, h_tilt, nullptr, {});
    const double b = p.has_normalizer != 0 ? normalizer.a.back()[0] : 0;

    std::vector<std::vector<double>> points = {y};
    for (int32_t i = 0; i < p.samples; ++i) {
      const double* const normal = row.normal + i * p.targets;
      points.push_back(mixture.draw(row.choice[i], normal));
      for (int32_t j = 0; row.choice[i] < 0 && j < p.targets; ++j)
        points.back()[static_cast<size_t>(j)] = static_cast<float>(p.broad_mean + p.broad_scale * normal[j]);
    }
    std::vector<Trace> tilt;
    std::vector<double> score, log_tail, log_defended;
    for (const std::vector<double>& at : points) {
      tilt.push_back(forward(layout_.tilt, at, nullptr, context.a.back()));
      const std::vector<double>& top = tilt.back().a.back();
      double f = 0;
      for (size_t o = 0; o < top.size(); ++o)
        f += top[o] * static_cast<double>(theta[static_cast<size_t>(layout_.output) + o]);
      const double log_q = mixture.log_q(at.data()), log_g = broad(at.data());
      log_tail.push_back(broadened_by(p.tail_weight, log_q, log_g));
      log_defended.push_back(broadened_by(p.defence, log_q, log_g));
      score.push_back(f + (p.has_base != 0 ? log_tail.back() : log_g));
    }
    const Objective found = compare(score, log_defended, b);
    sums = {row.weight * found.loss, found.log_ratio, found.effective, b};
    std::vector<double> d_context(context.a.back().size());
    for (size_t i = 0; i < points.size(); ++i) {
      const double d = scale * found.d_score[i];
      std::vector<double> delta;
      for (size_t o = 0; o < tilt[i].a.back().size(); ++o) {
        const size_t w = static_cast<size_t>(layout_.output) + o;
        gradient[w] += d * tilt[i].a.back()[o];
        delta.push_back(d * static_cast<double>(theta[w]));
      }
      backward(layout_.tilt, tilt[i], std::move(delta), nullptr, &d_context);
      if (p.has_base != 0) mixture.add_gradient(points[i].data(), d, p.tail_weight, log_tail[i], d_mixture);
      if (p.learns_by_divergence != 0)
        mixture.add_gradient(points[i].data(), -scale * found.share[i], p.defence, log_defended[i],
                             d_mixture);
    }
    const std::vector<double> by_tilt = backward(layout_.context, context, std::move(d_context), nullptr);
    if (p.has_normalizer != 0) backward(layout_.normalizer, normalizer, {scale * found.d_b}, nullptr);
    if (is_own)
      backward(layout_.tilt_features, own, by_tilt, row.levels);
    else
      dh = by_tilt;
  }
  const std::vector<double> by_mixture = backward(layout_.mixture, head, std::move(d_mixture), nullptr);
  for (size_t i = 0; i < dh.size(); ++i) dh[i] += by_mixture[i];
  backward(layout_.features, features, std::move(dh), row.levels);
  return sums;
}

int32_t RegressorReference::run(const selfnorm_regressor_run_of& steps) {
  const selfnorm_regressor_plan& p = plan_;
  for (int32_t i = 0; i < steps.steps; ++i) {
    const selfnorm_regressor_at& at = steps.at[i];
    RegressorSums sums = {};
    std::ranges::fill(gradient, 0.0);
    for (int32_t r = 0; r < at.rows; ++r) {
      const size_t place = static_cast<size_t>(i) * static_cast<size_t>(p.rows) + static_cast<size_t>(r);
      const auto own = [place](const auto* values, int32_t each) {
        return values + place * static_cast<size_t>(each);
      };
      sums.add(take({.numbers = own(steps.numbers, p.numbers),
                     .target = own(steps.targets, p.targets),
                     .levels = own(steps.levels, p.categorical),
                     .choice = own(steps.choice, p.samples),
                     .normal = own(steps.normal, p.samples * p.targets),
                     .weight = p.has_weight != 0 ? steps.weight[place] : 1,
                     .share = 1.0 / at.rows,
                     .is_warm = at.is_warm != 0}));
    }
    const double norm = std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0);
    const double clipping = regressor_move(p, sums, norm, at, steps.records[i]);
    if (steps.records[i].event != SELFNORM_STEP_MOVED) return i + 1;
    const auto correction = [&](double decay) {
      return static_cast<float>(1 / (1 - pow(decay, static_cast<double>(at.step + 1))));
    };
    const float keep = average_decay(p, at.step);
    for (size_t j = 0; j < theta.size(); ++j) {
      const auto place = static_cast<int32_t>(j);
      adam_move(static_cast<float>(clipping * gradient[j]), static_cast<float>(layout_.rate(p, at, place)),
                static_cast<float>(1 - at.rate * p.decay), correction(0.9), correction(0.999), theta[j],
                mean[j], square[j]);
      if (p.is_scale_shared != 0 && layout_.is_of_scale(p, place)) theta[j] = 0;
      average[j] = keep * average[j] + (1 - keep) * theta[j];
    }
  }
  return steps.steps;
}

}  // namespace selfnorm::gpu
