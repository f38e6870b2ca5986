// The state of L-BFGS in a checkpoint, and back with the same bits.
#pragma once

#include "selfnorm/optim/lbfgs.h"
#include "selfnorm/train/checkpoint.h"

namespace selfnorm {

template <class Real>
void save_state(const LbfgsState<Real>& state, Checkpoint& checkpoint);

// Of so many parameters.
template <class Real>
LbfgsState<Real> restored_state(const Checkpoint& checkpoint, size_t parameters);

}  // namespace selfnorm
