// Whether the certificates of a model's ladder still hold: on inputs of today, how many errors are beyond
// what was certified. A certificate is in doubt when that many would be seen with a probability below 1 -
// confidence if it held.
#pragma once

#include <string>
#include <vector>

#include "data/example_source.h"
#include "model/model_file.h"

namespace selfnorm {

struct RungDrift : Rung {
  uint64_t inputs = 0, exceeded = 0;  // |A - a| > eps
  double rho_least = 0;  // with the confidence of the certificate at least this share of inputs exceeds eps

  bool has_drifted() const { return rho_least > rho; }
};

// Of the rungs that have a certificate.
std::vector<RungDrift> ladder_drift(const ModelFile& model, const ExampleSource& inputs);

}  // namespace selfnorm
