#include "selfnorm/train/run_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "selfnorm/base/error.h"
#include "selfnorm/objective/candidate_registry.h"
#include "selfnorm/objective/registry.h"

namespace selfnorm {

using nlohmann::json;

WeightKind weight_kind(const std::string& name) {
  return name == "int8" ? WeightKind::Int8 : name == "bfloat16" ? WeightKind::Bfloat16 : WeightKind::Float32;
}

std::string objective_record(const ObjectiveOptions& o, double alpha) {
  json record = {{"name", o.name}};
  if (o.name == "penalty" || o.name == "sampled") record["alpha"] = o.alpha;
  if (o.name == "sampled") record["gamma"] = o.gamma;
  if (o.name == "constraint") record.update({{"delta", o.delta}, {"alpha", alpha}});
  if (o.name == "penalty" || o.name == "constraint") record["learn_centre"] = o.learn_centre;
  if (o.centre) record["centre"] = *o.centre;
  if (is_candidate_objective(o.name)) {
    record["noise"] = o.noise;
    if (o.noise != "in-batch") record.update({{"samples", o.samples}, {"noise_sharing", o.noise_sharing}});
    if (o.noise == "unigram") record["noise_power"] = o.noise_power;
    if (!leaves_level_free(o.name)) record["normalizer"] = o.normalizer;
  }
  return record.dump();
}

std::string training_record(const TrainOptions& o, const std::string& optimiser, const std::string& reason,
                            uint64_t examples, const Progress& last) {
  json training = {
      {"optimiser", optimiser},   {"steps", last.step},      {"stopped", reason}, {"examples", examples},
      {"loss", last.loss},        {"penalty", last.penalty}, {"l2", o.l2},        {"l1", o.l1},
      {"precision", o.precision}, {"seed", o.seed}};
  if (last.nll) training["nll"] = *last.nll;
  if (o.encoder.dropout > 0) training["dropout"] = o.encoder.dropout;
  return training.dump();
}

std::string options_text(const TrainOptions& o, const std::string& optimiser) {
  std::string carrier;
  for (const float v : o.log_carrier) carrier += fmt::format("{} ", v);
  // Shortest round-trip decimals: equal text means equal values.
  return fmt::format(
      "{}",
      fmt::join(std::tuple(o.objective.name, o.objective.alpha, o.objective.delta, o.objective.gamma,
                           o.objective.centre.value_or(0), o.objective.centre.has_value(),
                           o.objective.learn_centre, o.objective.samples, o.objective.noise,
                           o.objective.noise_power, o.objective.noise_sharing, o.objective.normalizer,
                           o.objective.normalizer_hidden, o.encoder.kind, o.encoder.dimension,
                           o.encoder.hidden, o.encoder.dropout, o.l2, o.l1, optimiser, o.iterations,
                           o.tolerance, o.history, o.epochs, o.batch, o.learning_rate, o.schedule, o.patience,
                           o.calibrate, o.scale, o.precision, o.class_weight, carrier, o.seed),
                " "));
}

bool needs_constant(const ObjectiveOptions& o) {
  if (o.name == "hierarchical") return false;
  return is_candidate_objective(o.name) ? leaves_level_free(o.name) : make_objective(o)->needs_constant();
}

void warn_about_gamma(const ObjectiveOptions& o, TrainObserver& observer) {
  if (o.name != "sampled" || o.gamma > 0) return;
  observer.on_warning("with gamma = 0 nothing is ever normalised, and training diverges; use gamma > 0");
}

void check_noise(const ObjectiveOptions& o, uint64_t batch) {
  if (!is_candidate_objective(o.name)) return;
  if (o.noise == "in-batch" && batch < 2)
    throw Error(
        "--noise in-batch takes the other targets of a minibatch, and found minibatches of one example; "
        "use a larger --batch or another --noise");
  if (o.noise != "in-batch" && o.noise_sharing == "example" && o.samples > 0xFFFFFFFFu / batch)
    throw Error(
        fmt::format("--noise-sharing example with {} samples for each of {} examples is more than 2^32 "
                    "draws a step; use fewer --samples or a smaller --batch",
                    o.samples, batch));
}

void resolve_centre(bool is_joint, ObjectiveOptions& o) {
  if (o.name == "penalty" || o.name == "constraint") {
    // Alternatives have no bias to absorb the level of log Z, so its centre is learned unless one is given.
    if (is_joint && !o.centre) o.learn_centre = true;
    return;
  }
  if (o.centre)
    throw Error(
        fmt::format("--centre is an option of penalty and constraint, and found --objective {}", o.name));
  o.learn_centre = is_candidate_objective(o.name) && !leaves_level_free(o.name) && o.normalizer == "constant";
}

}  // namespace selfnorm
