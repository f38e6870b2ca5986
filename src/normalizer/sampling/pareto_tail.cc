#include "normalizer/sampling/pareto_tail.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "math/kernels.h"

namespace selfnorm {
namespace {

constexpr size_t kLeastTail = 5;

double mean_log(const std::vector<double>& x, double theta) {
  double sum = 0;
  for (const double v : x) sum += std::log1p(-theta * v);
  return sum / static_cast<double>(x.size());
}

}  // namespace

ParetoTail::ParetoTail(uint64_t weights)
    : size_(static_cast<uint64_t>(
          std::min(static_cast<double>(weights) / 5, 3 * std::sqrt(static_cast<double>(weights))))) {}

void ParetoTail::add(double log_weight) {
  largest_.push_back(log_weight);
  if (largest_.size() < 2 * (size_ + 1)) return;
  const auto end = largest_.begin() + static_cast<std::ptrdiff_t>(size_ + 1);
  std::nth_element(largest_.begin(), end, largest_.end(), std::greater<>());
  largest_.erase(end, largest_.end());
}

double ParetoTail::shape() const {
  std::vector<double> sorted = largest_;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (sorted.size() <= size_ || !std::isfinite(sorted[size_])) return 0;
  const double cutoff = sorted[size_], scale = std::exp(cutoff - sorted[0]);
  std::vector<double> exceedances;  // in units of the largest weight
  for (size_t i = size_; i-- > 0;)
    if (sorted[i] > cutoff)
      exceedances.push_back(scale == 0 ? std::exp(sorted[i] - sorted[0])
                                       : scale * std::expm1(sorted[i] - cutoff));
  std::erase(exceedances, 0.0);
  return exceedances.size() < kLeastTail ? 0 : pareto_shape(exceedances);
}

// theta_j = 1/x_n + (1 - sqrt(m / (j - 1/2))) / (3 x_{n/4}), k_j = mean log(1 - theta_j x), profile
// likelihood n (log(-theta_j / k_j) - k_j - 1); k at the mean of theta under it, drawn to 1/2 by 10
// observations.
double pareto_shape(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  const auto m = static_cast<size_t>(30 + std::floor(std::sqrt(n)));
  const double quartile = x[static_cast<size_t>(n / 4 + 0.5) - 1];
  std::vector<double> theta(m), likelihood(m);
  for (size_t j = 0; j < m; ++j) {
    theta[j] = 1 / x.back() +
               (1 - std::sqrt(static_cast<double>(m) / (static_cast<double>(j) + 0.5))) / (3 * quartile);
    const double k = mean_log(x, theta[j]);
    const double l = n * (std::log(-theta[j] / k) - k - 1);
    likelihood[j] = std::isfinite(l) ? l : -HUGE_VAL;
  }
  const double total = exp_in_place(likelihood.data(), m).sum;
  double mean = 0;
  for (size_t j = 0; j < m; ++j) mean += theta[j] * likelihood[j] / total;
  return (n * mean_log(x, mean) + 5) / (n + 10);
}

}  // namespace selfnorm
