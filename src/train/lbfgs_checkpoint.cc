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
LbfgsState<Real> restored_state(const Checkpoint& checkpoint) {
  LbfgsState<Real> state;
  state.iteration = checkpoint.integer("step");
  state.evaluations = checkpoint.integer("lbfgs.evaluations");
  state.first_norm = checkpoint.number("lbfgs.first_norm");
  state.value = checkpoint.number("lbfgs.value");
  checkpoint.get("lbfgs.x", state.x);
  checkpoint.get("lbfgs.gradient", state.gradient);
  state.s.resize(checkpoint.integer("lbfgs.pairs"));
  state.y.resize(state.s.size());
  for (size_t i = 0; i < state.s.size(); ++i) {
    checkpoint.get(fmt::format("lbfgs.s{}", i), state.s[i]);
    checkpoint.get(fmt::format("lbfgs.y{}", i), state.y[i]);
  }
  checkpoint.get("lbfgs.rho", state.rho);
  checkpoint.get("lbfgs.recent_values", state.recent_values);
  return state;
}

template void save_state(const LbfgsState<float>&, Checkpoint&);
template void save_state(const LbfgsState<double>&, Checkpoint&);
template LbfgsState<float> restored_state(const Checkpoint&);
template LbfgsState<double> restored_state(const Checkpoint&);

}  // namespace selfnorm
