#include "conditional_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

constexpr double kFastestDecay = 100;      // of errors, from a cell to its halves
constexpr double kCoefficientShare = 0.1;  // of |c_k| that counts as error
constexpr double kRounding = 1e-7;         // of scores, relative
constexpr double kFloatStep = std::numeric_limits<float>::epsilon();

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
        // Rounding must not leave the support.
        float v = static_cast<float>(box.lower[j] + node[rule_->place[i][j]] * box.width(j));
        if (v < support_.lower[j]) v = std::nextafterf(v, INFINITY);
        if (v > support_.upper[j]) v = std::nextafterf(v, -INFINITY);
        *out++ = v;
      }
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
  evaluations_ += s.size();
  waiting_.clear();
}

void ConditionalCells::measure(Cell& cell) {
  const uint32_t d = rule_->dimension;
  const KronrodRule& line = cell_rule(d);
  const std::span<const double> s = std::span(scores_).subspan(cell.slot * rule_->nodes, rule_->nodes);
  for (const double v : s)
    if (std::isnan(v) || v == INFINITY)
      throw Error(fmt::format("the score near y = {} is {}; the model is damaged or training diverged",
                              cell.box.lower[0], v));
  cell.peak = *std::max_element(s.begin(), s.end());
  cell.error = {cell.parent_error.mantissa / kFastestDecay, cell.parent_error.exponent};
  if (std::isinf(cell.peak)) return;
  double depth = 0, error = 0;
  std::array<std::array<double, 16>, 3> slice{};
  for (size_t i = 0; i < s.size(); ++i) {
    const double fall = cell.peak - s[i], e = std::exp(-fall);
    if (e == 0) continue;
    cell.value += rule_->weight[i] * e;
    depth += rule_->weight[i] * e * fall;
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
  // Nodes are rounded to float32, by half of `step` of the width; along it s changes by a few of its mean
  // depth, and the signs are as good as random.
  cell.rounding = kRounding * cell.value + depth * volume * step;
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
  const std::vector<double>& node = cell_rule(d).node;
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
  out.y.reserve(cells_.size() * rule_->nodes * d);
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
      for (uint32_t j = 0; j < d; ++j)
        out.y.push_back(static_cast<float>(box.lower[j] + node[rule_->place[i][j]] * box.width(j)));
      out.log_weight.push_back(std::log(rule_->weight[i] * volume));
      out.log_density.push_back(scores_[cells_[c].slot * rule_->nodes + i] - out.log_normalizer);
    }
  }
  if (d == 1) out.edge.push_back(region_.upper[0]);
  return out;
}

}  // namespace selfnorm
