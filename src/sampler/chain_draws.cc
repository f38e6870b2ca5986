#include "sampler/chain_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

// One coordinate of half-chains of n draws each, less their means.
struct HalfChains {
  size_t n;
  std::vector<double> mean;
  std::vector<double> centred;  // half-chain after half-chain

  HalfChains(const ChainDraws& draws, uint32_t j) : n(draws.draws / 2) {
    const Points x = draws.points();
    for (uint64_t chain = 0; chain < draws.chains; ++chain) {
      for (const uint64_t first : {uint64_t{0}, draws.draws - n}) {
        double sum = 0;
        for (uint64_t t = first; t < first + n; ++t) {
          centred.push_back(static_cast<double>(x.row(t * draws.chains + chain)[j]));
          sum += centred.back();
        }
        mean.push_back(sum / static_cast<double>(n));
        for (size_t t = centred.size() - n; t < centred.size(); ++t) centred[t] -= mean.back();
      }
    }
  }

  // (1/n) sum_t c_t c_{t+lag}, mean over half-chains.
  double autocovariance(size_t lag) const {
    double sum = 0;
    for (size_t first = 0; first < centred.size(); first += n)
      for (size_t t = first; t + lag < first + n; ++t) sum += centred[t] * centred[t + lag];
    return sum / static_cast<double>(centred.size());
  }

  double variance_of_means() const {
    double grand = 0, square = 0;
    for (const double m : mean) grand += m;
    grand /= static_cast<double>(mean.size());
    for (const double m : mean) square += (m - grand) * (m - grand);
    return square / static_cast<double>(mean.size() - 1);
  }
};

struct Diagnosis {
  double r_hat, effective;
};

Diagnosis diagnose(const HalfChains& half) {
  const auto n = static_cast<double>(half.n), total = static_cast<double>(half.centred.size());
  const double first = half.autocovariance(0), within = first * n / (n - 1);
  const double pooled = first + half.variance_of_means();
  if (pooled == 0) return {1, total};
  const auto correlation = [&](size_t lag) { return 1 - (within - half.autocovariance(lag)) / pooled; };
  double sum = 0, last = std::numeric_limits<double>::infinity();
  for (size_t lag = 0; lag + 1 < half.n; lag += 2) {
    const double pair = (lag == 0 ? 1 : correlation(lag)) + correlation(lag + 1);
    if (pair <= 0) break;
    last = std::min(last, pair);
    sum += last;
  }
  return {std::sqrt(pooled / within), total / std::max(2 * sum - 1, 1 / std::log10(total))};
}

}  // namespace

double ChainDiagnostics::worst_r_hat() const { return *std::max_element(r_hat.begin(), r_hat.end()); }

double ChainDiagnostics::least_effective() const {
  return *std::min_element(effective.begin(), effective.end());
}

ChainDiagnostics chain_diagnostics(const ChainDraws& draws) {
  if (draws.draws < 4 || draws.chains == 0)
    throw_error(
        "found {} chains of {} draws; expected at least 1 of 4 or more, so that halves have a variance",
        draws.chains, draws.draws);
  ChainDiagnostics out{std::vector<double>(draws.dimension), std::vector<double>(draws.dimension)};
  parallel_units(draws.dimension, [&](size_t j) {
    const Diagnosis d = diagnose(HalfChains(draws, static_cast<uint32_t>(j)));
    out.r_hat[j] = d.r_hat;
    out.effective[j] = d.effective;
  });
  return out;
}

}  // namespace selfnorm
