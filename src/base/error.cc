#include "selfnorm/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/near_name.h"

namespace selfnorm {
namespace {

std::string located(const std::string& file, uint64_t line, const std::string& what) {
  return line == 0 ? fmt::format("{}: {}", file, what) : fmt::format("{}: {}", place_text(file, line), what);
}

}  // namespace

DataError::DataError(const std::string& file, uint64_t line, const std::string& what)
    : Error(located(file, line, what)), line_(line) {}

void fail_check(const char* condition, const char* file, int line) {
  throw Bug(fmt::format("{}:{}: check failed: {} (this is a bug in selfnorm; please report it)", file, line,
                        condition));
}

void require_range(bool good, const char* name, double value, const char* expected) {
  if (good && std::isfinite(value)) return;
  throw_error("{} = {} is out of range; expected {}", name, value, expected);
}

void require_one_of(const char* name, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  throw_error("{} '{}' is not known; expected one of {}", name, value, fmt::join(choices, ", "));
}

}  // namespace selfnorm
