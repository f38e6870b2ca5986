#include "selfnorm/objective/options.h"

#include <fmt/format.h>

#include <cmath>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

void require(bool good, const char* name, double value, const char* range) {
  if (!good || !std::isfinite(value))
    throw Error(fmt::format("{} = {} is out of range; expected {}", name, value, range));
}

}  // namespace

void ObjectiveOptions::validate() const {
  require(name == "sampled" ? alpha > 0 : alpha >= 0, "alpha", alpha,
          name == "sampled" ? "a finite number > 0 for the sampled objective" : "a finite number >= 0");
  require(delta > 0, "delta", delta, "a finite number > 0");
  require(gamma >= 0 && gamma <= 1, "gamma", gamma, "a number in [0, 1]");
  require(true, "centre", centre.value_or(0), "a finite number");
}

}  // namespace selfnorm
