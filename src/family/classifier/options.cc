#include "family/classifier/options.h"

#include <fmt/format.h>

#include "base/range.h"
#include "objective/registry.h"
#include "optim/schedule.h"
#include "selfnorm/error.h"

namespace selfnorm {

namespace {

constexpr double kLargestLayer = 4096;

void add_encoder(const std::string& family, EncoderOptions& o, OptionTable& table) {
  if (family == "classifier")
    table
        .add("encoder", &o.kind,
             "bag: the mean of embeddings of the sparse features or words, and a hidden layer with hidden "
             "units; "
             "identity, sparse: none, of dense or sparse data; auto: none")
        .one_of({"auto", "identity", "sparse", "bag"});
  table.add("dimension", &o.dimension, "Encoder: size of an embedding").in(1, kLargestLayer);
  table.add("hidden", &o.hidden, "Encoder: units of the hidden layer; 0: none").in(0, kLargestLayer);
  table.add("dropout", &o.dropout, "Encoder: share of the inputs of every layer left out in training")
      .at_least(0)
      .below(1);
  table
      .add("embeddings", &o.embeddings,
           "Encoder: embeddings to start from, in the text format of word2vec and fastText; words it lacks "
           "start at "
           "random")
      .of_kind(OptionKind::file);
}

void add_full_passes(const std::string& family, TrainOptions& o, OptionTable& table) {
  table.add("l1", &o.l1, "Adds l1 |W|_1 to the mean loss; biases are free").at_least(0);
  table.add("optimiser", &o.optimiser, "auto: lbfgs when the data allow it")
      .one_of(family == "crf" ? std::vector<std::string>{"auto", "lbfgs", "adagrad"}
                              : std::vector<std::string>{"auto", "lbfgs", "adagrad", "adam"});
  table.add("iterations", &o.iterations, "lbfgs: iterations at most").at_least(1);
  table.add("tolerance", &o.tolerance, "lbfgs: stop when |gradient| <= tolerance times that of the start")
      .above(0);
  table.add("history", &o.history, "lbfgs: correction pairs").in(1, 100);
}

void add_linear(TrainOptions& o, OptionTable& table) {
  table
      .add("scale", &o.scale,
           "Dense data: standardise the features for training; the model takes them as they are")
      .one_of({"auto", "standard", "none"});
  table.add("precision", &o.precision, "Arithmetic of scores and gradients").one_of({"float", "double"});
  table.add("class-weight", &o.class_weight, "'balanced', or 'label=2.5,other=0.5'");
}

}  // namespace

OptionTable train_option_table(const std::string& family, TrainOptions& o) {
  OptionTable table = objective_option_table(family, o.objective);
  table.add("calibrate", &o.calibrate, "c or b becomes the mean of log Z on the validation data").off_text =
      "Keep c or b as trained; otherwise it is the mean of log Z on the validation data";
  table
      .add("l2", &o.l2,
           "Adds l2/2 |W|^2 to the mean loss; with an encoder every step multiplies weights and embeddings "
           "by 1 - rate "
           "l2; biases are free")
      .at_least(0);
  table.add("epochs", &o.epochs, "Minibatches: passes over the data").at_least(1);
  table.add("batch", &o.batch, "Minibatches: examples per step").at_least(1);
  table
      .add("learning-rate", &o.learning_rate,
           "Minibatches: step size; 0 takes one that fits the objective and the encoder (a linear model: 2, "
           "adam: 0.1, "
           "over the rms norm of x)")
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
  if (objective_entry(objective.name).is_constraint && optimiser != "auto" && optimiser != "lbfgs") {
    throw Error(fmt::format("the constraint objective needs full passes, found --optimiser {}; use lbfgs",
                            optimiser));
  }
  if (objective_entry(objective.name).is_subsampled && objective.gamma < 1 && optimiser == "lbfgs") {
    throw Error(fmt::format(
        "the sampled objective draws a new sample in every minibatch, which lbfgs cannot use with "
        "gamma = {}; use --optimiser adagrad, or --gamma 1",
        objective.gamma));
  }
  const bool full_passes = optimiser == "lbfgs" || objective_entry(objective.name).is_constraint;
  if (encoder.dropout > 0 && full_passes) {
    throw Error(fmt::format(
        "--dropout {} leaves out other inputs in every minibatch, which {} cannot use; use --dropout 0, or "
        "--optimiser adagrad or adam with another objective than constraint",
        encoder.dropout, optimiser == "lbfgs" ? "lbfgs" : "the constraint objective"));
  }
  if (is_candidate_objective(objective.name) && optimiser == "lbfgs") {
    throw Error(fmt::format(
        "the {} objective draws new noise classes in every minibatch, which lbfgs cannot use; use "
        "--optimiser adagrad or adam",
        objective.name));
  }
}

}  // namespace selfnorm
