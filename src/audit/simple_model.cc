#include "audit/simple_model.h"

#include <fmt/format.h>

#include <cmath>

#include "base/failure.h"
#include "selfnorm/error.h"

namespace selfnorm {

std::string not_better(double nll, const SimpleModel& simple) {
  if (nll <= simple.nll + kWorse || !std::isfinite(simple.nll)) return "";
  if (is_divergence(nll, simple))
    return worded(
        "training diverged: on held-out data the NLL is {:.6g}, that of {} is {:.4f}; try a "
        "smaller `learning-rate`",
        nll, simple.name, simple.nll);
  return fmt::format(
      "the trained model is not better than a simple one: on held-out data its NLL is {:.4f}, that of {} is "
      "{:.4f}{}{}",
      nll, simple.name, simple.nll, simple.advice.empty() ? "" : "; ", simple.advice);
}

bool is_divergence(double nll, const SimpleModel& simple) {
  return nll - simple.nll > 100 * (1 + std::abs(simple.nll));
}

SimpleModel frequency_model(const std::string& name, std::span<const uint64_t> train,
                            std::span<const uint64_t> held_out) {
  SELFNORM_CHECK(train.size() == held_out.size());
  double n = static_cast<double>(train.size()), rows = 0, nll = 0;
  for (const uint64_t count : train) n += static_cast<double>(count);
  for (size_t k = 0; k < train.size(); ++k) {
    rows += static_cast<double>(held_out[k]);
    nll -= static_cast<double>(held_out[k]) * std::log((static_cast<double>(train[k]) + 1) / n);
  }
  return {name, nll / rows,
          with_options("see whether the data tell anything about it, or train with more steps or less `l2`")};
}

std::vector<uint64_t> class_counts(std::span<const uint32_t> target, uint32_t classes) {
  std::vector<uint64_t> counts(classes);
  for (const uint32_t y : target)
    if (y < classes) ++counts[y];
  return counts;
}

}  // namespace selfnorm
