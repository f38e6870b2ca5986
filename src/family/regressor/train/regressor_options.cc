#include "family/regressor/train/regressor_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "engine/checkpoint.h"
#include "math/activation.h"
#include "objective/registry.h"
#include "optim/adaptive.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kWidest = 4096, kMost = 1e5, kMostRows = 1e6;
constexpr double kUsualSteps = 3000, kLeastEpochs = 30, kUsualNoise = 0.02, kUsualRate = 0.01,
                 kUsualWidth = 64;
constexpr uint64_t kManyRows = 4000, kVeryManyRows = 20'000;

void require_layers(const char* name, const std::vector<uint32_t>& widths, size_t least) {
  require_range(widths.size() >= least && widths.size() <= 16, name, static_cast<double>(widths.size()),
                least == 0 ? "0 to 16 layers" : "1 to 16 layers");
  if (widths.size() > 1 && std::ranges::count(widths, 0u) > 0)
    throw_error(
        "{} has a layer of width 0 among {}; expected 0 alone, which leaves them to the rows, or widths "
        "of 1 and more",
        name, widths.size());
}

bool is_open(const std::vector<uint32_t>& widths) { return widths == std::vector<uint32_t>{0}; }

void add_target(RegressorOptions& o, OptionTable& table) {
  table.add("categorical", &o.categorical, "Columns of levels that look like numbers");
  table.add("lower", &o.lower,
            "Lower end of the support of the target: a number, or one a target, X,X,...; -inf: no end");
  table.add("upper", &o.upper, "Upper end of the support; inf: no end");
  table
      .add("target-kind", &o.target_kind,
           "What the target is: a number, a count 0, 1, 2, ..., or an ordinal level, a whole number")
      .one_of({"number", "count", "ordinal"})
      .only(o.target_high.empty(), "targets of one column", option_text("target-high", o.target_high));
  table.add(
      "target-high", &o.target_high,
      "Column of the upper ends of targets that are known to lie in an interval; missing: right-censored");
  table.add("weight-column", &o.weight,
            "Column of the weights of the rows in training and its checks, 0 or more");
  table
      .add("noise-floor", &o.noise_floor,
           "Standard deviation, in the units of the target, of noise added to it in training; bounds the "
           "likelihood where values repeat")
      .at_least(0);
}

void add_objective(RegressorOptions& o, OptionTable& table) {
  table.add("objective", &o.objective, objective_help("regressor")).one_of(objective_names("regressor"));
  table.add("samples", &o.samples, "Draws from the proposal for every row").in(1, kMost);
  table.add("defensive", &o.defence, "Weight of the broad component in the proposal").above(0).below(1);
  table
      .add("learn-proposal", &o.learn_proposal,
           "The proposal is learned by the likelihood of the data, the divergence from the model, or both")
      .one_of({"data", "kl", "both"});
  table.add("langevin-steps", &o.langevin_steps, "Steps of a chain").in(1, kMost);
  table.add("langevin-step", &o.langevin_step, "Standard deviation of a step's noise, in those of the target")
      .above(0);
  table.add("noise", &o.noise, "Standard deviation of the jitter, in those of the target").above(0);
  table.add("calibrate", &o.calibrate, "b(x) is fitted at the end to exact A(x) of training rows").off_text =
      "Keep b(x) as trained; otherwise it is fitted at the end to exact A(x) of training rows";
  table.add("temperature", &o.temperature, "A temperature of the densities is fitted on held-out rows")
      .off_text =
      "Keep the densities as trained; otherwise a temperature is fitted at the end on held-out rows, where "
      "that helps";
}

void add_networks(RegressorOptions& o, OptionTable& table) {
  table
      .add("features", &o.features,
           "Widths of the feature network of x, N,N,...; none: linear in x; 0: by the rows and a race")
      .in(0, kWidest);
  table.add("joint", &o.joint, "Widths of the score network of x and y").in(1, kWidest);
  table
      .add("normalizer-hidden", &o.normalizer,
           "Hidden widths of b(x); none: linear in the features; 0: by the number of rows")
      .in(0, kWidest);
  table.add("activation", &o.activation, "The function of the layers").one_of(activation_names());
  table.add("own-features", &o.own_features, "The score network has features of its own");
  table.add("module", &o.module, "TorchScript module FILE.pt, from numeric columns to features")
      .of_kind(OptionKind::file);
  table.add("components", &o.components, "Components of the mixture q(y|x)").in(1, 256);
  table.add("shared-scale", &o.shared_scale, "The scales of the mixture do not depend on x");
  table.add("base", &o.base, "What the score network tilts: q(y|x), or a broad density alone")
      .one_of({"proposal", "broad"});
  table
      .add("tail-weight", &o.tail_weight,
           "Weight of a broad density, as wide as the data, that is mixed in (also with mdn): it limits the "
           "loss where a target is far from all predictions, and widens sd and the outermost quantiles a "
           "little")
      .at_least(0)
      .below(1);
  table
      .add("least-scale", &o.least_scale,
           "Smallest standard deviation of a component, in those of the target")
      .above(0)
      .below(10);
  table.add("ensemble", &o.ensemble, "Members, whose densities are averaged; 0: by the number of rows")
      .in(0, 100);
}

void add_steps(RegressorOptions& o, OptionTable& table) {
  table.add("epochs", &o.epochs, "Passes over the rows; 0: by the number of rows").in(0, kMostRows);
  table.add("batch", &o.batch, "Rows per step; 0: by the number of rows").in(0, kMostRows);
  table.add("warm-up", &o.warm_up, "Share of the epochs in which the mixture is trained alone")
      .at_least(0)
      .below(1);
  table.add("learning-rate", &o.learning_rate, "Step size of Adam; 0: 0.01, less for wide features")
      .at_least(0);
  table.add("ramp", &o.ramp, "Steps in which the step size rises to its full value");
  table
      .add("input-noise", &o.input_noise,
           "Standard deviation of noise added to the standardised numbers of x in training; auto: by a race "
           "on "
           "held-out rows")
      .at_least(0);
  table
      .add("normalizer-rate", &o.normalizer_rate, "Learning rate of b(x), as a multiple of the learning rate")
      .above(0);
  table.add("schedule", &o.schedule, "How the step size falls").one_of(schedule_names());
  table.add("weight-decay", &o.weight_decay, "Every step multiplies the parameters by 1 - rate times this")
      .at_least(0);
  table.add("average", &o.average, "Decay of the moving average of the parameters, which is what is kept")
      .at_least(0)
      .below(1);
  table.add("clip", &o.clip, "Largest norm of the gradient").above(0);
  table.add("checks", &o.checks, "Validations in a run").in(1, kMost);
  table.add("patience", &o.patience, "Checks without improvement before stopping; 0 never stops early");
  table.add("seed", &o.seed, "Seed of everything random");
}

// The module by its name alone: a run resumes from any folder, and its model is the same.
nlohmann::ordered_json options_json(RegressorOptions o) {
  o.module = std::filesystem::path(o.module).filename().string();
  return option_record(regressor_option_table(o));
}

}  // namespace

OptionTable regressor_option_table(RegressorOptions& o) {
  OptionTable table;
  add_target(o, table);
  add_objective(o, table);
  add_networks(o, table);
  add_steps(o, table);
  const std::vector<std::string> known = objective_names("regressor");
  if (std::find(known.begin(), known.end(), o.objective) == known.end())
    return table;  // which validate() says
  const bool is_mixture = objective_entry(o.objective).seam == ObjectiveSeam::proposal;
  for (const char* name : {"joint", "normalizer-hidden", "own-features", "base", "warm-up"})
    table.find(name)->only(!is_mixture, "score networks",
                           option_text("objective", o.objective) + ", which is the mixture alone");
  limit_to_objective("regressor", o.objective, table);
  const ObjectiveSeam seam = objective_entry(o.objective).seam;
  table.find("weight-column")
      ->only(seam == ObjectiveSeam::proposal || seam == ObjectiveSeam::candidates,
             "objectives of likelihoods and noise", option_text("objective", o.objective));
  table.find("features")->only(o.module.empty(), "feature networks of ours", option_text("module", o.module));
  return table;
}

RegressorOptions resolved_by_rows(RegressorOptions o, uint64_t rows) {
  if (o.batch == 0) o.batch = rows < 1200 ? 32 : rows < kManyRows ? 64 : rows < kVeryManyRows ? 128 : 512;
  if (o.epochs == 0) {
    const double steps_per_epoch = std::ceil(static_cast<double>(rows) / static_cast<double>(o.batch));
    o.epochs = static_cast<uint64_t>(std::max(kLeastEpochs, std::ceil(kUsualSteps / steps_per_epoch)));
  }
  if (is_open(o.features)) o.features.assign(2, rows < kVeryManyRows ? 64 : 128);
  if (is_open(o.normalizer))
    o.normalizer = rows < kManyRows ? std::vector<uint32_t>{32} : std::vector{64u, 64u};
  if (o.learning_rate == 0) {
    const uint32_t widest = o.features.empty() ? 0 : *std::ranges::max_element(o.features);
    o.learning_rate = kUsualRate * std::min(1.0, std::sqrt(kUsualWidth / widest));
  }
  if (o.ensemble == 0) o.ensemble = rows < kManyRows ? 5 : 1;
  if (!o.module.empty()) o.input_noise = 0;  // numbers of any scale
  if (!o.input_noise) o.input_noise = kUsualNoise;
  return o;
}

void RegressorOptions::validate() const {
  RegressorOptions copy = *this;
  regressor_option_table(copy).validate();
  require_layers("features", features, 0);
  require_layers("joint", joint, 1);
  require_layers("normalizer-hidden", normalizer, 0);
  for (size_t j = 0; j < std::min(lower.size(), upper.size()); ++j)
    if (!(lower[j] < upper[j])) throw Error("lower has to be below upper for every target");
}

std::string regressor_objective_json(const RegressorOptions& options) {
  RegressorOptions o = options;
  return objective_options("regressor", o.objective, regressor_option_table(o)).dump();
}

std::string regressor_training_json(const RegressorOptions& options, const std::string& reason, uint64_t rows,
                                    uint64_t steps) {
  nlohmann::ordered_json out = options_json(options);
  out.update({{"rows", rows}, {"steps_taken", steps}, {"reason", reason}});
  return out.dump();
}

std::string regressor_fingerprint(const Frame& frame, const std::vector<std::string>& targets,
                                  std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                                  const RegressorOptions& options) {
  nlohmann::ordered_json all = options_json(options);
  all["targets"] = targets;
  Fingerprint hash;
  hash.add(all.dump()).add(train_rows).add(valid_rows);
  if (!options.module.empty()) hash.add_file(options.module);
  for (const FrameColumn& column : frame.columns) {
    hash.add(column.name).add(column.number).add(column.level);
    for (const std::string& level : column.levels) hash.add(level);
  }
  return hash.text();
}

}  // namespace selfnorm
