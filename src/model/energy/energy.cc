#include "model/energy/energy.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/failure.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {
namespace {

std::string described(const Support& support) {
  if (support.space == Support::Space::counts) return "whole numbers from 0";
  if (support.is_mixed()) return "numbers, and whole numbers below their levels in the other columns";
  if (support.space == Support::Space::levels) {
    const uint32_t most = *std::max_element(support.levels.begin(), support.levels.end());
    return most == 2 ? "0 or 1 in every column" : "whole numbers below the levels of every column";
  }
  if (support.lower.empty()) return "finite numbers";
  std::vector<std::string> sides;
  for (size_t j = 0; j < support.lower.size(); ++j)
    sides.push_back(fmt::format("[{:.6g}, {:.6g}]", support.lower[j], support.upper[j]));
  if (std::equal(sides.begin() + 1, sides.end(), sides.begin())) return "values in " + sides[0];
  return "values in " + runtime::shortened(fmt::format("{}", fmt::join(sides, " x ")));
}

}  // namespace

void require_inside(const Energy& energy, const Points& x, std::span<const uint64_t> numbers,
                    uint64_t first) {
  const Support support = energy.support();
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (contains(support, x.row(i))) continue;
    throw_error("row {} is ({}), outside the support of {}: expected {}; drop it or choose another family",
                numbers.empty() ? first + i : numbers[i],
                runtime::shortened(fmt::format("{}", fmt::join(x.row(i), ", "))), energy.record().kind,
                described(support));
  }
}

void require_consent(EmbeddedCode code, const std::string& name, size_t bytes) {
  if (code == EmbeddedCode::run) return;
  throw_error(
      "{}: holds a TorchScript module, a program of {} bytes, which would run with your rights (your files, "
      "your network); it was not loaded. Take such files only from those whose programs you would run; for "
      "this one, give `allow-code` or set SELFNORM_ALLOW_CODE=1",
      name, bytes);
}

}  // namespace selfnorm
