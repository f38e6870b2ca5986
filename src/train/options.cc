#include "selfnorm/train/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "selfnorm/base/error.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/optim/schedule.h"

namespace selfnorm {
namespace {

void require(bool good, const char* name, double value, const char* range) {
  if (!good || !std::isfinite(value))
    throw Error(fmt::format("{} = {} is out of range; expected {}", name, value, range));
}

void require_one_of(const char* name, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    throw Error(
        fmt::format("{} '{}' is not known; expected one of {}", name, value, fmt::join(choices, ", ")));
  }
}

}  // namespace

void TrainOptions::validate() const {
  require_one_of("objective", objective.name, objective_names());
  objective.validate();
  require(l2 >= 0, "l2", l2, "a finite number >= 0");
  require(l1 >= 0, "l1", l1, "a finite number >= 0");
  require_one_of("optimiser", optimiser, {"auto", "lbfgs", "adagrad", "adam"});
  require(iterations >= 1, "iterations", static_cast<double>(iterations), "at least 1");
  require(tolerance > 0, "tolerance", tolerance, "a finite number > 0");
  require(history >= 1 && history <= 100, "history", static_cast<double>(history), "1 to 100");
  require(epochs >= 1, "epochs", static_cast<double>(epochs), "at least 1");
  require(batch >= 1, "batch", static_cast<double>(batch), "at least 1");
  require(learning_rate >= 0, "learning-rate", learning_rate, "a finite number > 0, or 0 for the default");
  require_one_of("schedule", schedule, schedule_names());
  require_one_of("scale", scale, {"auto", "standard", "none"});
  require_one_of("precision", precision, {"float", "double"});
  require_one_of("weights", weights, {"float32", "bfloat16", "int8"});
  require(threads >= 0, "threads", threads, "0 (all cores) or more");
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
}

}  // namespace selfnorm
