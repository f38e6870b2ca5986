#include "selfnorm/error.h"

#include <fmt/format.h>

namespace selfnorm {
namespace {

std::string located(const std::string& file, uint64_t line, const std::string& what) {
  return line == 0 ? fmt::format("{}: {}", file, what) : fmt::format("{}:{}: {}", file, line, what);
}

}  // namespace

DataError::DataError(const std::string& file, uint64_t line, const std::string& what)
    : Error(located(file, line, what)), line_(line) {}

void fail_check(const char* condition, const char* file, int line) {
  throw Bug(fmt::format("{}:{}: check failed: {} (this is a bug in selfnorm; please report it)", file, line,
                        condition));
}

}  // namespace selfnorm
