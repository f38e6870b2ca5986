#include "selfnorm/train/lbfgs_checkpoint.h"

#include <fmt/format.h>

namespace selfnorm {

template <class Real>
void save_state(const LbfgsState<Real>& state, Checkpoint& checkpoint) {
  checkpoint.set("step", state.iteration);
  checkpoint.set("lbfgs.evaluations", state.evaluations);
  checkpoint.set("lbfgs.first_norm", state.first_norm);
  checkpoint.set("lbfgs.value", state.value);
  checkpoint.set("lbfgs.x", state.x);
  checkpoint.set("lbfgs.gradient", state.gradient);
  checkpoint.set("lbfgs.pairs", static_cast<uint64_t>(state.s.size()));
  for (size_t i = 0; i < state.s.size(); ++i) {
    checkpoint.set(fmt::format("lbfgs.s{}", i), state.s[i]);
    checkpoint.set(fmt::format("lbfgs.y{}", i), state.y[i]);
  }
  checkpoint.set("lbfgs.rho", state.rho);
  checkpoint.set("lbfgs.recent_values", state.recent_values);
}

template <class Real>
LbfgsState<Real> restored_state(const Checkpoint& checkpoint, size_t parameters) {
  LbfgsState<Real> state;
  const std::vector<Real> sized(parameters);
  state.x = state.gradient = sized;
  state.iteration = checkpoint.integer("step");
  state.evaluations = checkpoint.integer("lbfgs.evaluations");
  state.first_norm = checkpoint.number("lbfgs.first_norm");
  state.value = checkpoint.number("lbfgs.value");
  checkpoint.get("lbfgs.x", state.x);
  checkpoint.get("lbfgs.gradient", state.gradient);
  const uint64_t pairs = checkpoint.integer("lbfgs.pairs");
  for (uint64_t i = 0; i < pairs; ++i) {
    checkpoint.get(fmt::format("lbfgs.s{}", i), state.s.emplace_back(sized));
    checkpoint.get(fmt::format("lbfgs.y{}", i), state.y.emplace_back(sized));
  }
  state.rho.resize(pairs);
  checkpoint.get("lbfgs.rho", state.rho);
  checkpoint.get("lbfgs.recent_values", state.recent_values);
  return state;
}

template void save_state(const LbfgsState<float>&, Checkpoint&);
template void save_state(const LbfgsState<double>&, Checkpoint&);
template LbfgsState<float> restored_state(const Checkpoint&, size_t);
template LbfgsState<double> restored_state(const Checkpoint&, size_t);

}  // namespace selfnorm
