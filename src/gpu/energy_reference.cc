#include "gpu/energy_reference.h"

#include <algorithm>

namespace selfnorm::gpu {

EnergyReference::EnergyReference(const selfnorm_energy_plan& plan) : plan_(plan), layout_(plan) {
  const auto n = static_cast<size_t>(layout_.parameters);
  for (std::vector<float>* values : {&theta, &mean, &square, &remembered}) values->resize(n);
  gradient.resize(n);
}

int32_t EnergyReference::run(const selfnorm_energy_run_of& steps) {
  const int64_t points = plan_.rows + plan_.samples;
  for (int32_t i = 0; i < steps.steps; ++i) {
    const selfnorm_energy_at& at = steps.at[i];
    if (at.is_continued == 0) {
      sums_ = EnergySums::none();
      std::ranges::fill(gradient, 0.0);
      for (int64_t p = 0; p < points; ++p) {
        const int64_t place = i * points + p;
        point(steps.points + place * plan_.inputs, at.is_warm == 0, [&](double score) {
          return energy_point(plan_, p >= plan_.rows, score, steps.log_q != nullptr ? steps.log_q[place] : 0,
                              state.b, sums_);
        });
      }
    }
    double norm = 0;
    for (const double g : gradient) norm += g * g;
    selfnorm_energy_record unused = {};
    const EnergyMove move =
        energy_move(plan_, sums_, norm, at, state, at.is_continued != 0 ? unused : steps.records[i]);
    if (move.remembers) remembered = theta;
    if (move.event != SELFNORM_STEP_MOVED) return i + 1;
    if (at.is_warm != 0) continue;
    const auto correction = [&](double decay) {
      return static_cast<float>(1 / (1 - pow(decay, state.steps)));
    };
    for (size_t j = 0; j < theta.size(); ++j)
      adam_move(static_cast<float>(move.clipping * gradient[j]), static_cast<float>(move.rate),
                static_cast<float>(1 - move.rate * plan_.decay), correction(0.9), correction(0.999), theta[j],
                mean[j], square[j]);
  }
  return steps.steps;
}

}  // namespace selfnorm::gpu
