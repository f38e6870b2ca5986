// Whether the certificates of a model's ladder still hold on inputs of today (RungDrift of
// audit/rung_certificate.h).
#pragma once

#include <vector>

#include "audit/rung_certificate.h"
#include "data/example_source.h"
#include "model/model_file.h"

namespace selfnorm {

// Of the rungs that have a certificate.
std::vector<RungDrift> ladder_drift(const ModelFile& model, const ExampleSource& inputs);

}  // namespace selfnorm
