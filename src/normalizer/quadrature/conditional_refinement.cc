// Where the cells of conditional_cells.h are halved and their region grows.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "normalizer/quadrature/conditional_cells.h"

namespace selfnorm {
namespace {

constexpr double kLeastPower = 1.5;  // of the distance, with which tails have to decay
// Correlated mass leaves a region at its corners, where some lines rise; they count this much more.
constexpr double kRising = 100;
constexpr double kLargestRatio = 16;  // of distances between which a power is measured
constexpr double kLargestDrop = 0.3;  // of s between neighbouring nodes of two cells, a bound and a node,
constexpr double kLeastDrop = 0.001;  // and the least one that counts
constexpr double kMostFolds = 20;     // of a drop at a bound that count
constexpr double kLeakScales = 10;
constexpr uint32_t kMostCellShells = 120;
constexpr double kTailShare = 0.3;                                          // of the precision
constexpr double kLeastWidth = 16 * std::numeric_limits<float>::epsilon();  // of a cell, relative

// How much s falls from `end` to the first node of a cell beyond what its first two nodes say, which is
// believed up to kLargestDrop; `ratio` of the distances to the first and between the two.
double unexplained_drop(double end, double first, double second, double ratio) {
  const double drop = end - first, explained = std::max(0.0, ratio * (first - second));
  return drop > kLargestDrop ? drop : drop - explained;
}

}  // namespace

bool ConditionalCells::is_splittable(const ConditionalBox& box) const {
  for (uint32_t j = 0; j < rule_->dimension; ++j) {
    const double reach = std::max(std::abs(box.lower[j]), std::abs(box.upper[j]));
    if (box.width(j) < kLeastWidth * reach) return false;
  }
  return true;
}

bool ConditionalCells::is_open(uint32_t axis, bool is_upper) const {
  return is_upper ? region_.upper[axis] < support_.upper[axis] : region_.lower[axis] > support_.lower[axis];
}

// Along every line of nodes that ends at this side: the power of the distance between its middle and its last
// node.
double ConditionalCells::beyond(const Cell& cell, uint32_t axis, bool is_upper, double peak) const {
  const KronrodRule& line = cell_rule(rule_->dimension);
  const double* s = &scores_[cell.slot * rule_->nodes];
  const double reach = is_upper ? region_.upper[axis] - centre_[axis] : centre_[axis] - region_.lower[axis];
  const uint32_t last = rule_->points - 1, middle = last / 2;
  const double inside = (1 - line.node[middle]) * cell.box.width(axis),
               end_inside = (1 - line.node[last]) * cell.box.width(axis);
  const double log_ratio = std::log((reach - end_inside) / std::max(reach - inside, reach / kLargestRatio));
  double across = 1;
  for (uint32_t j = 0; j < rule_->dimension; ++j)
    if (j != axis) across *= cell.box.width(j);
  size_t stride = 1;
  for (uint32_t j = 0; j < axis; ++j) stride *= rule_->points;
  double sum = 0;
  for (size_t i = 0; i < rule_->nodes; ++i) {
    if (rule_->place[i][axis] != middle) continue;
    const double end = s[is_upper ? i + stride * (last - middle) : i - stride * middle];
    if (std::isinf(end)) continue;
    const double power = (s[i] - end) / log_ratio;
    const double decay = power > kLeastPower ? 1 / (power - 1) : rule_->dimension == 1 ? INFINITY : kRising;
    sum += rule_->weight[i] / line.weight[middle] * std::exp(end - peak) * reach * decay;
  }
  return sum * across;
}

double ConditionalCells::beyond(uint32_t axis, bool is_upper, double peak) const {
  double sum = 0;
  for (const Cell& cell : cells_)
    if (is_upper ? cell.box.upper[axis] == region_.upper[axis] : cell.box.lower[axis] == region_.lower[axis])
      sum += beyond(cell, axis, is_upper, peak);
  return sum;
}

void ConditionalCells::widen(uint32_t axis, bool is_upper) {
  ConditionalBox shell = region_;
  const double reach =
      2 * (is_upper ? region_.upper[axis] - centre_[axis] : centre_[axis] - region_.lower[axis]);
  if (is_upper) {
    shell.lower[axis] = region_.upper[axis];
    shell.upper[axis] = region_.upper[axis] = std::min(support_.upper[axis], centre_[axis] + reach);
  } else {
    shell.upper[axis] = region_.lower[axis];
    shell.lower[axis] = region_.lower[axis] = std::max(support_.lower[axis], centre_[axis] - reach);
  }
  ask(shell, {});
}

// Between the last node of `high` and the first of its neighbour the density falls by more than a rule can
// see. With p at the first of the two, p e^-drop at the second and `rate` = -ds/dy before the first, the mass
// between them that the second does not know is about p (1 - e^-drop) min(distance, 1 / rate).
void ConditionalCells::find_leak(const Cell& high, Cell& low, bool is_low_above) {
  const std::vector<double>& node = cell_rule(1).node;
  const size_t n = rule_->nodes, last = n - 1, middle = last / 2;
  const double* s = &scores_[high.slot * n];
  const double* beside = &scores_[low.slot * n];
  const double distance = node[0] * (high.box.width(0) + low.box.width(0));
  const double end = s[is_low_above ? last : 0];
  const double drop =
      unexplained_drop(end, beside[is_low_above ? 0 : last], beside[is_low_above ? 1 : last - 1],
                       distance / ((node[1] - node[0]) * low.box.width(0)));
  // Beside a wider cell a small one is that cell's slope.
  if (!(drop > (low.box.width(0) < high.box.width(0) ? kLargestDrop : kLeastDrop))) return;
  const double rate = (s[middle] - end) / ((node[last] - node[middle]) * high.box.width(0));
  const double scale = rate * distance > 1 ? 1 / rate : distance;
  const double reach = std::min(low.box.width(0) / 2, kLeakScales * scale);
  const double mass = -std::expm1(-drop) * scale;
  if (low.leak.relative_to(end) >= mass) return;
  low.leak = {mass, end};
  low.cut = is_low_above ? low.box.lower[0] + reach : low.box.upper[0] - reach;
}

// The same between a bound of the support, where exp s is p, and the first node: if s falls evenly by `drop`
// over the distance, the mass is p (1 - e^-drop) distance / drop.
void ConditionalCells::find_wall_leak(Cell& cell, bool is_upper) {
  const std::vector<double>& node = cell_rule(1).node;
  const double* s = &scores_[cell.slot * rule_->nodes];
  const size_t last = rule_->nodes - 1;
  const double drop = unexplained_drop(wall_[is_upper], s[is_upper ? last : 0], s[is_upper ? last - 1 : 1],
                                       node[0] / (node[1] - node[0]));
  if (!(drop > kLeastDrop)) return;
  const double scale = node[0] * cell.box.width(0) / std::clamp(drop, 1.0, kMostFolds);
  const double reach = std::min(cell.box.width(0) / 2, kLeakScales * scale);
  const double mass = -std::expm1(-drop) * scale;
  if (cell.leak.relative_to(wall_[is_upper]) >= mass) return;
  cell.leak = {mass, wall_[is_upper]};
  cell.cut = is_upper ? cell.box.upper[0] - reach : cell.box.lower[0] + reach;
}

void ConditionalCells::find_leaks() {
  std::vector<Cell*> order;
  for (Cell& cell : cells_) {
    cell.leak = {};
    order.push_back(&cell);
  }
  std::sort(order.begin(), order.end(),
            [](const Cell* a, const Cell* b) { return a->box.lower[0] < b->box.lower[0]; });
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    find_leak(*order[i], *order[i + 1], true);
    find_leak(*order[i + 1], *order[i], false);
  }
  if (!is_open(0, false)) find_wall_leak(*order.front(), false);
  if (!is_open(0, true)) find_wall_leak(*order.back(), true);
}

void ConditionalCells::split(double target, double peak, uint64_t most) {
  std::vector<size_t> order;
  std::vector<double> error(cells_.size());
  double rest = 0;  // of what splitting makes smaller
  for (size_t c = 0; c < cells_.size(); ++c) {
    error[c] = cells_[c].doubt(peak);
    const double rounding = std::exp(cells_[c].peak - peak) * cells_[c].rounding;
    if (!(error[c] > rounding && is_splittable(cells_[c].box))) continue;
    order.push_back(c);
    rest += error[c];
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return error[a] > error[b]; });
  // The fewest cells without which half the target is met, and half of what is left to spend: the worst of
  // the cells are then known better.
  const uint64_t used = evaluations_ + waiting();
  const size_t affordable =
      most <= used ? 0 : static_cast<size_t>((most - used) / (2 * rule_->nodes) + 1) / 2;
  for (size_t i = 0; i < std::min(affordable, order.size()) && rest > target / 2; ++i) {
    Cell& parent = cells_[order[i]];
    rest -= error[order[i]];
    const Scaled parent_error = parent.error;
    const uint32_t axis = parent.axis;
    ConditionalBox upper = parent.box;
    Cell lower;
    lower.box = parent.box;
    lower.slot = parent.slot;
    lower.parent_error = parent_error;
    const bool leaks = parent.leak.relative_to(peak) > parent.error.relative_to(peak);
    lower.box.upper[axis] = upper.lower[axis] =
        leaks ? parent.cut : parent.box.lower[axis] / 2 + parent.box.upper[axis] / 2;
    parent = lower;
    waiting_.push_back(order[i]);
    ask(upper, parent_error);
  }
}

bool ConditionalCells::plan(double precision, uint64_t most) {
  const uint32_t d = rule_->dimension;
  if (d == 1) find_leaks();
  const Totals now = totals();
  const bool has_mass = now.value > 0;
  // relative_error <= precision; nothing is gained below what rounding leaves.
  const double share = std::max(-std::expm1(-precision) - unseen_, precision / 2);
  const double least = std::max(share * now.value - now.rounding, now.rounding);
  const double tail_target = kTailShare * least;
  if (!(now.tail <= tail_target) || !has_mass) {
    uint32_t open = 0;
    for (uint32_t j = 0; j < d; ++j) open += is_open(j, false) + is_open(j, true);
    const bool is_over = shells_ >= kMostCellShells || evaluations_ + open * rule_->nodes > most;
    if (!has_mass && (open == 0 || is_over))
      throw_error("no mass was found in y = {} .. {}; the score is -inf there", region_.lower[0],
                  region_.upper[0]);
    if (is_over && now.tail > now.value)
      throw_error(
          "exp s does not decay up to y = {} .. {}, so it has no integral that can be computed; tilt a base "
          "distribution",
          region_.lower[0], region_.upper[0]);
    ++shells_;
    std::vector<std::pair<uint32_t, bool>> sides;  // all of them first: a new shell has no scores yet
    for (uint32_t j = 0; j < d && !is_over; ++j)
      for (const bool is_upper : {false, true})
        if (is_open(j, is_upper) && (!has_mass || !(beyond(j, is_upper, now.peak) <= tail_target / open)))
          sides.emplace_back(j, is_upper);
    for (const auto& [axis, is_upper] : sides) widen(axis, is_upper);
  }
  const double target = (1 - kTailShare) * least;
  if (now.error > target) split(target, now.peak, most);
  return !waiting_.empty();
}

}  // namespace selfnorm
