// A dense network as model files keep it: kind "dense", its shape as settings, tensors layer<l>.weight,
// layer<l>.bias and embedding<k>.weight.
#pragma once

#include <string>

#include "model/energy/energy.h"
#include "model/network/dense_network.h"

namespace selfnorm {

EnergyRecord record_of(const DenseNetwork& network);

// `what` names the network in errors. Throws Error for shapes out of range, tensors that are missing, of
// another shape or not finite.
DenseNetwork make_dense_network(const EnergyRecord& record, const std::string& what);

}  // namespace selfnorm
