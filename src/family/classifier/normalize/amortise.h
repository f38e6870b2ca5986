// Fits the amortised normalizer b(x) ~ A(x) - c (model/model_file.h) to log-normalizers that
// were computed exactly, by least squares: minimises mean_i (b(x_i) - log_z_i)^2.
//   linear  the least-squares fit of audit/gauge.h, fit_for_prediction; the mean of log_z alone (slope 0)
//           where that is better on the examples held out
//   mlp     that fit, plus a network trained on what the fit leaves over (train_normalizer). The
//           network starts at 0 and the examples held out choose its epoch, so on them the result is never
//           worse than the linear fit.
// Same options, same data, any number of threads: the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "model/model_file.h"

namespace selfnorm {

// Trains the network of an amortised normalizer (model/normalizer_network.h) by Adam on minibatches:
// minimises mean_i (b(x_i) - value_i)^2 from the start b = 0 (u = v = a = 0, hidden units random), in units
// of the root mean square of the values, on scaled inputs
//     z = (x - mean) / std  for dense x,     z = x / max |x|  for sparse x,
// and folds both back exactly: V z + t = (V / std) x + (t - V mean / std).
struct NormalizerTraining {
  uint32_t hidden = 64;             // m; 0: linear
  uint64_t epochs = 50;             // at most
  uint64_t batch = 128;             // examples a step
  double learning_rate = 0.1;       // over the rms norm of the inputs of each layer
  std::string schedule = "cosine";  // optim/adaptive.h
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

struct AmortiseProgress {
  uint64_t done = 0, total = 0;        // visits of examples; total: if no epoch is saved
  uint64_t epoch = 0;                  // of the network, completed
  std::optional<double> rms_held_out;  // at the end of an epoch
};

struct AmortiseOptions {
  std::string kind = "linear";  // linear | mlp
  double hold_out = 0.1;        // fraction of the examples, at least one of them; 0 < hold_out <= 0.5
  NormalizerTraining network;   // hidden 1..65536, epochs >= 1, batch >= 1, learning_rate > 0
  const AmortisedNormalizer* linear = nullptr;  // the same fit of kind linear, where it is there already
  int threads = 0;                              // 0 = all cores; the result does not depend on it
  std::function<void(const AmortiseProgress&)> on_progress;

  void validate() const;  // throws Error naming the option, the value and the range
};

// The root mean squares are of A - c - b for `normalizer` as it is.
struct AmortisedFit {
  AmortisedNormalizer normalizer;
  AmortisedNormalizer linear;           // without the network
  uint64_t examples = 0, held_out = 0;  // fitted to, and only measured on
  double rms_training = 0;
  double rms_held_out = 0;
  double rms_linear = 0;    // held out, of the linear fit alone
  double rms_constant = 0;  // held out, of the mean alone
  uint64_t epochs = 0;      // of the network
  std::string reason;       // why training stopped, in words; empty when there was none
};

// log_z: A(x_i) - c for every example of the source. Throws Error when the numbers do not match or one is not
// finite, when there are fewer than two examples, and when the source holds groups of alternatives.
AmortisedFit fit_amortised(const ExampleSource& source, std::span<const double> log_z,
                           const AmortiseOptions& options);

}  // namespace selfnorm
