#include "normalizer/sampling/importance_log_z.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/special_functions.h"

namespace selfnorm {

void WeightSum::add(double log_weight) {
  first.add(log_weight);
  second.add(2 * log_weight);
  ++count;
}

double WeightSum::log_mean() const { return first.value() - std::log(static_cast<double>(count)); }

double WeightSum::effective() const {
  return first.sum == 0 ? 0 : std::exp(2 * first.value() - second.value());
}

double WeightSum::error() const {
  const auto n = static_cast<double>(count);
  return std::sqrt(std::max(0.0, n / effective() - 1) / (n - 1));
}

double WeightSum::reach() const {
  return student_t_quantile(0.975, std::max(1.0, effective() - 1)) * error();
}

namespace {

constexpr double kLargestShape = 0.9;

// log(1 + w_max / ((1 - k) sum w)); `first.sum` is sum w / w_max.
double log_beyond(const WeightSum& sum, double shape) {
  return shape > 0 ? std::log1p(1 / ((1 - std::min(shape, kLargestShape)) * sum.first.sum)) : 0;
}

constexpr uint64_t kMostDraws = uint64_t{1} << 20, kMostPerDraw = 4;
constexpr double kShareError = 0.01;  // of log q(S)

constexpr uint64_t kMostRows = 16384;
constexpr uint64_t kValues = uint64_t{1} << 22;  // of a block of wide rows

constexpr size_t kLeastTail = 5;

double mean_log(const std::vector<double>& x, double theta) {
  double sum = 0;
  for (const double v : x) sum += std::log1p(-theta * v);
  return sum / static_cast<double>(x.size());
}

}  // namespace

LogZEstimate importance_log_z(const Energy& energy, const Density& proposal, uint64_t samples,
                              uint64_t seed) {
  require_range(samples >= 2, "samples", static_cast<double>(samples), ">= 2");
  const WeightedDraws draws(energy, proposal, samples, seed);
  WeightSum sum;
  ParetoTail tail(samples);
  WeightedDraws::Block block;
  for (uint64_t b = 0; b < draws.blocks(); ++b) {
    draws.draw(b, block);
    for (const double w : block.log_weight) {
      sum.add(w);
      tail.add(w);
    }
  }
  if (sum.effective() == 0)
    throw_error(
        "none of {} draws of the proposal is possible under the energy; expected a proposal that covers it: "
        "fit one to the data",
        samples);
  const double value = sum.log_mean(), reach = sum.reach(), shape = tail.shape();
  const double high = value + reach + log_beyond(sum, shape);
  return {"importance", value, value - reach, high, sum.effective(), samples, shape};
}

PossibleDraws possible_draws(const Energy& energy, const Density& proposal, uint64_t n, uint64_t seed) {
  require_range(n >= 1, "draws", static_cast<double>(n), ">= 1");
  const size_t d = energy.dimension();
  const WeightedDraws draws(energy, proposal, std::max(kMostDraws, kMostPerDraw * n), seed);
  PossibleDraws out;
  WeightedDraws::Block block;
  uint64_t inside = 0;
  for (uint64_t b = 0; b < draws.blocks(); ++b) {
    draws.draw(b, block);
    for (size_t i = 0; i < block.log_weight.size(); ++i) {
      const bool is_inside = !std::isinf(block.log_weight[i]);
      out.share.add(is_inside ? 0 : -std::numeric_limits<double>::infinity());
      if (!is_inside || ++inside > n) continue;
      const float* row = block.rows.data() + i * d;
      out.rows.insert(out.rows.end(), row, row + d);
    }
    if (inside >= n && out.share.error() <= kShareError) return out;
  }
  if (inside >= n) return out;
  throw_error(
      "{} of {} draws of the proposal are possible under the energy, {} are needed; expected a proposal that "
      "covers it: fit one to the data",
      inside, draws.count(), n);
}

WeightedDraws::WeightedDraws(const Energy& energy, const Density& proposal, uint64_t count, uint64_t seed)
    : path_(energy, proposal),
      proposal_(proposal),
      count_(count),
      seed_(seed),
      block_rows_(std::clamp<uint64_t>(kValues / energy.dimension(), 256, kMostRows)) {}

void WeightedDraws::points(uint64_t block, Block& out) const {
  const uint64_t rows = std::min(block_rows_, count_ - block * block_rows_);
  out.rows.resize(rows * path_.dimension());
  out.log_q.resize(path_.needs_log_q() ? rows : 0);
  sample_density(proposal_, RandomStream(seed_, block).next(), out.rows, out.log_q);
}

void WeightedDraws::draw(uint64_t block, Block& out) const {
  points(block, out);
  const Points x{out.rows.data(), out.rows.size() / path_.dimension(), path_.dimension()};
  out.log_weight.resize(x.rows);
  path_.weights(x, out.log_q, out.log_weight);
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (out.log_weight[i] < std::numeric_limits<double>::infinity()) continue;
    throw_error(
        "draw {} of the proposal has the log weight {}; expected a finite number or -inf: the parameters of "
        "the energy are damaged, or training diverged",
        block * block_rows_ + i, out.log_weight[i]);
  }
}

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
  const double quartile = x[static_cast<size_t>(std::floor(n / 4 + 0.5)) - 1];
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
