#include "audit/rung_certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "audit/error_audit.h"
#include "math/special_functions.h"

namespace selfnorm {

double certified_error(std::vector<double> sizes, double rho, double confidence, size_t rungs) {
  const double each = 1 - (1 - confidence) / static_cast<double>(std::max<size_t>(1, rungs));
  const int64_t allowed = sizes.empty() ? -1 : largest_certifiable_count(sizes.size(), rho, each);
  if (allowed < 0) return std::numeric_limits<double>::infinity();
  const auto place = sizes.end() - 1 - static_cast<std::ptrdiff_t>(allowed);
  std::nth_element(sizes.begin(), place, sizes.end());
  return *place;
}

uint64_t inputs_needed(double rho, double confidence, size_t rungs) {
  const double each = (1 - confidence) / static_cast<double>(std::max<size_t>(1, rungs));
  return static_cast<uint64_t>(std::ceil(std::log(each) / std::log1p(-rho)));
}

uint64_t fitted_of(uint64_t n, uint64_t needed, uint64_t fewest) {
  const uint64_t usual = n * 45 / 100;
  return n < needed + fewest ? usual : std::clamp(n - needed, fewest, std::max(usual, fewest));
}

std::vector<runtime::Rung> certified_together(const std::vector<RungErrors>& measured, double rho,
                                              double confidence) {
  std::vector<runtime::Rung> out;
  for (const RungErrors& of : measured) {
    std::vector<double> sizes;
    double squares = 0;
    for (const double e : of.errors) {
      sizes.push_back(std::abs(e));
      squares += e * e;
    }
    runtime::Rung rung = of.rung;
    rung.rms = sizes.empty() ? 0 : std::sqrt(squares / static_cast<double>(sizes.size()));
    rung.eps = certified_error(std::move(sizes), rho, confidence, measured.size());
    rung.rho = rho;
    rung.conf = confidence;
    out.push_back(std::move(rung));
  }
  return out;
}

std::vector<RungDrift> certified_rungs(const std::vector<runtime::Rung>& rungs) {
  std::vector<RungDrift> out;
  for (const runtime::Rung& rung : rungs) {
    if (!std::isfinite(rung.eps)) continue;
    out.emplace_back();
    static_cast<runtime::Rung&>(out.back()) = rung;
  }
  return out;
}

void judge_drift(std::vector<RungDrift>& rungs) {
  for (RungDrift& drift : rungs) {
    const auto k = static_cast<double>(drift.exceeded), n = static_cast<double>(drift.inputs);
    if (drift.exceeded > 0)
      drift.rho_least =
          beta_upper_quantile(1 - (1 - drift.conf) / static_cast<double>(rungs.size()), k, n - k + 1);
  }
}

}  // namespace selfnorm
