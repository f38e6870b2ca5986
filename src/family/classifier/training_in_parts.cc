#include "family/classifier/training_in_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "data/example_source.h"
#include "engine/minibatches.h"
#include "family/classifier/loop.h"
#include "family/classifier/minibatch.h"
#include "family/classifier/trainer.h"
#include "math/parallel.h"
#include "model/multiclass.h"
#include "model/parameters.h"
#include "normalizer/output_stream.h"

namespace selfnorm {
namespace {

void refuse_whole_training(const TrainOptions& options) {
  const ObjectiveEntry& objective = objective_entry(options.objective.name);
  if (objective.seam != ObjectiveSeam::log_z)
    throw_error(
        "{} draws classes by their counts in all rows, which are not there in training by parts; use exact, "
        "penalty or sampled",
        option_text("objective", objective.name));
  if (objective.is_constraint)
    throw_error(
        "{} bounds log Z on all rows, which are not there in training by parts; use exact, penalty or "
        "sampled",
        option_text("objective", objective.name));
  if (options.encoder.is_network())
    throw_error("{}: training by parts is for models without an encoder; leave it out",
                option_text("encoder", options.encoder.kind));
  if (options.optimiser == "lbfgs")
    throw_error(
        "{} makes passes over all rows, which are not there in training by parts; use adagrad or adam",
        option_text("optimiser", options.optimiser));
  if (options.precision == "double")
    throw_error("{}: training by parts computes in float; leave it out", option_text("arithmetic", "double"));
}

double mean_normalizer(const ModelFile& model, const Dataset& rows) {
  const std::vector<double> log_z = log_normalizers(model, *make_example_source(rows));
  return std::accumulate(log_z.begin(), log_z.end(), 0.0) / static_cast<double>(log_z.size());
}

// As its constructor leaves it, but for what the parts before made of the same parameters.
Adaptive<float> optimiser_after(const OngoingTraining& ongoing, const std::string& name, uint64_t batch) {
  Adaptive<float> out(name, ongoing.theta.size(), initial_square(batch));
  if (ongoing.optimiser_name != name) return out;
  AdaptiveState<float>& state = out.state();
  const auto take = [](const std::vector<float>& from, std::vector<float>& to) {
    std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
  };
  state.step = ongoing.optimiser.step;
  take(ongoing.optimiser.square, state.square);
  take(ongoing.optimiser.mean, state.mean);
  return out;
}

}  // namespace

OngoingTraining ongoing_training(const ModelFile& model) {
  OngoingTraining out;
  out.theta = parameters_of<float>(model);
  out.log_normalizer = model.log_normalizer;
  return out;
}

ModelFile train_part(const Dataset& given, const TrainOptions& told, OngoingTraining& ongoing) {
  TrainOptions options = told;
  options.validate();
  refuse_whole_training(options);
  resolve_centre(false, options.objective);
  Dataset rows = given;
  apply_class_weight(options.class_weight, rows, nullptr);
  const uint32_t classes = rows.classes(), features = rows.features.columns();
  const CheckpointOptions no_checkpoint;
  TrainObserver nobody;
  const std::string optimiser_name = options.optimiser == "adam" ? "adam" : "adagrad";
  const LoopInput input{rows, nullptr, options, no_checkpoint, nobody, features, classes, optimiser_name, ""};
  const ThreadLimit limit(options.threads);
  Minibatches order(rows.examples(), options.batch, options.seed);
  const auto step = make_exact_step<float>(input, order.size());
  if (ongoing.theta.empty()) {
    ongoing.theta = initial_parameters<float>(classes, features, options.log_carrier);
    ongoing.log_normalizer = options.objective.centre.value_or(0);
  }
  const size_t weights = input.shape().size();
  ongoing.theta.resize(weights + (options.objective.learn_centre ? 1 : 0),
                       static_cast<float>(ongoing.log_normalizer));
  Adaptive<float> optimiser = optimiser_after(ongoing, optimiser_name, order.size());
  if (ongoing.rate == 0 || ongoing.optimiser_name != optimiser_name)
    ongoing.rate = Adaptive<float>::default_rate(optimiser_name) / row_norm(rows.features);
  ongoing.optimiser_name = optimiser_name;
  const double rate = options.learning_rate > 0 ? options.learning_rate : step->rate_factor() * ongoing.rate;
  const bool has_weight =
      rows.weight.empty() || std::ranges::any_of(rows.weight, [](float w) { return w > 0; });
  for (uint64_t i = 0; has_weight && i < order.per_epoch(); ++i) {
    const LossSum sum = step->gradient(order.of(i), optimiser.state().step, ongoing.theta);
    if (!std::isfinite(sum.likelihood + sum.penalty))
      throw_error("training diverged: the loss became infinite or NaN; use {}", with_options(step->remedy()));
    optimiser.begin_step();
    step->update(ongoing.theta, optimiser, rate);
  }
  ongoing.optimiser = std::move(optimiser.state());

  ModelFile model;
  model.family = Family::Multiclass;
  model.input = rows.features.is_sparse ? ModelInput::Sparse : ModelInput::Dense;
  model.weights = weight_kind(options.weights);
  model.classes = classes;
  model.features = features;
  model.labels = rows.labels;
  model.feature_names = rows.feature_names;
  model.objective_json = objective_record(options.objective, options.objective.alpha);
  Progress last;
  last.step = ongoing.optimiser.step;
  model.training_json = training_record(options, optimiser_name, "a part of the rows", rows.examples(), last);
  store_parameters<float>(std::span<const float>(ongoing.theta).first(weights), {}, model);
  model.log_normalizer = needs_constant(options.objective) ? mean_normalizer(model, rows)
                                                           : step->subtracted(ongoing.theta).constant;
  ongoing.log_normalizer = model.log_normalizer;
  return model;
}

}  // namespace selfnorm
