#include "family/classifier/run_description.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {

using nlohmann::json;

WeightKind weight_kind(const std::string& name) {
  return name == "int8" ? WeightKind::Int8 : name == "bfloat16" ? WeightKind::Bfloat16 : WeightKind::Float32;
}

std::string objective_record(const ObjectiveOptions& given, double alpha) {
  ObjectiveOptions o = given;
  nlohmann::ordered_json record =
      objective_options("classifier", o.name, objective_option_table("classifier", o));
  if (objective_entry(o.name).is_constraint) record["alpha"] = alpha;
  const auto drop = [&record](const char* key, bool is_idle) {
    if (is_idle) record.erase(key);
  };
  drop("samples", o.noise == "in-batch");
  drop("noise_sharing", o.noise == "in-batch");
  drop("noise_power", o.noise != "unigram");
  drop("normalizer_hidden", o.normalizer != "mlp");
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

std::string options_text(const TrainOptions& given, const std::string& optimiser) {
  TrainOptions o = given;
  std::string carrier;
  for (const float v : o.log_carrier) carrier += fmt::format("{} ", v);
  return train_option_table("classifier", o).fingerprint() + optimiser + " " + carrier;
}

bool needs_constant(const ObjectiveOptions& o) { return objective_entry(o.name).leaves_level; }

void warn_about_gamma(const ObjectiveOptions& o, TrainObserver& observer) {
  if (!objective_entry(o.name).is_subsampled || o.gamma > 0) return;
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
  if (objective_entry(o.name).has_centre) {
    // Alternatives have no bias to absorb the level of log Z, so its centre is learned unless one is given.
    if (is_joint && !o.centre) o.learn_centre = true;
    return;
  }
  if (o.centre)
    throw Error(
        fmt::format("--centre is an option of penalty and constraint, and found --objective {}", o.name));
  o.learn_centre = objective_entry(o.name).uses_normalizer && o.normalizer == "constant";
}

}  // namespace selfnorm
