#include "audit/error_audit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "base/option_table.h"
#include "math/special_functions.h"

namespace selfnorm {
namespace {

constexpr std::array<double, 11> kQuantiles = {0, 0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1};
constexpr double kHistogramTail = 0.005;  // beyond the outermost edges, on each side
// Stands for sizes without a bound; what Quantiles holds at most.
constexpr double kUnbounded = static_cast<double>(std::numeric_limits<float>::max());

std::vector<HistogramBin> histogram_of(const Quantiles& errors, uint32_t bins) {
  const double low = errors.quantile(kHistogramTail), high = errors.quantile(1 - kHistogramTail);
  if (!(low < high)) return {{low, high, errors.count()}};
  std::vector<HistogramBin> out(bins);
  const double width = (high - low) / static_cast<double>(bins);
  for (uint32_t i = 0; i < bins; ++i) out[i] = {low + width * i, low + width * (i + 1), 0};
  errors.for_each([&](double value, uint64_t times) {
    const double place = std::clamp((value - low) / width, 0.0, static_cast<double>(bins - 1));
    out[static_cast<size_t>(place)].count += times;
  });
  return out;
}

Certificate certificate_of(const AuditOptions& options, const Quantiles& sizes, uint64_t exceed) {
  Certificate out{options.eps, options.rho, options.confidence, sizes.count(),
                  exceed,      1,           std::nullopt,       false};
  out.rho_bound = clopper_pearson_upper(exceed, out.n, options.confidence);
  out.certified = out.rho_bound <= options.rho;
  const int64_t allowed = largest_certifiable_count(out.n, options.rho, options.confidence);
  if (allowed < 0) return out;
  const double size = sizes.order_statistic(out.n - 1 - static_cast<uint64_t>(allowed));
  if (size < kUnbounded) out.smallest_eps = size;
  return out;
}

}  // namespace

OptionTable audit_option_table(AuditOptions& o) {
  OptionTable table;
  table.add("eps", &o.eps, "Certify |log Z - c| <= eps").above(0);
  table.add("rho", &o.rho, "... for all but this fraction of inputs").above(0).below(1);
  table.add("confidence", &o.confidence, "... with this confidence").above(0).below(1);
  table.add("bins", &o.bins, "Bins of the histogram").at_least(1);
  table.add("worst", &o.worst, "List the N inputs with the largest |log Z - c|");
  return table;
}

void AuditOptions::validate() const {
  AuditOptions copy = *this;
  audit_option_table(copy).validate();
}

uint64_t Certificate::inputs_needed() const {
  return static_cast<uint64_t>(std::ceil(std::log1p(-confidence) / std::log1p(-rho)));
}

double clopper_pearson_upper(uint64_t exceed, uint64_t n, double confidence) {
  require_range(confidence > 0 && confidence < 1, "confidence", confidence, "a number between 0 and 1");
  if (n == 0) throw Error("a certificate needs at least one held-out input, received none");
  if (exceed > n) {
    throw_error("{} of {} inputs exceed the bound; expected at most {}", exceed, n, n);
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

ErrorAuditor::ErrorAuditor(const AuditOptions& options) : options_(options), worst_(options.worst) {
  options_.validate();
}

void ErrorAuditor::add(uint64_t example, double error, double doubt) {
  SELFNORM_CHECK(std::isfinite(error) && doubt >= 0);
  const double size = std::abs(error) + doubt;
  moments_.add(error);
  smallest_ = moments_.n == 1 ? error : std::min(smallest_, error);
  largest_ = moments_.n == 1 ? error : std::max(largest_, error);
  errors_.add(error);
  sizes_.add(std::min(size, kUnbounded));
  exceed_ += size > options_.eps ? 1 : 0;
  worst_.add({example, error});
}

ErrorAudit ErrorAuditor::finish() {
  SELFNORM_CHECK(count() > 0);
  ErrorAudit out;
  out.log_z = {.mean = moments_.mean,
               .std = std::sqrt(moments_.variance()),
               .rms = std::sqrt(moments_.variance() + moments_.mean * moments_.mean),
               .min = smallest_,
               .max = largest_,
               .q01 = errors_.quantile(0.01),
               .q50 = errors_.quantile(0.5),
               .q99 = errors_.quantile(0.99)};
  for (const double q : kQuantiles) out.quantiles.emplace_back(q, errors_.quantile(q));
  out.quantiles.front().second = smallest_;
  out.quantiles.back().second = largest_;
  out.exact_quantiles = errors_.is_exact();
  out.histogram = histogram_of(errors_, options_.bins);
  out.worst = worst_.taken();
  out.certificate = certificate_of(options_, sizes_, exceed_);
  return out;
}

}  // namespace selfnorm
