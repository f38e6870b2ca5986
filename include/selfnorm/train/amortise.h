// Fits the amortised normalizer b(x) ~ A(x) - c (model/amortised_normalizer.h) to log-normalizers that were
// computed exactly, by least squares: minimises mean_i (b(x_i) - log_z_i)^2.
//   linear  the least-squares fit of analysis/least_squares.h, fit_for_prediction
//   mlp     that fit, plus a network of the same formula trained by Adam on what the fit leaves over, in
//   units
//           of its standard deviation. Inputs are standardised (sparse ones scaled to |x| <= 1) and the
//           scaling is folded back exactly. The network starts at 0, so the result is never worse than the
//           linear fit on the examples held out, which also choose the epoch that is kept.
// Same options, same data, any number of threads: the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "selfnorm/data/example_source.h"
#include "selfnorm/model/amortised_normalizer.h"

namespace selfnorm {

struct AmortiseProgress {
  uint64_t done = 0, total = 0;        // examples visited, of all visits if no epoch is saved
  uint64_t epoch = 0;                  // 0: the linear fit
  std::optional<double> rms_held_out;  // at the end of an epoch
};

struct AmortiseOptions {
  std::string kind = "linear";  // linear | mlp
  double hold_out = 0.1;        // fraction of the examples, at least one: 0 < .. <= 0.5

  // mlp only
  uint32_t hidden = 64;             // m; 1 .. 65536
  uint64_t epochs = 100;            // at most; >= 1
  uint64_t batch = 128;             // examples a step; >= 1
  double learning_rate = 0.1;       // > 0; over the rms norm of the inputs of each layer
  std::string schedule = "cosine";  // optim/schedule.h
  uint64_t patience = 20;           // epochs without improvement before stopping; 0 never stops early

  uint64_t seed = 0;
  int threads = 0;  // 0 = all cores; the result does not depend on it
  std::function<void(const AmortiseProgress&)> on_progress;

  void validate() const;  // throws Error naming the option, the value and the range
};

// The root mean squares are of A - c - b for `normalizer` as it is.
struct AmortisedFit {
  AmortisedNormalizer normalizer;
  uint64_t examples = 0, held_out = 0;  // fitted to, and measured on alone
  double rms_training = 0;
  double rms_held_out = 0;
  double rms_linear = 0;  // held out, of the linear fit
  uint64_t epochs = 0;    // mlp: completed
  std::string reason;     // why it stopped, in words
};

// log_z: A(x_i) - c for every example of the source, finite. Throws Error when the numbers do not match,
// there are fewer than two examples, or the source holds groups of alternatives.
AmortisedFit fit_amortised(const ExampleSource& source, std::span<const double> log_z,
                           const AmortiseOptions& options);

}  // namespace selfnorm
