// A network energy. With a_0 = x, or (x, cos Bx, sin Bx), and f the activation,
//     z_l = W_l a_{l-1} + c_l,   a_l = f(z_l)   (residual: a_{l-1} + f(z_l) between equal widths),
//     s(x) = w . a_L,
// without a last bias, which would alias log Z. theta holds B (F x d), then W_l (row-major, out x in) and c_l
// of every layer, then w. Inputs are standardised by the caller (model/energy/density_file.h).
#pragma once

#include "selfnorm/model/energy/energy.h"
#include "selfnorm/model/energy/mlp_options.h"

namespace selfnorm {

std::unique_ptr<Energy> make_mlp(uint32_t dimension, const MlpOptions& options, uint64_t seed);
std::unique_ptr<Energy> make_mlp(const EnergyRecord& record);

}  // namespace selfnorm
