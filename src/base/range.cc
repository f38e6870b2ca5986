#include "selfnorm/base/range.h"

#include <fmt/format.h>

#include <cmath>

#include "selfnorm/base/error.h"

namespace selfnorm {

void require_range(bool good, const char* name, double value, const char* expected) {
  if (good && std::isfinite(value)) return;
  throw Error(fmt::format("{} = {} is out of range; expected {}", name, value, expected));
}

}  // namespace selfnorm
