#include "normalizer/quadrature/conditional_cells.h"

#include <limits>
#include <numeric>

#include "base/failure.h"

namespace selfnorm {
namespace {

constexpr double kFastestCellDecay = 100;  // of errors, from a cell to its halves
constexpr double kCoefficientShare = 0.1;  // of |c_k| that counts as error
constexpr double kCellRounding = 1e-7;     // of scores, relative
constexpr double kFloatStep = std::numeric_limits<float>::epsilon();

void check_score(double s, double y) {
  if (std::isnan(s) || s == INFINITY)
    throw_error("the score near y = {} is {}; the model is damaged or training diverged", y, s);
}

}  // namespace

ConditionalRule::ConditionalRule(uint32_t d)
    : dimension(d), points(static_cast<uint32_t>(cell_rule(d).size())) {
  const KronrodRule& line = cell_rule(d);
  for (uint32_t j = 0; j < d; ++j) nodes *= points;
  weight.assign(nodes, 1);
  place.resize(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    size_t rest = i;
    for (uint32_t j = 0; j < d; ++j, rest /= points) {
      place[i][j] = static_cast<uint32_t>(rest % points);
      weight[i] *= line.weight[rest % points];
    }
  }
}

double ConditionalRule::error(std::span<const double> slices) const {
  const KronrodRule& line = cell_rule(dimension);
  double difference = 0;
  for (size_t a = 0; a < slices.size(); ++a)
    difference += (line.weight[a] - line.gauss_weight[a]) * slices[a];
  return std::max(std::abs(difference), kCoefficientShare * line.roughness(slices));
}

ConditionalCells::ConditionalCells(const ConditionalRule& rule, const ConditionalStart& start,
                                   const ConditionalBox& support)
    : rule_(&rule), support_(support), region_(start.region), unseen_(start.unseen) {
  for (uint32_t j = 0; j < rule.dimension; ++j) centre_[j] = region_.lower[j] / 2 + region_.upper[j] / 2;
  for (const ConditionalBox& box : start.cells) ask(box, {});
  walls_waiting_ = has_wall(false) + has_wall(true);
}

bool ConditionalCells::has_wall(bool is_upper) const {
  return rule_->dimension == 1 && std::isfinite(is_upper ? support_.upper[0] : support_.lower[0]);
}

// y as float32; rounding must not leave the support.
float ConditionalCells::inside(double y, uint32_t axis) const {
  const float at = static_cast<float>(y);
  if (at < support_.lower[axis]) return std::nextafterf(at, INFINITY);
  if (at > support_.upper[axis]) return std::nextafterf(at, -INFINITY);
  return at;
}

void ConditionalCells::ask(const ConditionalBox& box, const Scaled& parent_error) {
  Cell cell;
  cell.box = box;
  cell.slot = cells_.size();
  cell.parent_error = parent_error;
  waiting_.push_back(cells_.size());
  cells_.push_back(cell);
}

void ConditionalCells::nodes(std::span<float> y) const {
  const uint32_t d = rule_->dimension;
  const std::vector<double>& node = cell_rule(d).node;
  float* out = y.data();
  for (const size_t c : waiting_)
    for (size_t i = 0; i < rule_->nodes; ++i)
      for (uint32_t j = 0; j < d; ++j) {
        const ConditionalBox& box = cells_[c].box;
        *out++ = inside(box.lower[j] + node[rule_->place[i][j]] * box.width(j), j);
      }
  for (const bool is_upper : {false, true})
    if (walls_waiting_ > 0 && has_wall(is_upper))
      *out++ = inside(is_upper ? support_.upper[0] : support_.lower[0], 0);
}

void ConditionalCells::take(std::span<const double> s) {
  const size_t n = rule_->nodes;
  scores_.resize(cells_.size() * n);
  for (size_t w = 0; w < waiting_.size(); ++w) {
    Cell& cell = cells_[waiting_[w]];
    std::copy_n(s.begin() + static_cast<std::ptrdiff_t>(w * n), n,
                scores_.begin() + static_cast<std::ptrdiff_t>(cell.slot * n));
    measure(cell);
  }
  const double* wall = s.data() + waiting_.size() * n;
  for (const bool is_upper : {false, true})
    if (walls_waiting_ > 0 && has_wall(is_upper)) {
      // Infinite on a bound alone: a singularity, which may have an integral.
      if (*wall != INFINITY) {
        check_score(*wall, is_upper ? support_.upper[0] : support_.lower[0]);
        wall_[is_upper] = *wall;
      }
      ++wall;
    }
  evaluations_ += s.size();
  waiting_.clear();
  walls_waiting_ = 0;
}

// One dimension: s, asked at float32, is moved to the nodes along the flatter of the slopes on either side, 0
// when they differ in sign. `doubt` is what the two make different.
void ConditionalCells::unround(const ConditionalBox& box, std::span<double> s,
                               std::span<double> doubt) const {
  const std::vector<double>& node = cell_rule(1).node;
  const size_t n = s.size();
  std::array<double, 16> at{}, asked{}, before{}, after{};
  std::copy(s.begin(), s.end(), asked.begin());
  for (size_t i = 0; i < n; ++i)
    at[i] = static_cast<double>(inside(box.lower[0] + node[i] * box.width(0), 0));
  const auto slope = [&](size_t i, size_t j) { return (asked[i] - asked[j]) / (at[i] - at[j]); };
  // Nodes that are the same float32 have the same slopes.
  for (size_t i = 1; i < n; ++i) before[i] = at[i] > at[i - 1] ? slope(i, i - 1) : before[i - 1];
  for (size_t i = n - 1; i-- > 0;) after[i] = at[i + 1] > at[i] ? slope(i + 1, i) : after[i + 1];
  for (size_t i = 0; i < n; ++i) {
    const double left = at[i] > at[0] ? before[i] : after[i],
                 right = at[i] < at[n - 1] ? after[i] : before[i];
    const double step = box.lower[0] + node[i] * box.width(0) - at[i];
    const double flatter = std::abs(left) < std::abs(right) ? left : right;
    doubt[i] = std::isfinite(left) && std::isfinite(right) ? std::abs(step * (right - left)) : 0;
    if (left * right > 0 && std::isfinite(flatter)) s[i] += step * flatter;
  }
}

void ConditionalCells::measure(Cell& cell) {
  const uint32_t d = rule_->dimension;
  const KronrodRule& line = cell_rule(d);
  const std::span<double> s = std::span(scores_).subspan(cell.slot * rule_->nodes, rule_->nodes);
  for (const double v : s) check_score(v, cell.box.lower[0]);
  std::array<double, 16> moved{};
  if (d == 1) unround(cell.box, s, moved);
  cell.peak = *std::max_element(s.begin(), s.end());
  cell.error = {cell.parent_error.mantissa / kFastestCellDecay, cell.parent_error.exponent};
  if (std::isinf(cell.peak)) return;
  double depth = 0, doubt = 0, error = 0;
  std::array<std::array<double, 16>, 3> slice{};
  for (size_t i = 0; i < s.size(); ++i) {
    const double fall = cell.peak - s[i], e = std::exp(-fall);
    if (e == 0) continue;
    cell.value += rule_->weight[i] * e;
    depth += rule_->weight[i] * e * fall;
    if (d == 1) doubt += rule_->weight[i] * e * moved[i];
    for (uint32_t j = 0; j < d; ++j)
      slice[j][rule_->place[i][j]] += rule_->weight[i] / line.weight[rule_->place[i][j]] * e;
  }
  double volume = 1, step = 0, largest = 0;
  for (uint32_t j = 0; j < d; ++j) {
    const double reach = std::max(std::abs(cell.box.lower[j]), std::abs(cell.box.upper[j]));
    volume *= cell.box.width(j);
    step += kFloatStep * reach / cell.box.width(j);
    const double along = rule_->error(std::span(slice[j]).first(rule_->points));
    error += along;
    if (along > largest) cell.axis = j;
    largest = std::max(largest, along);
  }
  if (error * volume > cell.error.relative_to(cell.peak)) cell.error = {error * volume, cell.peak};
  cell.value *= volume;
  // More dimensions: nodes are rounded to float32, by half of `step` of the width; along it s changes by a
  // few of its mean depth, and the signs are as good as random.
  cell.rounding = kCellRounding * cell.value + (d == 1 ? doubt : depth * step) * volume;
}

ConditionalCells::Totals ConditionalCells::totals() const {
  Totals out;
  for (const Cell& cell : cells_) out.peak = std::max(out.peak, cell.peak);
  if (std::isinf(out.peak)) return out;
  for (const Cell& cell : cells_) {
    const double e = std::exp(cell.peak - out.peak);
    out.value += e * cell.value;
    out.error += cell.doubt(out.peak);
    out.rounding += e * cell.rounding;
  }
  for (uint32_t j = 0; j < rule_->dimension; ++j)
    for (const bool is_upper : {false, true})
      if (is_open(j, is_upper)) out.tail += beyond(j, is_upper, out.peak);
  return out;
}

double ConditionalCells::relative_error(const Totals& all) const {
  const double share = (all.error + all.rounding + all.tail) / all.value + unseen_;
  return share < 1 ? -std::log1p(-share) : INFINITY;
}

ConditionalLogZ ConditionalCells::log_z() const {
  const Totals all = totals();
  return {all.peak + std::log(all.value), relative_error(all)};
}

PredictiveNodes ConditionalCells::result() const {
  const uint32_t d = rule_->dimension;
  const Totals all = totals();
  PredictiveNodes out;
  out.log_normalizer = all.peak + std::log(all.value);
  out.error = relative_error(all);
  out.tail = all.tail / all.value;
  out.evaluations = evaluations_;
  out.nodes_per_cell = static_cast<uint32_t>(rule_->nodes);
  std::vector<size_t> order(cells_.size());
  std::iota(order.begin(), order.end(), 0);
  if (d == 1)
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return cells_[a].box.lower[0] < cells_[b].box.lower[0]; });
  out.log_weight.reserve(cells_.size() * rule_->nodes);
  out.log_density.reserve(cells_.size() * rule_->nodes);
  for (const size_t c : order) {
    const ConditionalBox& box = cells_[c].box;
    double volume = 1;
    for (uint32_t j = 0; j < d; ++j) {
      volume *= box.width(j);
      if (d > 1) out.box.insert(out.box.end(), {box.lower[j], box.upper[j]});
    }
    if (d == 1) out.edge.push_back(box.lower[0]);
    for (size_t i = 0; i < rule_->nodes; ++i) {
      out.log_weight.push_back(std::log(rule_->weight[i] * volume));
      out.log_density.push_back(scores_[cells_[c].slot * rule_->nodes + i] - out.log_normalizer);
    }
  }
  if (d == 1) out.edge.push_back(region_.upper[0]);
  return out;
}

}  // namespace selfnorm
