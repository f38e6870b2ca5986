// The restricted Boltzmann machine with its hidden units summed out: binary v of dimension d, H hidden units,
//     s(v) = a . v + sum_h softplus(c_h + w_h . v),   ds/da = v,  ds/dc_h = sigma(c_h + w_h . v),
//     ds/dw_h = sigma(c_h + w_h . v) v.
// Not an exponential family in theta = (a, c, W row-major H x d), but exact where the points can be
// enumerated. W starts N(0, 0.01^2) (Hinton 2012, A practical guide), a and c at 0.
#pragma once

#include "model/energy/energy.h"

namespace selfnorm {

struct RbmOptions {
  uint32_t dimension = 1, hidden = 64;  // each 1 .. 65536
  uint64_t seed = 0;
};

std::unique_ptr<Energy> make_rbm(const RbmOptions& options);   // throws Error naming what is out of range
std::unique_ptr<Energy> make_rbm(const EnergyRecord& record);  // throws Error when it is damaged

}  // namespace selfnorm
