// How two models of the same outputs differ on a block of examples: multiclass by class_moments.h, joint by
// enumeration of each group.
#pragma once

#include "model/model_file.h"
#include "normalizer/class_moments.h"

namespace selfnorm {

HeadDifference model_difference(const ModelFile& p, const ModelFile& q, const Dataset& examples);

}  // namespace selfnorm
