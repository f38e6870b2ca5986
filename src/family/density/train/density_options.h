// Everything the training of a density can be told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "data/points/point_source.h"
#include "model/energy/density_file.h"
#include "model/energy/energy.h"
#include "model/energy/mlp.h"
#include "proposal/density/make_density.h"
#include "selfnorm/progress.h"

namespace selfnorm {

struct DensityOptions {
  std::string energy = "auto";               // a word of model/energy/make_energy.h; auto: mlp:128,128
  EmbeddedCode code = EmbeddedCode::refuse;  // of an energy FILE.pt
  MlpOptions mlp;                            // widths are in `energy`
  std::string fourier = "auto";  // mlp: number of Fourier features; auto: 64 up to 3 dimensions, else 0
  std::string base = "auto";     // proposal: the energy tilts it | none; auto: proposal for mlp and modules,
                                 // none for exponential families

  // snl | is | nce | ranking-nce | cd | pcd | dsm | ssm | sm | pseudo-likelihood (theory.md 3)
  std::string objective = "snl";
  std::string normalizer = "constant";  // snl, nce: b is a learned constant, or zero
  std::string proposal =
      "auto";  // a word of proposal/density/make_density.h; auto: chosen on held-out rows (choose_density.h)
  FitOptions fit;
  std::string learn_proposal = "none";  // none | data (likelihood) | kl (to the model) | both
  uint64_t samples = 1024;              // from the proposal at each step; pcd: chains; >= 1

  // adam: minibatches; auto: exponential families with snl exactly where they can be
  // (family/density/train/density_trainer.h, then nothing of the steps below applies), otherwise adam
  std::string optimiser = "auto";
  uint64_t steps = 4000;            // >= 1
  uint64_t batch = 0;               // rows per step; 0: by the energy (resolved_steps)
  double learning_rate = 0;         // of Adam; 0: by the energy
  double normalizer_rate = 10;      // b's learning rate over that of the energy; > 0
  uint64_t normalizer_steps = 200;  // steps at the start that move b alone
  std::string schedule = "cosine";
  double clip = 10;              // largest norm of the gradient of the energy; > 0
  double weight_decay = 0;       // decoupled; >= 0
  double drift = 1;              // b is estimated anew when the running mean of log r exceeds it; > 0
  uint64_t langevin_steps = 20;  // cd, pcd: per step; >= 1
  double langevin_step =
      0.1;  // cd, pcd: standard deviation of the noise, in those of the data when they are standardised; > 0
  double noise = 0.1;     // dsm: sigma, in standard deviations of the data when they are standardised; > 0
  uint64_t slices = 1;    // ssm: random directions; >= 1
  uint64_t patience = 5;  // validation checks (20 in all) without improvement before stopping; 0: all steps;
                          // of either the best check is kept
  bool calibrate = true;  // at the end b is estimated from many samples; false: as trained

  bool standardise = true;            // real data: (x - mean) / std of the training rows
  std::vector<std::string> periodic;  // real data: "COLUMN=PERIOD" of columns that are angles
  PointGeometry geometry;             // as resolve_geometry found it; no option
  std::string space = "auto";  // real | binary | categorical | counts | torus | sphere; auto: that of an
                               // exponential family or rbm; for others binary when every value is 0 or 1
  std::vector<double> lower, upper;  // real data: the box they are in, in their units; empty: none

  uint64_t seed = 0;
  int threads = 0;

  void validate() const;  // throws Error naming the option, the value and the range
};

OptionTable density_option_table(DensityOptions& o);

// What is left to the energy: 512 rows and a rate of 1e-3, of an autoregressive one 128 and 5e-3.
DensityOptions resolved_steps(DensityOptions options);
bool is_autoregressive(const std::string& energy);
// Throws Error for options and data that an autoregressive energy cannot take.
void check_autoregressive(const DensityOptions& options, const Support& space, bool has_intervals);

// How rows become points with `space` and `periodic`, from the data. Whoever trains wraps its source in
// directed_points with it. Throws Error for data that do not fit.
PointGeometry resolve_geometry(const DensityOptions& options, const PointSource& data);

// The training of a density in words: what its model records of it, and what tells it from other runs.
// Nothing that depends on the clock or the machine enters.

// Optimisers are named where they are not Adam.
std::string density_objective_json(const DensityOptions& options);
std::string density_training_json(const DensityOptions& options, const std::string& reason, uint64_t rows,
                                  const Progress& last);
// Both, into a model.
void record_training(const DensityOptions& options, const std::string& reason, uint64_t rows,
                     const Progress& last, DensityModel& model);
// The GPU that took the steps.
void note_device(const std::string& name, DensityModel& model);
// Of everything the bits of the result depend on (engine/checkpoint.h).
std::string density_fingerprint(const PointSource& data, std::span<const uint64_t> train_rows,
                                std::span<const uint64_t> valid_rows, const DensityOptions& options);

}  // namespace selfnorm
