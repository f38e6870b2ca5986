// The state of an adaptive optimiser in a checkpoint, under NAME.step, NAME.square and NAME.mean.
#pragma once

#include <string>

#include "selfnorm/optim/adaptive.h"
#include "selfnorm/train/checkpoint.h"

namespace selfnorm {

template <class Real>
void save_adaptive(const Adaptive<Real>& optimiser, const std::string& name, Checkpoint& c) {
  c.set(name + ".step", optimiser.state().step);
  c.set(name + ".square", optimiser.state().square);
  c.set(name + ".mean", optimiser.state().mean);
}

template <class Real>
void restore_adaptive(const Checkpoint& c, const std::string& name, Adaptive<Real>& optimiser) {
  AdaptiveState<Real> state = optimiser.state();
  state.step = c.integer(name + ".step");
  c.get(name + ".square", state.square);
  c.get(name + ".mean", state.mean);
  optimiser.restore(std::move(state));
}

}  // namespace selfnorm
