#include "family/classifier/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/failure.h"
#include "data/example_source.h"
#include "engine/checkpoint.h"
#include "family/classifier/learned_normalizer.h"
#include "family/classifier/loop.h"
#include "family/classifier/minibatch.h"
#include "family/classifier/options.h"
#include "gpu/device.h"
#include "math/parallel.h"
#include "math/random.h"
#include "model/normalizer_network.h"
#include "model/parameters.h"
#include "objective/exact.h"
#include "objective/loss.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

// Full passes keep 2 history + 5 vectors; beyond this many parameters minibatches are the better default.
constexpr size_t kLargestFullPassProblem = 20'000'000;
constexpr uint64_t kConstantStream = 0x636f6e7374616e;  // "constan"
constexpr uint64_t kCheckedStream = 0x636865636b6564;   // "checked"
constexpr uint64_t kFoldStream = 0x666f6c64;            // "fold"
constexpr uint64_t kFolds = 5, kFewHeldOut = 300;
constexpr double kFoldWork = 5e7;  // multiplications of a pass over the rows

void check_data(const Dataset& data, const char* role) {
  if (data.examples() == 0) throw_error("the {} data has no rows; expected at least one", role);
  if (data.target.size() != data.examples())
    throw_error("the {} data has {} targets for {} examples", role, data.target.size(), data.examples());
  for_each_piece(data.target, [&](std::span<const uint32_t> target) {
    for (const uint32_t y : target) {
      if (y == Dataset::kNoTarget)
        throw_error("the {} data has rows without a label; expected one on every row", role);
      if (!data.is_joint()) SELFNORM_CHECK(y < data.classes());
    }
  });
}

void check_weights(const Dataset& data, const char* role) {
  double total = data.weight.empty() ? 1 : 0;
  for (const float w : data.weight) total += static_cast<double>(w);
  if (!(total > 0) || !std::isfinite(total))
    throw_error("the weights of the {} data sum to {}; expected a positive number", role, total);
}

void check_training_data(const Dataset& train) {
  check_data(train, "training");
  if (train.features.columns() == 0) throw Error("the training data has no features; expected at least one");
  if (!train.is_joint()) {
    const bool varied = std::any_of(train.target.begin(), train.target.end(),
                                    [&](uint32_t y) { return y != train.target[0]; });
    if (!varied)
      throw_error("the training data has one class only ('{}'); expected at least two",
                  train.labels[train.target[0]]);
  }
}

// What a linear model takes; the others are networks (family/classifier/network/network_trainer.h).
void check_encoder(const std::string& kind, const Features& x) {
  if (kind == "identity" && x.is_sparse)
    throw_error("the identity encoder needs dense features, found sparse ones; use `encoder sparse`");
  if (kind == "sparse" && !x.is_sparse)
    throw_error("the sparse encoder needs sparse features, found dense ones; use `encoder identity`");
  if (kind == "bag" || kind == "context")
    throw_error(
        "the {} encoder is a network, which train_classifier does not train; expected identity, sparse or "
        "auto",
        kind);
}

// Rows of checks: of noise objectives a check costs more than a step by the number of classes over that of
// the draws; the others see all classes, or all alternatives of a group, anyway.
ValidationEffort linear_effort(const LoopInput& input) {
  const ObjectiveOptions& o = input.options.objective;
  const double classes = std::max(1u, input.classes);
  const double draws = static_cast<double>(o.noise == "in-batch" ? input.options.batch : o.samples);
  const double scored = is_candidate_objective(o.name) ? std::min(classes, draws) : classes;
  return validation_effort(static_cast<double>(input.train.examples()) * 3 * scored, classes,
                           input.valid != nullptr ? input.valid->examples() : ValidationEffort::kMostRows);
}

// Different numbers below n, of which there are far more: without a list of all of them.
std::vector<uint64_t> few_numbers(uint64_t count, uint64_t n, RandomStream random) {
  std::set<uint64_t> chosen;
  while (chosen.size() < count) chosen.insert(random.below(n));
  return {chosen.begin(), chosen.end()};
}

// A sample of the rows with weight, in their order.
Dataset sampled_rows(const Dataset& data, uint64_t most, RandomStream random) {
  std::vector<uint64_t> rows = most < data.examples() / 2 && data.examples() > kSplitAtOnce
                                   ? few_numbers(most, data.examples(), random)
                                   : random_permutation(data.examples(), random);
  if (!data.weight.empty()) std::erase_if(rows, [&](uint64_t i) { return data.weight[i] == 0; });
  rows.resize(std::min<size_t>(rows.size(), most));
  std::sort(rows.begin(), rows.end());
  return subset(data, rows);
}

// The mean of A over (a sample of) the training data: the constant that `sampled` settles at (theory.md 3),
// or the level that ranking-nce and is leave free.
template <class Real>
double mean_log_normalizer(const LoopInput& input, std::span<const Real> theta) {
  const uint64_t rows = std::max(linear_effort(input).rows, ValidationEffort::kFewestRows);
  const Dataset sample = sampled_rows(input.train, rows, RandomStream(input.options.seed, kConstantStream));
  const auto pass = input.pass_over<Real>(sample);
  const auto exact = make_objective({.name = "exact"});
  return value_and_gradient<Real>(*pass, *exact, {.weight = sample.weight}, theta, std::span<Real>())
      .mean_log_z();
}

template <class Real>
std::vector<Real> starting_columns(const ClassShard& shard, uint32_t features) {
  const size_t own = shard.own().size();
  std::vector<Real> theta((size_t{features} + 1) * own);
  const LogSumExp mass{0, static_cast<double>(shard.classes())};
  std::fill(theta.begin() + static_cast<std::ptrdiff_t>(features * own), theta.end(),
            static_cast<Real>(-mass.value()));
  return theta;
}

// theta at the start: zero weights, normalised biases, then the centre when it is learned. A learned b (nce,
// snl) starts at log sum_k h(k) instead, with zero biases, and is not part of theta.
template <class Real>
std::vector<Real> starting_point(const LoopInput& input) {
  std::vector<Real> theta;
  if (input.train.is_joint())
    theta.resize(input.features);
  else if (input.shard.exists())
    theta = starting_columns<Real>(input.shard, input.features);
  else
    theta = initial_parameters<Real>(input.classes, input.features, input.options.log_carrier);
  const ObjectiveOptions& objective = input.options.objective;
  if (is_candidate_objective(objective.name)) {
    if (learns_normalizer(objective)) std::fill(theta.end() - input.classes, theta.end(), Real{0});
    return theta;
  }
  if (!objective.learn_centre) return theta;
  double centre = objective.centre.value_or(0);
  if (input.train.is_joint()) {
    // At theta = 0 the log-normalizer of a group is the log of its size.
    centre = 0;
    for (uint64_t g = 0; g < input.train.examples(); ++g)
      centre += std::log(static_cast<double>(input.train.group_begin[g + 1] - input.train.group_begin[g]));
    centre /= static_cast<double>(input.train.examples());
  }
  theta.push_back(static_cast<Real>(centre));
  return theta;
}

// The mean of A (less b(x)) of input.valid is its level.
template <class Real>
HeldOutMeasure<Real> held_out_measure(const LoopInput& input) {
  if (input.valid == nullptr) return nullptr;
  const bool is_sampled = is_candidate_objective(input.options.objective.name);
  const auto sample = std::make_shared<const Dataset>(
      is_sampled ? sampled_rows(*input.valid, linear_effort(input).rows,
                                RandomStream(input.options.seed, kCheckedStream))
                 : Dataset{});
  const Dataset& data = is_sampled ? *sample : *input.valid;
  std::shared_ptr<ExactPass<Real>> pass = input.pass_over<Real>(data);
  return [&data, sample, pass](std::span<const Real> theta, const Subtracted& subtracted) {
    std::vector<double> normalizer;
    if (subtracted.function.exists()) normalizer = values_of(subtracted.function, data.features);
    const LossSum sum = value_and_gradient<Real>(
        *pass, Exact(), {.weight = data.weight, .centre = subtracted.constant, .normalizer = normalizer},
        theta, std::span<Real>());
    ValidationMeasure out;
    out.nll = sum.mean_nll();
    out.level = sum.mean_log_z();
    out.square = sum.log_z_square / sum.normalised_weight;
    // E (A - c)^2 = E (A - centre)^2 - (E A - centre)^2 for c = E A.
    const double offset = out.level - subtracted.constant;
    out.calibrated_square = out.square - offset * offset;
    return out;
  };
}

template <class Real>
LoopProblem<Real> loop_problem(const LoopInput& input) {
  return {.options = input.options,
          .checkpoint = input.checkpoint,
          .observer = input.observer,
          .optimiser = input.optimiser,
          .fingerprint = input.fingerprint,
          .examples = input.train.examples(),
          .parameters = input.shape().size(),
          .penalised = input.shape().penalised(),
          .shard = input.shard,
          .rows = input.shape().rows,
          .start = starting_point<Real>(input),
          .held_out = held_out_measure<Real>(input),
          .check_epochs = input.valid != nullptr ? linear_effort(input).epochs : 1};
}

template <class Real>
LoopOutput<Real> trained(const LoopInput& input) {
  const LoopProblem<Real> problem = loop_problem<Real>(input);
  if (input.optimiser == "lbfgs") {
    const auto pass =
        make_exact_pass<Real>(input.train, input.features, input.classes, input.options.log_carrier);
    const auto unlabelled = input.unlabelled == nullptr
                                ? nullptr
                                : make_exact_pass<Real>(*input.unlabelled, input.features, input.classes,
                                                        input.options.log_carrier);
    return train_in_full_passes<Real>(problem, {*pass, input.train.weight, unlabelled.get()});
  }
  const uint64_t batch = std::min(input.options.batch, input.train.examples());
  std::unique_ptr<MinibatchStep<Real>> step;
  if constexpr (std::is_same_v<Real, float>)
    if (!input.shard.exists()) step = make_device_step(input, batch);
  if (step == nullptr)
    step = is_candidate_objective(input.options.objective.name) ? make_candidate_step<Real>(input, batch)
                                                                : make_exact_step<Real>(input, batch);
  return train_in_minibatches<Real>(problem, *step, batch, row_norm(input.train.features));
}

// Whether held-out rows are too few to choose l2, and folds of the training rows cost little.
bool needs_folds(const LoopInput& input) {
  if (!has_l2_path(input.options, input.valid != nullptr) || input.train.examples() < kFolds) return false;
  const Features& x = input.train.features;
  const double values =
      x.is_sparse ? static_cast<double>(x.sparse.column.size()) : static_cast<double>(x.rows()) * x.columns();
  return input.valid->examples() < kFewHeldOut && values * std::max(1u, input.classes) <= kFoldWork;
}

// The l2 whose NLL on the rows left out of a fold, summed over all rows, is least. A fold that ended before
// counts with its last value, for which it ended.
template <class Real>
double cross_validated_l2(const LoopInput& input) {
  const std::vector<uint64_t> order =
      random_permutation(input.train.examples(), RandomStream(input.options.seed, kFoldStream));
  std::map<double, double, std::greater<>> total;  // strongest first
  std::vector<std::pair<double, std::map<double, double>>> folds;
  for (uint64_t fold = 0; fold < kFolds; ++fold) {
    std::vector<uint64_t> rest, left_out;
    for (uint64_t i = 0; i < order.size(); ++i) (i % kFolds == fold ? left_out : rest).push_back(order[i]);
    std::sort(rest.begin(), rest.end());
    std::sort(left_out.begin(), left_out.end());
    const Dataset train = subset(input.train, rest), valid = subset(input.train, left_out);
    const CheckpointOptions none;
    TrainObserver nobody;
    const LoopInput part{train,          &valid,        input.options,   none, nobody,
                         input.features, input.classes, input.optimiser, ""};
    folds.emplace_back(static_cast<double>(left_out.size()), trained<Real>(part).path);
    for (const auto& [l2, nll] : folds.back().second) total[l2] = 0;
  }
  double best = input.options.l2, least = std::numeric_limits<double>::infinity();
  for (auto& [l2, sum] : total) {
    for (const auto& [rows, path] : folds) {
      const auto at = path.lower_bound(l2);  // the weakest that is no weaker
      sum += at == path.end() ? std::numeric_limits<double>::infinity() : rows * at->second;
    }
    if (sum < least) std::tie(least, best) = std::pair(sum, l2);
  }
  return best;
}

template <class Real>
TrainResult train_with(const LoopInput& input, const Scaling& scaling, bool by_folds) {
  LoopOutput<Real> loop = trained<Real>(input);
  TrainResult result;
  ModelFile& model = result.model;
  model.family = input.train.is_joint() ? Family::Joint : Family::Multiclass;
  model.input = input.train.features.is_sparse ? ModelInput::Sparse : ModelInput::Dense;
  model.weights = weight_kind(input.options.weights);
  model.classes = input.classes;
  model.features = input.features;
  model.labels = input.train.labels;
  model.feature_names = input.train.feature_names;
  model.log_carrier = input.options.log_carrier;
  const bool estimate = needs_constant(input.options.objective) && !loop.calibrated;
  model.log_normalizer = estimate ? mean_log_normalizer<Real>(input, loop.theta) : loop.subtracted.constant;
  if (loop.subtracted.function.exists()) model.normalizer = folded(loop.subtracted.function, scaling);
  if (input.shard.exists()) model.classes = static_cast<uint32_t>(input.shard.own().size());
  store_parameters<Real>(loop.theta, scaling, model);
  model.classes = input.classes;
  model.objective_json = objective_record(input.options.objective, loop.outcome.last.alpha);
  TrainOptions recorded = input.options;
  recorded.l2 = loop.l2;
  if ((by_folds || has_l2_path(input.options, input.valid != nullptr)) &&
      loop.outcome.ending == Ending::complete)
    input.observer.on_note(fmt::format(
        "chosen on the {} validation rows{}: l2 = {:.3g}, where NLL was least on the way from {:.3g} down",
        input.valid->examples(),
        by_folds ? fmt::format(" and {} folds of the {} training rows", kFolds, input.train.examples()) : "",
        loop.l2, input.options.l2_from));
  model.training_json = training_record(recorded, input.optimiser, loop.outcome.reason,
                                        input.train.examples(), loop.outcome.last);
  note_training_device(loop.device, model);
  result.take(std::move(loop.outcome));
  result.shard = input.shard;
  result.optimiser = input.optimiser;
  return result;
}

template <class Real>
TrainResult train_as(const LoopInput& input, const Scaling& scaling) {
  TrainOptions options = input.options;
  const bool by_folds = needs_folds(input);
  if (by_folds) options.l2 = cross_validated_l2<Real>(input);
  const LoopInput own{input.train,       input.valid,      options,       input.checkpoint,
                      input.observer,    input.features,   input.classes, input.optimiser,
                      input.fingerprint, input.unlabelled, input.shard};
  return train_with<Real>(own, scaling, by_folds);
}

}  // namespace

LoopVectors loop_vectors(const TrainOptions& options, const std::string& optimiser, bool has_valid) {
  const double best = has_valid && options.patience > 0 ? 1 : 0;
  if (optimiser == "lbfgs") {
    // Pairs, x and its gradient; direction, trial point and its gradient, start; the multiplier's two.
    const double ends = objective_entry(options.objective.name).is_constraint ? 2 : 0;
    const double state = 2 * static_cast<double>(options.history) + 2 + best + ends;
    return {state + 4 + (options.l1 > 0 ? 1 : 0), state};
  }
  // theta, its squares (and means), the epoch before or the best; gradient, start.
  const double state = optimiser == "adam" ? 4 : 3;
  return {state + 2, state};
}

std::string choose_optimiser(const TrainOptions& options, size_t parameters) {
  if (options.optimiser != "auto") return options.optimiser;
  const ObjectiveEntry& objective = objective_entry(options.objective.name);
  if (objective.is_constraint) return "lbfgs";
  if (options.shard != "none") return "adagrad";
  if (objective.is_subsampled && options.objective.gamma < 1) return "adagrad";
  if (objective.seam == ObjectiveSeam::candidates || options.encoder.dropout > 0) return "adagrad";
  return parameters <= kLargestFullPassProblem ? "lbfgs" : "adagrad";
}

void refuse_other_steps(const std::string& family, TrainOptions options, TrainOptions initial,
                        const std::string& optimiser) {
  OptionTable table = train_option_table(family, options);
  const bool is_full = optimiser == "lbfgs";
  const std::string found =
      option_text("optimiser", optimiser) + (options.optimiser == "auto" ? ", which auto takes here" : "");
  const auto only = [&](const std::vector<std::string>& names, bool applies, const char* owner) {
    for (const std::string& name : names)
      if (Option* option = table.find(name)) option->only(applies, option_text("optimiser", owner), found);
  };
  only({"steps", "tolerance", "history"}, is_full, "lbfgs");
  only({"epochs", "batch", "learning-rate"}, !is_full, "adagrad");
  table.refuse_idle(train_option_table(family, initial));
}

namespace {

// A classifier is trained all the same: the option did nothing before it was looked at.
void warn_about_other_steps(const TrainOptions& options, const std::string& optimiser,
                            TrainObserver& observer) {
  try {
    refuse_other_steps("classifier", options, TrainOptions(), optimiser);
  } catch (const Error& error) {
    observer.on_warning(error.what());
  }
}

}  // namespace

TrainResult train_classifier(Dataset train, std::optional<Dataset> valid, const TrainOptions& given,
                             const CheckpointOptions& checkpoint, TrainObserver& observer,
                             std::optional<Dataset> unlabelled) {
  TrainOptions options = given;
  options.validate();
  check_training_data(train);
  check_encoder(options.encoder.kind, train.features);
  if (valid) check_data(*valid, "validation");
  if (valid && valid->is_joint() != train.is_joint())
    throw Error("training and validation data differ: one has qid: groups and the other does not");
  const ThreadLimit limit(options.threads);
  const uint32_t features = train.features.columns();
  const uint32_t classes = train.is_joint() ? 0 : train.classes();
  if (!options.log_carrier.empty() && options.log_carrier.size() != classes)
    throw_error("the carrier has {} values for {} classes", options.log_carrier.size(), classes);
  if (train.is_joint() && is_candidate_objective(options.objective.name))
    throw_error(
        "the {} objective draws noise from classes, and found groups of alternatives (qid:) without classes; "
        "use penalty, constraint, sampled or exact",
        options.objective.name);
  check_shard(options);
  if (options.shard != "none" && train.is_joint())
    throw Error("`shard classes`: found groups of alternatives (qid:) without classes; leave it out");
  resolve_centre(train.is_joint(), options.objective);
  apply_class_weight(options.class_weight, train, valid ? &*valid : nullptr);
  check_weights(train, "training");
  if (valid) check_weights(*valid, "validation");
  warn_about_gamma(options.objective, observer);
  check_noise(options.objective, std::min(options.batch, train.examples()));

  const std::string optimiser =
      choose_optimiser(options, parameter_shape(train.is_joint(), features, classes).size());
  warn_about_other_steps(given, optimiser, observer);
  if (options.l2_from > options.l2 && optimiser != "lbfgs")
    throw_error("l2-from {} is a path of full passes, which {} does not make; use l2", options.l2_from,
                optimiser);
  if (unlabelled) {
    const bool is_used = objective_entry(options.objective.name).is_penalised && optimiser == "lbfgs";
    if (!is_used || train.is_joint() || unlabelled->is_joint())
      throw_error("unlabelled inputs are for the penalty objective with lbfgs on classes, found {} with {}{}",
                  options.objective.name, optimiser, train.is_joint() ? " on groups of alternatives" : "");
    if (unlabelled->examples() == 0) throw Error("the unlabelled data has no rows; expected at least one");
    unlabelled->target.assign(unlabelled->examples(), 0);
    unlabelled->weight.clear();
  }
  const std::string mark = fingerprint(train, options_text(options, optimiser)) +
                           (valid ? fingerprint(*valid, "") : "") +
                           (unlabelled ? fingerprint(*unlabelled, "unlabelled") : "");
  Scaling scaling;
  const bool dense = !train.features.is_sparse && !train.is_joint();
  if (options.scale == "standard" && !dense)
    throw_error("`scale standard` needs dense features, and found sparse or grouped ones; use `scale none`");
  if (dense && options.scale != "none") {
    scaling = fit_scaling(train.features.dense);
    scaling.apply(train.features.dense);
    if (valid) scaling.apply(valid->features.dense);
    if (unlabelled) scaling.apply(unlabelled->features.dense);
  }
  LoopInput input{
      train, valid ? &*valid : nullptr,          options, checkpoint, observer, features, classes, optimiser,
      mark,  unlabelled ? &*unlabelled : nullptr};
  if (options.shard != "none")
    input.shard = ClassShard(classes);
  else
    input.fingerprint += training_device(input, std::min(options.batch, train.examples()));
  return options.precision == "double" ? train_as<double>(input, scaling) : train_as<float>(input, scaling);
}

}  // namespace selfnorm
