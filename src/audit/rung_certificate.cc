#include "audit/rung_certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/error_audit.h"

namespace selfnorm {

std::vector<runtime::Rung> certified_together(const std::vector<RungErrors>& measured, double rho,
                                              double confidence) {
  const double each = 1 - (1 - confidence) / static_cast<double>(std::max<size_t>(1, measured.size()));
  std::vector<runtime::Rung> out;
  for (const RungErrors& of : measured) {
    std::vector<double> sizes;
    double squares = 0;
    for (const double e : of.errors) {
      sizes.push_back(std::abs(e));
      squares += e * e;
    }
    std::sort(sizes.begin(), sizes.end());
    runtime::Rung rung = of.rung;
    const uint64_t n = sizes.size();
    const int64_t allowed = n == 0 ? -1 : largest_certifiable_count(n, rho, each);
    rung.rms = n == 0 ? 0 : std::sqrt(squares / static_cast<double>(n));
    rung.eps =
        allowed < 0 ? std::numeric_limits<double>::infinity() : sizes[n - 1 - static_cast<uint64_t>(allowed)];
    rung.rho = rho;
    rung.conf = confidence;
    out.push_back(std::move(rung));
  }
  return out;
}

}  // namespace selfnorm
