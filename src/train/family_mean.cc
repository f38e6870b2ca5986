#include "selfnorm/train/family_mean.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "selfnorm/base/error.h"
#include "selfnorm/math/kernels.h"

namespace selfnorm {
namespace {

std::string described(const Support& support) {
  if (support.space == Support::Space::counts) return "whole numbers from 0";
  if (support.space == Support::Space::levels) return "0 or 1 in every column";
  if (support.lower.empty()) return "finite numbers";
  std::vector<std::string> sides;
  for (size_t j = 0; j < support.lower.size(); ++j)
    sides.push_back(fmt::format("[{:.6g}, {:.6g}]", support.lower[j], support.upper[j]));
  if (std::equal(sides.begin() + 1, sides.end(), sides.begin())) return "values in " + sides[0];
  return "values in " + fmt::format("{}", fmt::join(sides, " x "));
}

}  // namespace

void FamilyMean::add(const Points& x, std::span<const uint64_t> numbers) {
  const Support support = family_.support();
  const auto fail = [&](uint64_t i, const std::string& what) {
    throw Error(fmt::format("row {} is ({}), {}; drop it or choose another family",
                            numbers.empty() ? rows_ : numbers[i], fmt::join(x.row(i), ", "), what));
  };
  for (uint64_t i = 0; i < x.rows; ++i, ++rows_) {
    if (!contains(support, x.row(i)))
      fail(i,
           fmt::format("outside the support of {}: expected {}", family_.record().kind, described(support)));
    for (const Statistic& term : family_.terms())
      if (term.kind == Statistic::Kind::log && !(x.row(i)[term.i] > 0))
        fail(i, fmt::format("where {} has no likelihood: expected numbers above 0 for its log",
                            family_.record().kind));
    family_.statistics(x.row(i), t_);
    add_scaled(1, t_.data(), sum_.t.data(), t_.size());
    sum_.log_carrier += family_.log_carrier(x.row(i));
  }
}

StatisticMeans FamilyMean::means() const {
  StatisticMeans out = sum_;
  for (double& t : out.t) t /= static_cast<double>(rows_);
  out.log_carrier /= static_cast<double>(rows_);
  return out;
}

}  // namespace selfnorm
