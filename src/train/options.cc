#include "selfnorm/train/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/optim/schedule.h"

namespace selfnorm {
namespace {

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
}

}  // namespace selfnorm
