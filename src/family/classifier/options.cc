#include "family/classifier/options.h"

#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "gpu/device.h"
#include "objective/registry.h"
#include "optim/adaptive.h"

namespace selfnorm {
namespace {

constexpr double kLargestLayer = 4096;

void add_encoder(const std::string& family, EncoderOptions& o, OptionTable& table) {
  if (family == "classifier")
    table
        .add("encoder", &o.kind,
             "bag: the mean of embeddings of the sparse features or words, and a hidden layer with hidden "
             "units; identity, sparse: none, of dense or sparse data; auto: none")
        .one_of({"auto", "identity", "sparse", "bag"});
  table.add("dimension", &o.dimension, "Encoder: size of an embedding").in(1, kLargestLayer);
  table.add("hidden", &o.hidden, "Encoder: units of the hidden layer; 0: none").in(0, kLargestLayer);
  table.add("dropout", &o.dropout, "Encoder: share of the inputs of every layer left out in training")
      .at_least(0)
      .below(1);
  table
      .add("embeddings", &o.embeddings,
           "Encoder: embeddings to start from, in the text format of word2vec and fastText; words it lacks "
           "start at random")
      .of_kind(OptionKind::file);
}

void add_full_passes(const std::string& family, TrainOptions& o, OptionTable& table) {
  table.add("l1", &o.l1, "Adds l1 |W|_1 to the mean loss; biases are free").at_least(0);
  table.add("optimiser", &o.optimiser, "auto: lbfgs when the data allow it")
      .one_of(family == "crf" ? std::vector<std::string>{"auto", "lbfgs", "adagrad"}
                              : std::vector<std::string>{"auto", "lbfgs", "adagrad", "adam"});
  table.add("steps", &o.iterations, "lbfgs: steps at most, each one pass over the data or more").at_least(1);
  table.add("tolerance", &o.tolerance, "lbfgs: stop when |gradient| <= tolerance times that of the start")
      .above(0);
  table.add("history", &o.history, "lbfgs: correction pairs").in(1, 100);
}

void add_linear(TrainOptions& o, OptionTable& table) {
  table
      .add("l2-from", &o.l2_from,
           "lbfgs with validation data: l2 starts here and becomes a quarter whenever their NLL stops "
           "falling, "
           "down to l2; 0: it is l2 from the start")
      .at_least(0);
  table
      .add("scale", &o.scale,
           "Dense data: standardise the features for training; the model takes them as they are")
      .one_of({"auto", "standard", "none"});
  table.add("arithmetic", &o.precision, "Kind of number that scores and gradients are computed with")
      .one_of({"float", "double"});
  table.add("class-weight", &o.class_weight, "'balanced', or 'label=2.5,other=0.5'");
  table
      .add("shard", &o.shard,
           "classes: of several processes each has the weights of some of the classes only, and the model is "
           "written in as many files")
      .one_of({"none", "classes"});
}

}  // namespace

OptionTable train_option_table(const std::string& family, TrainOptions& o) {
  OptionTable table = objective_option_table(family, o.objective);
  table.add("calibrate", &o.calibrate, "c or b becomes the mean of log Z on the validation data").off_text =
      "Keep c or b as trained; otherwise it is the mean of log Z on the validation data";
  table
      .add("l2", &o.l2,
           "Adds l2/2 |W|^2 to the mean loss; with an encoder every step multiplies weights and embeddings "
           "by 1 - rate l2; biases are free")
      .at_least(0);
  table.add("epochs", &o.epochs, "Minibatches: passes over the data").at_least(1);
  table.add("batch", &o.batch, "Minibatches: examples per step").at_least(1);
  table
      .add("learning-rate", &o.learning_rate,
           "Minibatches: step size; 0 takes one that fits the objective and the encoder (a linear model: 2, "
           "adam: 0.1, over the rms norm of x)")
      .at_least(0);
  if (family != "crf")
    table.add("schedule", &o.schedule, "Minibatches: how the step size falls").one_of(schedule_names());
  table.add("patience", &o.patience,
            "Validation checks without improvement before stopping; 0 never stops early");
  if (family != "crf")
    table.add("weights", &o.weights, "How the model file stores the weights")
        .one_of({"float32", "bfloat16", "int8"});
  if (family != "lm") add_full_passes(family, o, table);
  if (family == "classifier") add_linear(o, table);
  if (family != "crf") add_encoder(family, o.encoder, table);
  table.add("seed", &o.seed, "Seed of everything random");
  limit_to_objective(family, o.objective.name, table);
  return table;
}

void EncoderOptions::validate() const {
  require_one_of("encoder", kind, {"auto", "identity", "sparse", "bag", "context"});
  EncoderOptions copy = *this;
  OptionTable table;
  add_encoder("lm", copy, table);
  table.validate();
}

void TrainOptions::validate() const {
  encoder.validate();
  objective.validate();
  TrainOptions copy = *this;
  train_option_table(encoder.kind == "context" ? "lm" : "classifier", copy).validate();
  require_range(threads >= 0, "threads", threads, "0 (all cores) or more");
  if (objective_entry(objective.name).is_constraint && optimiser != "auto" && optimiser != "lbfgs")
    throw_error("the constraint objective needs full passes, found `optimiser {}`; use lbfgs", optimiser);
  if (objective_entry(objective.name).is_subsampled && objective.gamma < 1 && optimiser == "lbfgs")
    throw_error(
        "the sampled objective draws a new sample in every minibatch, which lbfgs cannot use with gamma = "
        "{}; use `optimiser adagrad`, or `gamma 1`",
        objective.gamma);
  const bool full_passes = optimiser == "lbfgs" || objective_entry(objective.name).is_constraint;
  if (encoder.dropout > 0 && full_passes)
    throw_error(
        "`dropout {}` leaves out other inputs in every minibatch, which {} cannot use; use `dropout 0`, or "
        "`optimiser adagrad` or adam with another objective than constraint",
        encoder.dropout, optimiser == "lbfgs" ? "lbfgs" : "the constraint objective");
  if (is_candidate_objective(objective.name) && optimiser == "lbfgs")
    throw_error(
        "the {} objective draws new noise classes in every minibatch, which lbfgs cannot use; use "
        "`optimiser adagrad` or adam",
        objective.name);
}

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
  drop("proposal_sharing", o.noise == "in-batch");
  drop("proposal_power", o.noise != "unigram");
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

void note_training_device(const std::string& name, ModelFile& model) {
  if (name.empty()) return;
  json training = json::parse(model.training_json);
  training["device"] = name;
  model.training_json = training.dump();
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

void check_shard(const TrainOptions& options) {
  if (options.shard == "none") return;
  const ObjectiveOptions& o = options.objective;
  const ObjectiveEntry& entry = objective_entry(o.name);
  const bool is_network = options.encoder.is_network();
  const bool draws = entry.seam == ObjectiveSeam::candidates;
  if (entry.is_subsampled || entry.is_constraint || entry.seam == ObjectiveSeam::tree ||
      (draws && !is_network))
    throw_error(
        "`shard classes` does not go with {}{}; use exact or penalty, or, with `encoder bag`, nce, "
        "ranking-nce, is or snl",
        option_text("objective", o.name), draws ? " and a linear model" : "");
  if (draws && o.noise != "in-batch" && o.noise_sharing == "example")
    throw_error("`shard classes` does not go with `proposal-sharing example`; use `proposal-sharing batch`");
  if (options.optimiser == "lbfgs")
    throw_error("`shard classes` is for minibatches, found `optimiser lbfgs`; use adagrad or adam");
  refuse_device("`shard classes` trains on the CPU");
  if (!options.log_carrier.empty()) throw_error("`shard classes` does not go with a carrier; leave it out");
}

void check_noise(const ObjectiveOptions& o, uint64_t batch) {
  if (!is_candidate_objective(o.name)) return;
  if (o.noise == "in-batch" && batch < 2)
    throw_error(
        "`proposal in-batch` takes the other targets of a minibatch, and found minibatches of one example; "
        "use "
        "a larger `batch` or another `proposal`");
  if (o.noise != "in-batch" && o.noise_sharing == "example" && o.samples > 0xFFFFFFFFu / batch)
    throw_error(
        "`proposal-sharing example` with {} samples for each of {} examples is more than 2^32 draws a step; "
        "use "
        "fewer `samples` or a smaller `batch`",
        o.samples, batch);
}

void resolve_centre(bool is_joint, ObjectiveOptions& o) {
  if (objective_entry(o.name).has_centre) {
    // Alternatives have no bias to absorb the level of log Z, so its centre is learned unless one is given.
    if (is_joint && !o.centre) o.learn_centre = true;
    return;
  }
  if (o.centre)
    throw_error("`centre` is an option of penalty and constraint, and found `objective {}`", o.name);
  o.learn_centre = objective_entry(o.name).uses_normalizer && o.normalizer == "constant";
}

}  // namespace selfnorm
