#include "gpu/classes_reference.h"

#include <algorithm>
#include <cmath>

namespace selfnorm::gpu {
namespace {

// Scores and log q of a row's target (first) and of the draws that it uses.
struct SampledScores {
  std::vector<double> score, log_q;
  std::vector<int64_t> place;  // of a draw among those of the row; -1: the target
  std::vector<bool> is_hit;

  SampledScores(const SampledProblem& p, int64_t i) {
    add(p, i, p.target[i], p.target_log_q[i], -1);
    for (int64_t j = 0; j < p.draws; ++j) {
      const int64_t at = p.is_shared ? j : i * p.draws + j;
      if (!p.leaves_own || j != i) add(p, i, p.draw[at], p.draw_log_q[at], j);
    }
  }
  void add(const SampledProblem& p, int64_t i, uint32_t k, double q, int64_t at) {
    double s = (p.bias.empty() ? 0 : static_cast<double>(p.bias[k])) +
               (p.carrier.empty() ? 0 : static_cast<double>(p.carrier[k]));
    for (int64_t d = 0; d < p.dim; ++d)
      s += static_cast<double>(p.states[i * p.dim + d]) * static_cast<double>(p.weight[k * p.dim + d]);
    score.push_back(s);
    log_q.push_back(q);
    place.push_back(at);
    is_hit.push_back(k == p.target[i]);
  }
};

// log sum exp of some numbers; of none -inf.
double log_sum(const std::vector<double>& x) {
  const double top = x.empty() ? -INFINITY : *std::max_element(x.begin(), x.end());
  if (!std::isfinite(top)) return top;
  double sum = 0;
  for (const double v : x) sum += std::exp(v - top);
  return top + std::log(sum);
}

}  // namespace

SampledResult sampled_reference(const SampledProblem& p) {
  SampledResult out;
  out.d_draw.resize(p.rows * p.draws);
  out.d_states.resize(p.rows * p.dim);
  out.d_weight.resize(p.classes * p.dim);
  out.d_bias.resize(p.classes);
  for (int64_t i = 0; i < p.rows; ++i) {
    const SampledScores row(p, i);
    const size_t all = row.score.size();
    const double k = static_cast<double>(all - 1), b = p.normalizer.empty() ? 0 : p.normalizer[i];
    std::vector<double> d(all), terms;
    double loss = 0, d_b = 0, log_z = 0, effective = 0, factor = p.factor.empty() ? 1 : p.factor[i];
    const auto u = [&](size_t j) { return row.score[j] - row.log_q[j]; };
    if (all == 1) {
      // Nothing to compare the target with.
    } else if (p.objective == SELFNORM_NCE) {
      for (size_t j = 0; j < all; ++j) {
        const double is_data = 1 / (1 + k * std::exp(row.log_q[j] - row.score[j] + b));  // p(data | class)
        loss -= std::log(j == 0 ? is_data : 1 - is_data);
        d[j] = j == 0 ? is_data - 1 : is_data;
        d_b -= d[j];
      }
    } else if (p.objective == SELFNORM_RANKING) {
      for (size_t j = 0; j < all; ++j) terms.push_back(u(j));
      const double total = log_sum(terms);
      loss = total - u(0);
      for (size_t j = 0; j < all; ++j) d[j] = std::exp(u(j) - total) - (j == 0 ? 1 : 0);
    } else {
      double sum = 0, square = 0, top = -INFINITY;
      for (size_t j = 1; j < all; ++j)
        if (!row.is_hit[j]) top = std::max(top, u(j));
      terms.push_back(row.score[0]);
      for (size_t j = 1; j < all; ++j) {
        if (row.is_hit[j]) continue;
        terms.push_back(u(j) - std::log(k));
        sum += std::exp(u(j) - top);
        square += std::exp(2 * (u(j) - top));
      }
      log_z = log_sum(terms);
      effective = square > 0 ? sum * sum / square : 0;
      const bool is_snl = p.objective == SELFNORM_SNL;
      const double ratio = is_snl ? std::exp(log_z - b) : 1;
      loss = is_snl ? b - row.score[0] + ratio - 1 : log_z - row.score[0];
      d_b = is_snl ? 1 - ratio : 0;
      double pushed = 0;
      for (size_t j = 0; j < all; ++j) {
        if (j > 0 && row.is_hit[j]) continue;
        d[j] = ratio * std::exp((j == 0 ? row.score[0] : u(j) - std::log(k)) - log_z) - (j == 0 ? 1 : 0);
        pushed += std::max(0.0, d[j]);
      }
      if (p.most_push > 0 && pushed > p.most_push) factor *= p.most_push / pushed;
    }
    out.loss.push_back(loss);
    out.d_b.push_back(d_b);
    out.log_z.push_back(log_z);
    out.effective.push_back(effective);
    out.d_target.push_back(factor * d[0]);
    for (size_t j = 0; j < all; ++j) {
      const int64_t at = row.place[j];
      if (at >= 0) out.d_draw[i * p.draws + at] = factor * d[j];
      const uint32_t c = at < 0 ? p.target[i] : p.draw[p.is_shared ? at : i * p.draws + at];
      out.d_bias[c] += factor * d[j];
      for (int64_t e = 0; e < p.dim; ++e) {
        out.d_states[i * p.dim + e] += factor * d[j] * static_cast<double>(p.weight[c * p.dim + e]);
        out.d_weight[c * p.dim + e] += factor * d[j] * static_cast<double>(p.states[i * p.dim + e]);
      }
    }
  }
  return out;
}

LinearResult linear_reference(const LinearProblem& p) {
  LinearResult out;
  out.gradient.resize((p.columns + 1) * p.classes);
  for (int64_t i = 0; i < p.rows; ++i) {
    std::vector<double> s(p.classes);
    for (int64_t k = 0; k < p.classes; ++k) {
      s[k] = static_cast<double>(p.theta[p.columns * p.classes + k]) +
             (p.carrier.empty() ? 0 : static_cast<double>(p.carrier[k]));
      for (int64_t j = 0; j < p.columns; ++j)
        s[k] += static_cast<double>(p.x[i * p.columns + j]) * static_cast<double>(p.theta[j * p.classes + k]);
    }
    const double a = log_sum(s), own = s[p.target[i]];
    double expected = 0;
    int64_t better = 0;
    for (int64_t k = 0; k < p.classes; ++k) {
      if (std::isfinite(s[k])) expected += std::exp(s[k] - a) * s[k];
      better += s[k] > own || (s[k] == own && k < p.target[i]) ? 1 : 0;
    }
    out.log_z.push_back(a);
    out.expected.push_back(expected);
    out.target_score.push_back(own);
    out.better.push_back(better);
    for (int64_t k = 0; k < p.classes && !p.by_log_z.empty(); ++k) {
      const double d = p.by_log_z[i] * std::exp(s[k] - a) + (k == p.target[i] ? p.by_score[i] : 0);
      for (int64_t j = 0; j < p.columns; ++j)
        out.gradient[j * p.classes + k] += d * static_cast<double>(p.x[i * p.columns + j]);
      out.gradient[p.columns * p.classes + k] += d;
    }
  }
  return out;
}

void adaptive_reference(const selfnorm_adaptive_step& step, double gradient, double often, bool is_bias,
                        double& theta, double& square, double& mean) {
  const double g = gradient + (is_bias ? 0 : step.l2 / often * theta), l1 = is_bias ? 0 : step.l1 / often;
  double move = g, root = 0;
  if (step.is_adam != 0) {
    mean = 0.9 * mean + 0.1 * g;
    square = 0.999 * square + 0.001 * g * g;
    const double t = static_cast<double>(step.step);
    move = mean / (1 - std::pow(0.9, t));
    root = std::sqrt(square / (1 - std::pow(0.999, t)));
  } else {
    square += g * g;
    root = std::sqrt(square);
  }
  const double rate = step.rate / (root + 1e-8);
  theta -= rate * move;
  if (l1 > 0) theta = std::copysign(std::max(0.0, std::abs(theta) - rate * l1), theta);
}

}  // namespace selfnorm::gpu
