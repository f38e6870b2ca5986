#include "optim/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "selfnorm/error.h"

namespace selfnorm {

std::vector<std::string> schedule_names() { return {"constant", "linear", "cosine", "inverse-sqrt"}; }

double Schedule::factor(uint64_t step) const {
  const double t = static_cast<double>(step) / static_cast<double>(steps);
  if (name == "constant") return 1;
  if (name == "linear") return 1 - t;
  if (name == "cosine") return 0.5 * (1 + std::cos(std::numbers::pi * t));
  if (name == "inverse-sqrt")
    return 1 / std::sqrt(1 + static_cast<double>(step) / static_cast<double>(steps_per_epoch));
  throw Error(
      fmt::format("schedule '{}' is not known; expected one of {}", name, fmt::join(schedule_names(), ", ")));
}

}  // namespace selfnorm
