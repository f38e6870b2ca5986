#include "gpu/head_reference.h"

#include <algorithm>
#include <cmath>

namespace selfnorm::gpu {
namespace {

// One row's scores with their derivatives by w_k . h.
struct ReferenceRow {
  std::vector<double> score, slope;

  ReferenceRow(const HeadProblem& p, int64_t i) {
    for (int64_t k = 0; k < p.classes; ++k) {
      double z = p.bias.empty() ? 0 : p.bias[k];
      for (int64_t j = 0; j < p.dim; ++j)
        z += static_cast<double>(p.states[i * p.dim + j]) * static_cast<double>(p.weight[k * p.dim + j]);
      z *= p.options.logit_scale;
      const double cap = p.options.softcap, t = cap > 0 ? std::tanh(z / cap) : 0;
      score.push_back((cap > 0 ? cap * t : z) + (p.carrier.empty() ? 0 : p.carrier[k]));
      slope.push_back(p.options.logit_scale * (1 - t * t));
    }
  }
};

}  // namespace

MassResult masses_reference(const HeadProblem& p, const std::vector<uint32_t>& order,
                            const std::vector<uint32_t>& begin) {
  MassResult out;
  out.shares.resize(p.classes);
  for (int64_t i = 0; i < p.rows; ++i) {
    const std::vector<double> s = ReferenceRow(p, i).score;
    const double top = *std::max_element(s.begin(), s.end());
    double total = 0;
    for (const double x : s) total += std::exp(x - top);
    for (int64_t k = 0; k < p.classes; ++k) out.shares[k] += std::exp(s[k] - top) / total;
    for (size_t j = 0; j + 1 < begin.size(); ++j) {
      double sum = 0;
      for (uint32_t q = begin[j]; q < begin[j + 1]; ++q) sum += std::exp(s[order[q]] - top);
      out.masses.push_back(std::max(-80.0, std::log(sum / total)));
    }
  }
  return out;
}

HeadResult head_reference(const HeadProblem& p) {
  const selfnorm_head_options& o = p.options;
  const double all = static_cast<double>(o.all_classes > 0 ? o.all_classes : p.classes),
               eps = o.label_smoothing;
  HeadResult out;
  out.d_states.resize(p.rows * p.dim);
  out.d_weight.resize(p.classes * p.dim);
  out.d_bias.resize(p.classes);
  double denominator = 0;
  for (int64_t i = 0; i < p.rows; ++i)
    if (!p.target.empty() && p.target[i] != o.ignore_index)
      denominator += p.token_weight.empty() ? 1.0 : p.token_weight[i];
  const double inverse = p.target.empty() || o.is_mean == 0 ? 1 : denominator != 0 ? 1 / denominator : 0;

  for (int64_t i = 0; i < p.rows; ++i) {
    const ReferenceRow row(p, i);
    const std::vector<double>& s = row.score;
    const auto best = std::max_element(s.begin(), s.end());
    double sum = 0, expected = 0, plain = 0;
    for (double x : s) sum += std::exp(x - *best), plain += x;
    const double own = *best + std::log(sum), a = p.given_log_z.empty() ? own : p.given_log_z[i];
    for (double x : s)
      if (std::isfinite(x)) expected += std::exp(x - own) * x;
    out.log_z.push_back(own);
    out.expected.push_back(expected);
    out.entropy.push_back(own - expected);
    out.best.push_back(best - s.begin() + o.first_class);

    double weight = p.token_weight.empty() ? 1.0 : p.token_weight[i], nll = 0, penalty = 0, target_score = 0;
    std::vector<double> by_score(p.classes);
    const double upstream = p.row_gradient.empty() ? 1.0 : p.row_gradient[i];
    if (!p.selected.empty()) {
      for (int64_t j = 0; j < p.picks; ++j) {
        const int64_t k = p.selected[i * p.picks + j];
        out.selected_log_p.push_back(s[k] - a);
        if (p.selected_gradient.empty()) continue;
        const double g = p.selected_gradient[i * p.picks + j];
        by_score[k] += g;
        for (int64_t c = 0; c < p.classes; ++c) by_score[c] -= g * std::exp(s[c] - a);
      }
    } else if (p.target.empty()) {
      for (int64_t k = 0; k < p.classes; ++k) by_score[k] = weight * upstream * std::exp(s[k] - a);
    } else if (p.target[i] != o.ignore_index) {
      const int64_t t = p.target[i] - o.first_class;
      const bool is_ours = t >= 0 && t < p.classes, is_first = o.first_class == 0;
      if (is_ours) target_score = s[t];
      nll = (is_ours ? (1 - eps) * (a - target_score) : 0) +
            (eps > 0 ? (is_first ? eps * a : 0) - eps / all * plain : 0);
      penalty = is_first ? o.penalty * (a - o.center) * (a - o.center) : 0;
      out.likelihood += inverse * weight * nll;
      out.loss_penalty += inverse * weight * penalty;
      for (int64_t k = 0; k < p.classes; ++k)
        by_score[k] =
            inverse * weight * upstream *
            ((1 + 2 * o.penalty * (a - o.center)) * std::exp(s[k] - a) - (k == t ? 1 - eps : 0) - eps / all);
    }
    const bool has_target = !p.target.empty() && p.target[i] != o.ignore_index &&
                            p.target[i] >= o.first_class && p.target[i] < o.first_class + p.classes;
    int64_t better = 0;
    for (int64_t k = 0; has_target && k < p.classes; ++k)
      better += s[k] > target_score || (s[k] == target_score && k < p.target[i] - o.first_class) ? 1 : 0;
    out.better.push_back(better);
    out.target_score.push_back(target_score);
    out.nll.push_back(nll);
    out.penalty.push_back(penalty);
    for (int64_t k = 0; p.has_gradient && k < p.classes; ++k) {
      const double g = by_score[k] * row.slope[k];
      out.d_bias[k] += g;
      for (int64_t j = 0; j < p.dim; ++j) {
        out.d_states[i * p.dim + j] += g * static_cast<double>(p.weight[k * p.dim + j]);
        out.d_weight[k * p.dim + j] += g * static_cast<double>(p.states[i * p.dim + j]);
      }
    }
  }
  out.loss = out.likelihood + out.loss_penalty;
  return out;
}

}  // namespace selfnorm::gpu
