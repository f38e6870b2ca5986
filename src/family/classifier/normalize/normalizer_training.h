// Trains the network of an amortised normalizer (model/normalizer_network.h) by Adam on minibatches:
// minimises mean_i (b(x_i) - value_i)^2 from the start b = 0 (u = v = a = 0, hidden units random), in units
// of the root mean square of the values, on scaled inputs
//     z = (x - mean) / std  for dense x,     z = x / max |x|  for sparse x,
// and folds both back exactly: V z + t = (V / std) x + (t - V mean / std).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "model/head/amortised_normalizer.h"

namespace selfnorm {

struct NormalizerTraining {
  uint32_t hidden = 64;             // m; 0: linear
  uint64_t epochs = 50;             // at most
  uint64_t batch = 128;             // examples a step
  double learning_rate = 0.1;       // over the rms norm of the inputs of each layer
  std::string schedule = "cosine";  // optim/schedule.h
  uint64_t patience = 20;           // epochs without improvement before stopping; 0 never stops early
  uint64_t seed = 0;
};

struct NormalizerExamples {
  const ExampleSource& source;
  std::span<const uint64_t> training, held_out;
  std::span<const double> value;  // one per example of the source
};

struct TrainedNormalizer {
  AmortisedNormalizer normalizer;  // of the best epoch on the examples held out; none: 0 was better
  uint64_t epochs = 0;             // completed
  std::string reason;              // why it stopped, in words
};

// After every minibatch: the examples visited; at the end of an epoch also the root mean square error on the
// examples held out.
using EpochObserver = std::function<void(uint64_t visited, std::optional<double> rms_held_out)>;

TrainedNormalizer train_normalizer(const NormalizerExamples& examples, const NormalizerTraining& training,
                                   const EpochObserver& observer);

}  // namespace selfnorm
