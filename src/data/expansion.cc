#include "selfnorm/data/expansion.h"

#include <fmt/format.h>

#include <atomic>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

constexpr double kUnlimitedBytes = 1e8;  // which any machine bears
std::atomic<double> largest_ratio = kLargestExpansion;

}  // namespace

void limit_expansion(double ratio) { largest_ratio = ratio; }

void check_expansion(const std::string& name, uint64_t compressed, uint64_t size) {
  const auto bytes = static_cast<double>(size), stored = static_cast<double>(compressed);
  if (bytes <= kUnlimitedBytes || bytes <= stored * largest_ratio) return;
  throw DataError(
      name, 0,
      fmt::format("{} compressed bytes expand to {} or more, over {:g} times as many, as files made "
                  "to fill a memory do; if these data are meant to, give --max-expansion N",
                  compressed, size, largest_ratio.load()));
}

}  // namespace selfnorm
