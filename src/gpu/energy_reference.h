// Training of a network energy on the host, in double, one point after the other: what the kernels of
// energy_step.cu are compared with, and what the emulated device runs.
#pragma once

#include <span>
#include <vector>

#include "gpu/energy_formula.h"

namespace selfnorm::gpu {

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
