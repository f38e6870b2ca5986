#include "normalizer/quadrature/cubature.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/failure.h"
#include "math/gauss_rule.h"
#include "math/kernels.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kRowsAtOnce = size_t{1} << 16;
constexpr double kLargestShrinkage = 0.8;
constexpr double kFastestDecay = 2;  // of errors, from level to level

// log |exp a - exp b|
double log_difference(double a, double b) {
  if (a == b) return -INFINITY;
  return std::max(a, b) + std::log(-std::expm1(-std::abs(a - b)));
}

}  // namespace

CubatureRule::CubatureRule(uint32_t d, uint32_t order) : dimension(d) {
  const GaussRule line(order);
  size_t nodes = 1;
  for (uint32_t j = 0; j < d; ++j) nodes *= order;
  for (size_t i = 0; i < nodes; ++i) {
    double weight = 1;
    size_t rest = i;
    for (uint32_t j = 0; j < d; ++j, rest /= order) {
      node.push_back(line.node[rest % order]);
      weight *= line.weight[rest % order];
    }
    log_weight.push_back(std::log(weight));
  }
}

std::vector<CubatureBox> box_grid(const CubatureBox& box, const std::array<uint32_t, 3>& cells,
                                  uint32_t dimension) {
  size_t count = 1;
  for (uint32_t j = 0; j < dimension; ++j) count *= cells[j];
  std::vector<CubatureBox> out(count);
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    for (uint32_t j = 0; j < dimension; ++j) {
      out[i].width[j] = box.width[j] / cells[j];
      out[i].lower[j] = box.lower[j] + static_cast<double>(rest % cells[j]) * out[i].width[j];
      rest /= cells[j];
    }
  }
  return out;
}

Cubature::Cubature(const Energy& energy, uint32_t order)
    : energy_(energy), rule_(energy.dimension(), order) {}

CubatureBox Cubature::half(const CubatureBox& box, size_t h) const {
  CubatureBox out = box;
  for (uint32_t j = 0; j < rule_.dimension; ++j) {
    out.width[j] = box.width[j] / 2;
    if (h >> j & 1) out.lower[j] += out.width[j];
  }
  return out;
}

// Nodes of the halves' halves are still different float32 numbers.
bool Cubature::is_splittable(const CubatureBox& box) const {
  for (uint32_t j = 0; j < rule_.dimension; ++j) {
    const double size = std::max(std::abs(box.lower[j]), std::abs(box.lower[j] + box.width[j]));
    if (box.width[j] < 256 * std::numeric_limits<float>::epsilon() * size) return false;
  }
  return true;
}

std::vector<double> Cubature::integrals(std::span<const CubatureBox> boxes) {
  const size_t d = rule_.dimension, nodes = rule_.size(), at_once = std::max<size_t>(1, kRowsAtOnce / nodes);
  std::vector<double> out(boxes.size());
  std::vector<float> x(std::min(at_once, boxes.size()) * nodes * d);
  std::vector<double> s(std::min(at_once, boxes.size()) * nodes);
  for (size_t begin = 0; begin < boxes.size(); begin += at_once) {
    const size_t end = std::min(boxes.size(), begin + at_once);
    for (size_t b = begin; b < end; ++b)
      for (size_t i = 0; i < nodes * d; ++i)
        x[(b - begin) * nodes * d + i] =
            static_cast<float>(boxes[b].lower[i % d] + rule_.node[i] * boxes[b].width[i % d]);
    const Points points{x.data(), (end - begin) * nodes, rule_.dimension};
    energy_.score(points, std::span(s).first(points.rows));
    for (uint64_t i = 0; i < points.rows; ++i)
      if (std::isnan(s[i]) || s[i] == INFINITY)
        throw_error("log Z by quadrature: the score at ({}) is {}; the model is damaged or training diverged",
                    fmt::join(points.row(i), ", "), s[i]);
    parallel_ranges(end - begin, 256, [&](size_t from, size_t to) {
      for (size_t b = from; b < to; ++b) {
        LogSumExp sum;
        for (size_t i = 0; i < nodes; ++i) sum.add(s[b * nodes + i] + rule_.log_weight[i]);
        double log_volume = 0;
        for (size_t j = 0; j < d; ++j) log_volume += std::log(boxes[begin + b].width[j]);
        out[begin + b] = sum.value() + log_volume;
      }
    });
  }
  evaluations_ += boxes.size() * nodes;
  return out;
}

void Cubature::measure(std::span<const size_t> cells) {
  std::vector<CubatureBox> boxes;
  boxes.reserve(cells.size() * halves());
  for (const size_t c : cells)
    for (size_t h = 0; h < halves(); ++h) boxes.push_back(half(cells_[c].box, h));
  const std::vector<double> q = integrals(boxes);
  for (size_t i = 0; i < cells.size(); ++i) {
    Cell& cell = cells_[cells[i]];
    LogSumExp sum;
    for (size_t h = 0; h < halves(); ++h) sum.add(cell.half[h] = q[i * halves() + h]);
    cell.log_value = sum.value();
    cell.log_difference = log_difference(cell.log_value, cell.own);
    const double shrinkage =
        std::isinf(cell.parent_difference)
            ? 0
            : std::min(kLargestShrinkage, std::exp(cell.log_difference - cell.parent_difference));
    cell.log_error =
        std::max(cell.log_difference + std::log(std::max(1.0, shrinkage / (1 - shrinkage))),
                 cell.parent_difference - std::log(kFastestDecay * static_cast<double>(halves())));
  }
}

void Cubature::add(std::span<const CubatureBox> boxes, uint32_t shell) {
  const std::vector<double> q = integrals(boxes);
  std::vector<size_t> added(boxes.size());
  std::iota(added.begin(), added.end(), cells_.size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    Cell cell;
    cell.box = boxes[i];
    cell.shell = shell;
    cell.own = q[i];
    cells_.push_back(cell);
  }
  measure(added);
  split(added);
}

void Cubature::split(std::span<const size_t> cells) {
  std::vector<size_t> halved;
  halved.reserve(cells.size() * halves());
  for (const size_t c : cells) {
    const Cell parent = cells_[c];
    for (size_t h = 0; h < halves(); ++h) {
      Cell child = parent;
      child.box = half(parent.box, h);
      child.own = parent.half[h];
      child.parent_difference = parent.log_difference;
      halved.push_back(h == 0 ? c : cells_.size());
      if (h == 0)
        cells_[c] = child;
      else
        cells_.push_back(child);
    }
  }
  measure(halved);
}

CubatureTotals Cubature::totals() const {
  CubatureTotals out;
  out.log_scale = -INFINITY;
  for (const Cell& cell : cells_) out.log_scale = std::max({out.log_scale, cell.log_value, cell.own});
  if (std::isinf(out.log_scale)) out.log_scale = 0;
  for (const Cell& cell : cells_) {
    const double value = std::exp(cell.log_value - out.log_scale);
    const double error = std::exp(cell.log_error - out.log_scale);
    out.value += value;
    out.error += error;
    if (cell.shell >= out.shell.size()) out.shell.resize(cell.shell + 1);
    out.shell[cell.shell] += value + error;
  }
  return out;
}

void Cubature::refine(double share, uint64_t most) {
  while (true) {
    const CubatureTotals now = totals();
    const double target = share * now.value;
    if (now.error <= target) return;
    std::vector<size_t> order;
    for (size_t c = 0; c < cells_.size(); ++c)
      if (std::isfinite(cells_[c].log_error) && is_splittable(cells_[c].box)) order.push_back(c);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return cells_[a].log_error > cells_[b].log_error; });
    // The fewest cells without which half the target is met.
    double rest = now.error;
    size_t count = 0;
    while (count < order.size() && rest > target / 2)
      rest -= std::exp(cells_[order[count++]].log_error - now.log_scale);
    const uint64_t per_cell = halves() * halves() * rule_.size();
    count = std::min<uint64_t>(count, (most - std::min(most, evaluations_)) / per_cell);
    if (count == 0) return;
    split(std::span(order).first(count));
  }
}

}  // namespace selfnorm
