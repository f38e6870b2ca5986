#include "engine/lbfgs_problem.h"

#include <fmt/format.h>

namespace selfnorm {

template <class Real>
void LbfgsProblem<Real>::save(Checkpoint& checkpoint) const {
  const LbfgsState<Real>& state = lbfgs_.state();
  checkpoint.set("lbfgs.iteration", state.iteration);
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
void LbfgsProblem<Real>::restore(const Checkpoint& checkpoint) {
  LbfgsState<Real> state;
  const std::vector<Real> sized(parameters());
  state.x = state.gradient = sized;
  state.iteration = checkpoint.integer("lbfgs.iteration");
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
  lbfgs_.restore(std::move(state));
}

template class LbfgsProblem<float>;
template class LbfgsProblem<double>;

}  // namespace selfnorm
