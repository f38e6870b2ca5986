#include "family/regressor/predictive_samples.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "family/regressor/line_table.h"

namespace selfnorm {

CellSampler::CellSampler(const PredictiveNodes& nodes, uint32_t dimension)
    : nodes_(nodes),
      dimension_(dimension),
      slice_(cell_rule(dimension).size()),
      lagrange_(cell_rule(dimension).size()) {
  const size_t n = nodes.nodes_per_cell;
  double sum = 0;
  for (size_t begin = 0; begin < nodes.log_density.size(); begin += n) {
    for (size_t i = begin; i < begin + n; ++i) sum += std::exp(nodes.log_weight[i] + nodes.log_density[i]);
    cumulative_.push_back(sum);
  }
}

// From the last coordinate, whose slices are contiguous, to the first: the slices' masses give its
// distribution, and the polynomial through them at the drawn place the density of the coordinates that are
// left.
void CellSampler::draw(RandomStream& random, std::span<double> y) {
  const KronrodRule& rule = cell_rule(dimension_);
  const size_t points = rule.size(), n = nodes_.nodes_per_cell;
  const double mass = random.uniform() * cumulative_.back();
  const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, mass);
  const auto cell = static_cast<size_t>(above - cumulative_.begin());
  density_.resize(n);
  double peak = -INFINITY;
  for (size_t i = 0; i < n; ++i) peak = std::max(peak, nodes_.log_density[cell * n + i]);
  for (size_t i = 0; i < n; ++i) density_[i] = std::exp(nodes_.log_density[cell * n + i] - peak);

  constexpr std::array<double, 2> kUnit = {0, 1};
  size_t left = n;
  for (uint32_t j = dimension_; j-- > 0;) {
    left /= points;
    for (size_t a = 0; a < points; ++a) {
      double sum = 0;
      for (size_t i = 0; i < left; ++i) {
        double weight = 1;
        for (size_t rest = i, k = 0; k < j; ++k, rest /= points) weight *= rule.weight[rest % points];
        sum += weight * density_[a * left + i];
      }
      slice_[a] = sum;
    }
    const LineTable line = LineTable::of_cells(rule, kUnit, slice_);
    const double t = line.place_of(random.uniform() * line.cumulative.back());
    const double from = nodes_.box[2 * (cell * dimension_ + j)];
    const double to = nodes_.box[2 * (cell * dimension_ + j) + 1];
    y[j] = std::clamp(from + (to - from) * t, from, to);
    rule.lagrange(t, lagrange_);
    for (size_t i = 0; i < left; ++i) {
      double sum = 0;
      for (size_t a = 0; a < points; ++a) sum += lagrange_[a] * density_[a * left + i];
      density_[i] = std::max(0.0, sum);
    }
  }
}

}  // namespace selfnorm
