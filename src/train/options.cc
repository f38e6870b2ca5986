#include "selfnorm/train/options.h"

#include <fmt/format.h>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/objective/candidate_registry.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/optim/schedule.h"

namespace selfnorm {

namespace {

constexpr uint32_t kLargestLayer = 4096;

}  // namespace

void EncoderOptions::validate() const {
  require_one_of("encoder", kind, {"auto", "identity", "sparse", "bag", "context"});
  require_range(dimension >= 1 && dimension <= kLargestLayer, "dimension", dimension, "1 to 4096");
  require_range(hidden <= kLargestLayer, "hidden", hidden, "0 (no hidden layer) to 4096");
  require_range(dropout >= 0 && dropout < 1, "dropout", dropout, "a number in [0, 1)");
}

void TrainOptions::validate() const {
  encoder.validate();
  std::vector<std::string> objectives = objective_names();
  const bool draws_noise = is_candidate_objective(objective.name);
  for (const std::string& name : candidate_objective_names()) objectives.push_back(name);
  objectives.emplace_back("hierarchical");
  require_one_of("objective", objective.name, objectives);
  objective.validate();
  require_range(l2 >= 0, "l2", l2, "a finite number >= 0");
  require_range(l1 >= 0, "l1", l1, "a finite number >= 0");
  require_one_of("optimiser", optimiser, {"auto", "lbfgs", "adagrad", "adam"});
  require_range(iterations >= 1, "iterations", static_cast<double>(iterations), "at least 1");
  require_range(tolerance > 0, "tolerance", tolerance, "a finite number > 0");
  require_range(history >= 1 && history <= 100, "history", static_cast<double>(history), "1 to 100");
  require_range(epochs >= 1, "epochs", static_cast<double>(epochs), "at least 1");
  require_range(batch >= 1, "batch", static_cast<double>(batch), "at least 1");
  require_range(learning_rate >= 0, "learning-rate", learning_rate,
                "a finite number > 0, or 0 for the default");
  require_one_of("schedule", schedule, schedule_names());
  require_one_of("scale", scale, {"auto", "standard", "none"});
  require_one_of("precision", precision, {"float", "double"});
  require_one_of("weights", weights, {"float32", "bfloat16", "int8"});
  require_range(threads >= 0, "threads", threads, "0 (all cores) or more");
  if (objective.name == "constraint" && optimiser != "auto" && optimiser != "lbfgs") {
    throw Error(fmt::format("the constraint objective needs full passes, found --optimiser {}; use lbfgs",
                            optimiser));
  }
  if (objective.name == "sampled" && objective.gamma < 1 && optimiser == "lbfgs") {
    throw Error(fmt::format(
        "the sampled objective draws a new sample in every minibatch, which lbfgs cannot use with "
        "gamma = {}; use --optimiser adagrad, or --gamma 1",
        objective.gamma));
  }
  const bool full_passes = optimiser == "lbfgs" || objective.name == "constraint";
  if (encoder.dropout > 0 && full_passes) {
    throw Error(fmt::format(
        "--dropout {} leaves out other inputs in every minibatch, which {} cannot use; use --dropout 0, or "
        "--optimiser adagrad or adam with another objective than constraint",
        encoder.dropout, optimiser == "lbfgs" ? "lbfgs" : "the constraint objective"));
  }
  if (draws_noise && optimiser == "lbfgs") {
    throw Error(fmt::format(
        "the {} objective draws new noise classes in every minibatch, which lbfgs cannot use; use "
        "--optimiser adagrad or adam",
        objective.name));
  }
}

}  // namespace selfnorm
