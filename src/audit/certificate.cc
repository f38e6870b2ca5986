#include "audit/certificate.h"

#include <fmt/format.h>

#include "base/range.h"
#include "math/special_functions.h"
#include "selfnorm/error.h"

namespace selfnorm {

double clopper_pearson_upper(uint64_t exceed, uint64_t n, double confidence) {
  require_range(confidence > 0 && confidence < 1, "confidence", confidence, "a number between 0 and 1");
  if (n == 0) throw Error("a certificate needs at least one held-out input, received none");
  if (exceed > n) {
    throw Error(fmt::format("{} of {} inputs exceed the bound; expected at most {}", exceed, n, n));
  }
  if (exceed == n) return 1;
  const double k = static_cast<double>(exceed), size = static_cast<double>(n);
  return beta_upper_quantile(1 - confidence, k + 1, size - k);
}

int64_t largest_certifiable_count(uint64_t n, double rho, double confidence) {
  require_range(rho > 0 && rho < 1, "rho", rho, "a number between 0 and 1");
  // The bound grows with the count: certifiable(low) holds and certifiable(high) does not.
  const auto certifiable = [&](int64_t count) {
    return clopper_pearson_upper(static_cast<uint64_t>(count), n, confidence) <= rho;
  };
  int64_t low = -1, high = static_cast<int64_t>(n);
  if (!certifiable(0)) return low;
  low = 0;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (certifiable(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace selfnorm
