// Why a log Z is not to be trusted, and what can be done about it where the model and the method allow it.
#pragma once

#include <string>

#include "model/energy/energy.h"
#include "normalizer/log_z_estimate.h"

namespace selfnorm {

// importance, annealed: too few effective samples; importance: a heavy tail of weights
// (ParetoTail); all: an interval wider than 1 nat. Empty: nothing of that.
std::string log_z_doubt(const LogZEstimate& z, const Energy& energy, double least_effective);

// Two intervals that exclude each other: the values differ by more than 0.01 nat and more than the error of
// the one and twice that of the other, which is drawn. Empty: they do not.
std::string log_z_contradiction(const LogZEstimate& computed, const LogZEstimate& drawn);

}  // namespace selfnorm
