// What (a sample of) the held-out data say of a network in training.
#pragma once

#include <cstdint>
#include <span>

#include "family/classifier/network/example_feed.h"
#include "family/classifier/validation.h"
#include "model/model_file.h"

namespace selfnorm {

// Weighted means over examples; of a hierarchical model log Z is 0.
struct NetworkQuality {
  double nll = 0;           // exact
  double log_z = 0;         // A - b, b the part of the normalizer that depends on h
  double log_z_square = 0;  // its square

  // With the constant c subtracted.
  ValidationMeasure about(double c) const {
    return {nll, log_z, log_z_square - 2 * c * log_z + c * c, log_z_square - log_z * log_z};
  }
};
NetworkQuality network_quality(const ModelFile& model, const ExampleBatch& examples);

// At most kValidationExamples, chosen at random once; none of none.
ExampleBatch validation_examples(const ExampleFeed* valid, uint64_t seed);

// The NLL of the frequencies (n_k + 1) / sum_j (n_j + 1), which is where training starts.
double frequency_nll(const ExampleBatch& examples, std::span<const uint64_t> counts);

}  // namespace selfnorm
