#include "base/range.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/failure.h"

namespace selfnorm {

void require_range(bool good, const char* name, double value, const char* expected) {
  if (good && std::isfinite(value)) return;
  throw_error("{} = {} is out of range; expected {}", name, value, expected);
}

void require_one_of(const char* name, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  throw_error("{} '{}' is not known; expected one of {}", name, value, fmt::join(choices, ", "));
}

}  // namespace selfnorm
