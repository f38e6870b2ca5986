// One step of training a network energy against draws (theory.md 3), as the device takes it and as its
// referee does: the activation, what a point adds to the loss, and what follows from the sums of a step. What
// is decided here is what family/density/train decides on the CPU. The referee is on the host, in double, one
// point after the other: what the kernels of energy_step.cu are compared with, and what the emulated device
// runs.
#pragma once

#include <math.h>

#include <span>
#include <vector>

#include "gpu/module.h"
#include "gpu/row_formula.h"

namespace selfnorm::gpu {

// f(z) and f'(z); the numbers are those of math/activation.h.
enum { kSilu = 0, kRelu = 1, kTanh = 2, kSoftplus = 3, kGelu = 4 };
template <class Real>
struct Activated {
  Real value, slope;
};
template <class Real>
SELFNORM_BOTH Activated<Real> activated(int f, Real z) {
  if (f == kRelu) return {z > 0 ? z : 0, z > 0 ? Real{1} : Real{0}};
  if (f == kTanh) {
    const Real t = tanh(z);
    return {t, 1 - t * t};
  }
  if (f == kGelu) {
    const Real cdf = Real(0.5) * (1 + erf(z * Real(0.7071067811865476)));
    return {z * cdf, cdf + z * Real(0.3989422804014327) * exp(Real(-0.5) * z * z)};
  }
  const Real e = exp(-fabs(z)), sigma = (z >= 0 ? 1 : e) / (1 + e);
  if (f == kSoftplus) return {(z > 0 ? z : 0) + log1p(e), sigma};
  return {z * sigma, sigma * (1 + z * (1 - sigma))};
}

// Sums over points of a step. Of draws, with u = s - log q:  max, sum exp(u - max), sum exp(2 (u - max)).
struct EnergySums {
  double loss, d_b;
  double max, sum, square;

  static SELFNORM_BOTH EnergySums none() { return {0, 0, -INFINITY, 0, 0}; }
  SELFNORM_BOTH void merge(const EnergySums& other) {
    loss += other.loss;
    d_b += other.d_b;
    if (other.sum == 0 && !(other.max != other.max)) return;
    const double top = other.max > max || other.max != other.max ? other.max : max;
    const double mine = sum == 0 ? 0 : exp(max - top), its = exp(other.max - top);
    sum = mine * sum + its * other.sum;
    square = mine * mine * square + its * its * other.square;
    max = top;
  }
};

// A point's part of the loss with u = s - log q, and its derivative by s:
//     snl   data: (b - s)/n, -1/n;   draws: exp(u - b)/k, which is its own derivative
//     nce   with v = u - b - log k:  data: softplus(-v)/n, -sigma(-v)/n;   draws: softplus(v), sigma(v).
SELFNORM_BOTH double energy_point(const selfnorm_energy_plan& plan, bool is_draw, double score, double log_q,
                                  double b, EnergySums& sums) {
  const double n = plan.rows, k = plan.samples, u = score - log_q;
  if (plan.objective == SELFNORM_SNL) {
    if (!is_draw) {
      sums.loss += (b - score) / n;
      return -1 / n;
    }
    sums.merge({0, 0, u, 1, 1});
    return exp(u - b) / k;
  }
  const double v = u - b - log(k), e = exp(-fabs(v)), sigma = (v >= 0 ? 1 : e) / (1 + e);
  if (is_draw) {
    sums.loss += (v > 0 ? v : 0) + log1p(e);
    sums.d_b -= sigma;
    return sigma;
  }
  const double wrong = (v >= 0 ? e : 1) / (1 + e);
  sums.loss += ((v < 0 ? -v : 0) + log1p(e)) / n;
  sums.d_b += wrong / n;
  return -wrong / n;
}

struct EnergyMove {
  int event;       // SELFNORM_STEP_*; other than moved: nothing moves
  bool remembers;  // theta, before it moves
  double rate;
  double clipping;  // factor of the gradient
};

// What follows from the sums of step `at` and the squared norm of its gradient. The record is filled, and
// `state` becomes that after the step, or at its event.
SELFNORM_BOTH EnergyMove energy_move(const selfnorm_energy_plan& plan, const EnergySums& sums,
                                     double square_norm, const selfnorm_energy_at& at,
                                     selfnorm_energy_state& state, selfnorm_energy_record& record) {
  EnergyMove out = {SELFNORM_STEP_MOVED, false, at.rate, 1};
  const double norm = sqrt(square_norm);
  if (norm > plan.clip) out.clipping = plan.clip / norm;
  if (!at.is_continued) {
    const bool is_snl = plan.objective == SELFNORM_SNL;
    const double log_z = sums.max + log(sums.sum) - log(static_cast<double>(plan.samples));
    const double ratio = exp(log_z - state.b);
    record.loss = is_snl ? sums.loss + ratio - 1 : sums.loss;
    record.log_z = log_z;
    record.effective = sums.square > 0 ? sums.sum * sums.sum / sums.square : 0;
    record.norm = norm;
    record.b = state.b;
    state.d_b = is_snl ? 1 - ratio : sums.d_b;
    if (!isfinite(record.loss) || !isfinite(square_norm)) out.event = SELFNORM_STEP_DIVERGED;
    if (out.event == SELFNORM_STEP_MOVED && is_snl && plan.is_guarded && !at.is_warm) {
      const double share = record.effective / plan.samples;
      state.guard_mean += plan.guard_rate * (share - state.guard_mean);
      out.rate *= state.guard_scale * (share < plan.healthy ? share / plan.healthy : 1);
      out.remembers = state.guard_mean >= plan.healthy && at.step % plan.remember_every == 0;
      if (state.guard_mean < plan.lost) out.event = SELFNORM_STEP_LOST;
    }
    if (out.event == SELFNORM_STEP_MOVED && is_snl) {
      state.mean_ratio = plan.memory * state.mean_ratio + (1 - plan.memory) * (log_z - state.b);
      if (plan.is_learned && fabs(state.mean_ratio) > plan.drift) out.event = SELFNORM_STEP_DRIFTED;
    }
    record.rate = out.rate;
    record.event = out.event;
    if (out.remembers) state.is_remembered = 1;
  }
  if (out.event != SELFNORM_STEP_MOVED) {
    state.is_halted = 1;
    return out;
  }
  if (!at.is_warm) state.steps += 1;
  if (plan.is_learned) {
    state.b_steps += 1;
    state.b_mean = 0.9 * state.b_mean + 0.1 * state.d_b;
    state.b_square = 0.999 * state.b_square + 0.001 * state.d_b * state.d_b;
    const double mean = state.b_mean / (1 - pow(0.9, state.b_steps));
    const double square = state.b_square / (1 - pow(0.999, state.b_steps));
    state.b -= plan.normalizer_rate * out.rate * mean / (sqrt(square) + 1e-8);
  }
  return out;
}

// Adam on one parameter with decoupled decay; the corrections are 1 / (1 - beta^t).
SELFNORM_BOTH void adam_move(float gradient, float rate, float keep, float mean_correction,
                             float square_correction, float& theta, float& mean, float& square) {
  mean = 0.9f * mean + (1 - 0.9f) * gradient;
  square = 0.999f * square + (1 - 0.999f) * gradient * gradient;
  theta = keep * theta - rate * (mean * mean_correction) / (sqrtf(square * square_correction) + 1e-8f);
}

// Where the parameters of a network are in theta (model/energy/mlp.h): B, then W and c of every layer, then
// w.
struct EnergyLayout {
  int32_t width[SELFNORM_MOST_LAYERS + 1];  // of a_0 .. a_L
  int32_t weight[SELFNORM_MOST_LAYERS], bias[SELFNORM_MOST_LAYERS];
  int32_t output, parameters;

  explicit EnergyLayout(const selfnorm_energy_plan& plan) {
    width[0] = plan.inputs + 2 * plan.fourier;
    int32_t place = plan.fourier * plan.inputs;
    for (int32_t l = 0; l < plan.layers; ++l) {
      width[l + 1] = plan.widths[l];
      weight[l] = place;
      bias[l] = place + width[l] * width[l + 1];
      place = bias[l] + width[l + 1];
    }
    output = place;
    parameters = place + width[plan.layers];
  }
};

class EnergyReference {
 public:
  explicit EnergyReference(const selfnorm_energy_plan& plan);

  std::vector<float> theta, mean, square, remembered;
  std::vector<double> gradient;  // of the last step
  selfnorm_energy_state state = {};

  // How many steps were taken.
  int32_t run(const selfnorm_energy_run_of& steps);
  // s(x); gradient += d ds/dtheta with the d that `derivative` makes of s.
  template <class Derivative>
  double point(const float* x, bool goes_back, const Derivative& derivative);

 private:
  selfnorm_energy_plan plan_;
  EnergyLayout layout_;
  EnergySums sums_ = EnergySums::none();
};

template <class Derivative>
double EnergyReference::point(const float* x, bool goes_back, const Derivative& derivative) {
  const int32_t d = plan_.inputs, f = plan_.fourier, layers = plan_.layers;
  std::vector<std::vector<double>> a(static_cast<size_t>(layers) + 1), slope(a.size());
  a[0].assign(x, x + d);
  std::vector<double> phase(static_cast<size_t>(f));
  for (int32_t i = 0; i < f; ++i)
    for (int32_t j = 0; j < d; ++j) phase[i] += static_cast<double>(theta[i * d + j]) * x[j];
  for (const double p : phase) a[0].push_back(cos(p));
  for (const double p : phase) a[0].push_back(sin(p));
  const auto is_residual = [&](int32_t l) {
    return plan_.is_residual != 0 && l > 0 && layout_.width[l] == layout_.width[l + 1];
  };
  for (int32_t l = 0; l < layers; ++l) {
    const int32_t in = layout_.width[l];
    for (int32_t o = 0; o < layout_.width[l + 1]; ++o) {
      double z = theta[layout_.bias[l] + o];
      for (int32_t i = 0; i < in; ++i)
        z += static_cast<double>(theta[layout_.weight[l] + o * in + i]) * a[l][i];
      const Activated<double> y = activated(plan_.activation, z);
      a[l + 1].push_back(y.value + (is_residual(l) ? a[l][o] : 0));
      slope[l + 1].push_back(y.slope);
    }
  }
  double score = 0;
  for (int32_t o = 0; o < layout_.width[layers]; ++o)
    score += static_cast<double>(theta[layout_.output + o]) * a[layers][o];
  const double by_score = derivative(score);
  if (!goes_back) return score;
  std::vector<double> delta;
  for (int32_t o = 0; o < layout_.width[layers]; ++o) {
    delta.push_back(by_score * static_cast<double>(theta[layout_.output + o]));
    gradient[layout_.output + o] += by_score * a[layers][o];
  }
  for (int32_t l = layers - 1; l >= 0; --l) {
    const int32_t in = layout_.width[l];
    std::vector<double> below(static_cast<size_t>(in));
    for (int32_t o = 0; o < layout_.width[l + 1]; ++o) {
      const double local = delta[o] * slope[l + 1][o];
      gradient[layout_.bias[l] + o] += local;
      for (int32_t i = 0; i < in; ++i) {
        gradient[layout_.weight[l] + o * in + i] += local * a[l][i];
        below[i] += local * static_cast<double>(theta[layout_.weight[l] + o * in + i]);
      }
      if (is_residual(l)) below[o] += delta[o];
    }
    delta = below;
  }
  for (int32_t i = 0; i < f; ++i) {
    const double by_phase = -sin(phase[i]) * delta[d + i] + cos(phase[i]) * delta[d + f + i];
    for (int32_t j = 0; j < d; ++j) gradient[i * d + j] += by_phase * x[j];
  }
  return score;
}

}  // namespace selfnorm::gpu
