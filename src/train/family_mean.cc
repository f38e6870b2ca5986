#include "selfnorm/train/family_mean.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "selfnorm/base/error.h"
#include "selfnorm/math/kernels.h"
#include "selfnorm/model/energy/inside.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {
void FamilyMean::add(const Points& x, std::span<const uint64_t> numbers) {
  require_inside(family_, x, numbers, rows_);
  for (uint64_t i = 0; i < x.rows; ++i, ++rows_) {
    for (const Statistic& term : family_.terms()) {
      if (term.kind != Statistic::Kind::log || x.row(i)[term.i] > 0) continue;
      throw Error(fmt::format(
          "row {} is ({}), where {} has no likelihood: expected numbers above 0 for its log; drop it or "
          "choose "
          "another family",
          numbers.empty() ? rows_ : numbers[i],
          runtime::shortened(fmt::format("{}", fmt::join(x.row(i), ", "))), family_.record().kind));
    }
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
