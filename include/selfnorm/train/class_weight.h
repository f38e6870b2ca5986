// Class weights multiply the weights of the examples.
//     "balanced": n / (K n_k) for class k;     "a=2,b=0.5": as given, 1 for the others.
#pragma once

#include <string>

#include "selfnorm/data/dataset.h"

namespace selfnorm {

// The weights come from `train` and apply to both. Throws Error for an unknown label, a bad number, or joint
// data.
void apply_class_weight(const std::string& spec, Dataset& train, Dataset* valid);

}  // namespace selfnorm
