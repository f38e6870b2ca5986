#include "family/regressor/train/regressor_options.h"

#include <algorithm>
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

void require_layers(const char* name, const std::vector<uint32_t>& widths, size_t least) {
  require_range(widths.size() >= least && widths.size() <= 16, name, static_cast<double>(widths.size()),
                least == 0 ? "0 to 16 layers" : "1 to 16 layers");
}

void add_target(RegressorOptions& o, OptionTable& table) {
  table.add("categorical", &o.categorical, "Columns of levels that look like numbers");
  table.add("lower", &o.lower,
            "Lower end of the support of the target: a number, or one a target, X,X,...; -inf: no end");
  table.add("upper", &o.upper, "Upper end of the support; inf: no end");
  table
      .add("noise-floor", &o.noise_floor,
           "Standard deviation, in the units of the target, of noise added to it in training; bounds the "
           "likelihood where values repeat")
      .at_least(0);
}

void add_objective(RegressorOptions& o, OptionTable& table) {
  table.add("objective", &o.objective, objective_help("regressor")).one_of(objective_names("regressor"));
  table.add("samples", &o.samples, "Draws of the proposal for every row").in(1, kMost);
  table.add("defence", &o.defence, "Weight of the broad component in the proposal").above(0).below(1);
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
}

void add_networks(RegressorOptions& o, OptionTable& table) {
  table.add("features", &o.features, "Widths of the feature network of x, N,N,...; none: linear in x")
      .in(1, kWidest);
  table.add("joint", &o.joint, "Widths of the score network of x and y").in(1, kWidest);
  table.add("normalizer", &o.normalizer, "Hidden widths of b(x); none: linear in the features")
      .in(1, kWidest);
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
           "Weight of a broad density, as wide as the data, in the base, of mdn too: costs little where a "
           "target is far from all predictions, and widens sd and the outermost percent of the quantiles")
      .at_least(0)
      .below(1);
  table
      .add("least-scale", &o.least_scale,
           "Smallest standard deviation of a component, in those of the target")
      .above(0)
      .below(10);
  table.add("ensemble", &o.ensemble, "Members, whose densities are averaged").in(1, 100);
}

void add_steps(RegressorOptions& o, OptionTable& table) {
  table.add("epochs", &o.epochs, "Passes over the rows; 0: by the number of rows").in(0, kMostRows);
  table.add("batch", &o.batch, "Rows per step; 0: by the number of rows").in(0, kMostRows);
  table.add("warm-up", &o.warm_up, "Share of the epochs in which the mixture is trained alone")
      .at_least(0)
      .below(1);
  table.add("learning-rate", &o.learning_rate, "Step size of Adam").above(0);
  table.add("ramp", &o.ramp, "Steps in which the step size rises to that");
  table
      .add("input-noise", &o.input_noise,
           "Standard deviation of noise added to the standardised numbers of x in training")
      .at_least(0);
  table.add("normalizer-rate", &o.normalizer_rate, "Learning rate of b(x) over that").above(0);
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
  for (const char* name : {"joint", "normalizer", "own-features", "base", "warm-up"})
    table.find(name)->only(!is_mixture, "score networks",
                           option_text("objective", o.objective) + ", which is the mixture alone");
  limit_to_objective("regressor", o.objective, table);
  table.find("features")->only(o.module.empty(), "feature networks of ours", option_text("module", o.module));
  return table;
}

void RegressorOptions::validate() const {
  RegressorOptions copy = *this;
  regressor_option_table(copy).validate();
  require_layers("features", features, 0);
  require_layers("joint", joint, 1);
  require_layers("normalizer", normalizer, 0);
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
