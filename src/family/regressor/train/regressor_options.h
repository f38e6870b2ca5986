// Everything the training of a regressor can be told.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "data/table/frame.h"
#include "data/table/target_ends.h"
#include "model/energy/energy.h"

namespace selfnorm {

struct RegressorOptions {
  // snl | is | nce | ranking-nce | nce+ | kld-is | mcmc | sm | dsm | mdn (theory.md 3, experiments.md)
  std::string objective = "snl";

  // {0}: by the number of rows, and features by a race.
  std::vector<uint32_t> features = {0};    // widths of h(x); none: linear in x
  std::vector<uint32_t> joint = {48, 48};  // widths of the tilt f(x, y); the first is that of the context
  std::vector<uint32_t> normalizer = {0};  // hidden widths of b(x)
  std::string activation = "silu";
  bool own_features = false;                 // the tilt has features of its own
  std::string module;                        // TorchScript file of h(x); empty: dense
  EmbeddedCode code = EmbeddedCode::refuse;  // of the module
  uint32_t components = 8;                   // of the mixture; 1: a Gaussian
  bool shared_scale = false;                 // the scales of the mixture do not depend on x
  std::string base = "proposal";             // what f tilts: proposal | broad (the broad component alone)
  double tail_weight = 0.01;                 // of the broad component in the base, in [0, 1)
  double least_scale = 1e-3;                 // of a component, in standard deviations of y; > 0
  double noise_floor = 0;  // standard deviation of noise added to y in training, in the units of y; >= 0

  // Standard deviation of noise added to standardised numbers in training; >= 0; none: by a race.
  std::optional<double> input_noise;
  uint64_t samples = 16;                // of the proposal for every row of a minibatch; >= 1
  double defence = 0.1;                 // weight of the broad component in the proposal, in (0, 1)
  std::string learn_proposal = "data";  // data (likelihood) | kl (to the model) | both

  uint64_t epochs = 0;         // 0: by the number of rows
  uint64_t batch = 0;          // 0: by the number of rows
  double warm_up = 0.2;        // share of the epochs in which the mixture is trained alone; in [0, 1)
  double learning_rate = 0;    // of Adam; 0: by the widths of the features
  double normalizer_rate = 3;  // b's rate over that; > 0
  std::string schedule = "cosine";
  double weight_decay = 1e-2;  // decoupled; >= 0
  double average = 0.998;  // decay of the moving average of the parameters, which is what is kept; in [0, 1)
  double clip = 10;
  uint64_t ramp = 100;    // steps in which the learning rate rises to its value
  uint64_t checks = 40;   // validations in a run
  uint64_t patience = 0;  // checks without improvement before stopping; 0: all epochs, the best is kept
  uint64_t langevin_steps = 16;  // mcmc
  double langevin_step = 0.05;   // mcmc, in standard deviations of y
  double noise = 0.1;            // dsm: sigma; kld-is, nce+: see family/regressor/train/regressor_step.h
  uint64_t ensemble = 0;         // members, each with validation rows of its own; 0: by the number of rows
  bool calibrate = true;         // at the end b is fitted to exact A at and around training inputs
  bool temperature = true;       // at the end a temperature is fitted on held-out rows (RegressorNetworks)

  // Columns that are levels although most of their values are numbers; in others a rare text is an error.
  std::vector<std::string> categorical;
  std::vector<double> lower, upper;  // support of y, in its units: one a coordinate, may be infinite; or none

  std::string target_kind = "number";  // number | count | ordinal (data/table/target_ends.h)
  std::string target_high;  // column of the upper ends of targets, whose own is that of the lower ones
  std::string weight;       // column of the weights of rows; empty: all count alike

  uint64_t seed = 0;
  int threads = 0;

  // The one target, or the first.
  TargetColumns target(const std::string& name) const {
    return {name, target_high, target_high.empty() ? target_kind : "interval"};
  }
  void validate() const;  // throws Error naming the option, the value and the range
};

OptionTable regressor_option_table(RegressorOptions& o);

// What is left to the number of training rows, by rules of thumb. What a race would choose is as it starts.
RegressorOptions resolved_by_rows(RegressorOptions options, uint64_t rows);

// The training of a regressor in words: what its model records of it, and what tells it from other runs.
// Nothing that depends on the clock or the machine enters.

std::string regressor_objective_json(const RegressorOptions& options);
std::string regressor_training_json(const RegressorOptions& options, const std::string& reason, uint64_t rows,
                                    uint64_t steps);
// A hash of everything the bits of the result depend on.
std::string regressor_fingerprint(const Frame& frame, const std::vector<std::string>& targets,
                                  std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                                  const RegressorOptions& options);

}  // namespace selfnorm
