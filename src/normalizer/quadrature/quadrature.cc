#include "normalizer/quadrature/quadrature.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/failure.h"
#include "normalizer/quadrature/cubature.h"

namespace selfnorm {
namespace {

constexpr uint32_t kOrder[] = {0, 8, 5, 3};    // points per axis and cell, by dimension
constexpr uint32_t kCells[] = {0, 32, 12, 6};  // along an axis, at the start
constexpr double kStart = 4;                   // half the width of the start, in scales
constexpr uint32_t kMostShells = 40;
constexpr double kRounding = 1e-7;  // relative; nodes are float32

struct Segment {
  double lower = 0, upper = 0;
};

// The region so far, and how it grows towards the support.
struct Region {
  std::vector<Segment> side, support;
  std::vector<double> centre;

  bool is_complete() const {
    for (size_t j = 0; j < side.size(); ++j)
      if (side[j].lower > support[j].lower || side[j].upper < support[j].upper) return false;
    return true;
  }
  std::vector<Segment> doubled() const {
    std::vector<Segment> out = side;
    for (size_t j = 0; j < side.size(); ++j) {
      const double reach = 2 * std::max(side[j].upper - centre[j], centre[j] - side[j].lower);
      out[j] = {std::max(support[j].lower, centre[j] - reach), std::min(support[j].upper, centre[j] + reach)};
    }
    return out;
  }
};

Region start_region(const Support& support, uint32_t d, const QuadratureOptions& options) {
  Region out;
  for (uint32_t j = 0; j < d; ++j) {
    const Segment all =
        support.lower.empty() ? Segment{-INFINITY, INFINITY} : Segment{support.lower[j], support.upper[j]};
    const bool is_finite = std::isfinite(all.lower) && std::isfinite(all.upper);
    double centre =
        options.centre.empty() ? (is_finite ? all.lower / 2 + all.upper / 2 : 0) : options.centre[j];
    const double scale =
        options.scale.empty() ? (is_finite ? (all.upper - all.lower) / kStart : 1) : options.scale[j];
    centre = std::clamp(centre, all.lower, all.upper);
    out.support.push_back(all);
    out.centre.push_back(centre);
    out.side.push_back(
        {std::max(all.lower, centre - kStart * scale), std::min(all.upper, centre + kStart * scale)});
  }
  return out;
}

// outer minus inner: the products of segments below, inside and above, except inside everywhere; cells as
// wide as those of a grid of `cells` over outer.
std::vector<CubatureBox> shell_cells(const std::vector<Segment>& inner, const std::vector<Segment>& outer,
                                     uint32_t cells) {
  const auto d = static_cast<uint32_t>(inner.size());
  size_t products = 1;
  for (uint32_t j = 0; j < d; ++j) products *= 3;
  std::vector<CubatureBox> out;
  for (size_t p = 0; p < products; ++p) {
    CubatureBox box;
    std::array<uint32_t, 3> count{1, 1, 1};
    bool is_inside = true, is_empty = false;
    size_t rest = p;
    for (uint32_t j = 0; j < d; ++j, rest /= 3) {
      const Segment parts[] = {{outer[j].lower, inner[j].lower}, inner[j], {inner[j].upper, outer[j].upper}};
      const Segment s = parts[rest % 3];
      is_inside &= rest % 3 == 1;
      is_empty |= !(s.lower < s.upper);
      box.lower[j] = s.lower;
      box.width[j] = s.upper - s.lower;
      count[j] = static_cast<uint32_t>(
          std::max(1.0, std::ceil(cells * box.width[j] / (outer[j].upper - outer[j].lower) - 1e-9)));
    }
    if (is_inside || is_empty) continue;
    const auto grid = box_grid(box, count, d);
    out.insert(out.end(), grid.begin(), grid.end());
  }
  return out;
}

// What lies beyond the last shell, relative to exp(log_scale); infinite when the shells do not decay.
double beyond(const CubatureTotals& totals) {
  const double last = totals.shell.back(), before = totals.shell[totals.shell.size() - 2];
  if (last == 0) return 0;
  return last < before ? last * (last / before) / (1 - last / before) : INFINITY;
}

}  // namespace

void QuadratureOptions::validate(uint32_t dimension) const {
  require_range(dimension >= 1 && dimension <= 3, "quadrature: dimension", dimension,
                "1 .. 3; choose importance or annealed beyond");
  require_range(precision >= 1e-7 && precision <= 1, "quadrature: precision", precision, "1e-7 .. 1");
  require_range(most_evaluations >= 1, "quadrature: most_evaluations", static_cast<double>(most_evaluations),
                "at least 1");
  require_range(centre.empty() || centre.size() == dimension, "quadrature: numbers in centre",
                static_cast<double>(centre.size()), "none or one per dimension");
  require_range(scale.empty() || scale.size() == dimension, "quadrature: numbers in scale",
                static_cast<double>(scale.size()), "none or one per dimension");
  for (const double c : centre) require_range(true, "quadrature: centre", c, "finite numbers");
  for (const double s : scale) require_range(s > 0, "quadrature: scale", s, "positive numbers");
}

LogZEstimate quadrature_log_z(const Energy& energy, const QuadratureOptions& options) {
  const uint32_t d = energy.dimension();
  options.validate(d);
  const Support support = energy.support();
  if (!support.is_real())
    throw Error(
        "log Z by quadrature needs real x; choose enumeration, importance or annealed for levels and counts");
  Region region = start_region(support, d, options);
  Cubature cubature(energy, kOrder[d]);
  CubatureBox box;
  for (uint32_t j = 0; j < d; ++j) {
    box.lower[j] = region.side[j].lower;
    box.width[j] = region.side[j].upper - region.side[j].lower;
  }
  cubature.add(box_grid(box, {kCells[d], kCells[d], kCells[d]}, d), 0);
  const double share = options.precision / 2;
  cubature.refine(share, options.most_evaluations / 4);

  double tail = 0;
  for (uint32_t shell = 1; !region.is_complete(); ++shell) {
    const std::vector<Segment> outer = region.doubled();
    const auto cells = shell_cells(region.side, outer, kCells[d]);
    if (shell > 2) {
      const CubatureTotals now = cubature.totals();
      tail = beyond(now);
      if (now.value > 0 && tail <= options.precision / 4 * now.value) break;
      const bool is_over = shell > kMostShells ||
                           cubature.evaluations() + cubature.cost(cells.size()) > options.most_evaluations;
      if (is_over && std::isfinite(tail)) break;
      if (is_over)
        throw_error(
            "log Z by quadrature: exp s does not decay up to {} around ({}), so it has no integral that can "
            "be computed; tilt a base distribution or give the centre and scale of the mass",
            region.side[0].upper - region.centre[0], fmt::join(region.centre, ", "));
    }
    tail = 0;
    cubature.add(cells, shell);
    region.side = outer;
    cubature.refine(share, options.most_evaluations / 2);
  }
  cubature.refine(share, options.most_evaluations);

  const CubatureTotals all = cubature.totals();
  if (!(all.value > 0))
    throw_error("log Z by quadrature: no mass was found around ({}); give the centre and scale of the data",
                fmt::join(region.centre, ", "));
  const double error = all.error + kRounding * all.value;
  const double value = all.log_scale + std::log(all.value);
  return {"quadrature",
          value,
          error < all.value ? all.log_scale + std::log(all.value - error) : -INFINITY,
          all.log_scale + std::log(all.value + error + tail),
          static_cast<double>(cubature.evaluations()),
          cubature.evaluations()};
}

QuadratureNodes quadrature_nodes(std::span<const double> lower, std::span<const double> upper,
                                 uint32_t cells) {
  const auto d = static_cast<uint32_t>(lower.size());
  require_range(d >= 1 && d <= 3 && upper.size() == d, "quadrature: dimension", d, "1 .. 3");
  require_range(cells >= 1, "quadrature: cells", cells, "at least 1");
  const CubatureRule rule(d, kOrder[d]);
  CubatureBox box;
  for (uint32_t j = 0; j < d; ++j) {
    require_range(lower[j] < upper[j], "quadrature: width of the box", upper[j] - lower[j],
                  "positive and finite");
    box.lower[j] = lower[j];
    box.width[j] = upper[j] - lower[j];
  }
  QuadratureNodes out;
  for (const CubatureBox& cell : box_grid(box, {cells, cells, cells}, d)) {
    double log_volume = 0;
    for (uint32_t j = 0; j < d; ++j) log_volume += std::log(cell.width[j]);
    for (size_t i = 0; i < rule.size(); ++i) {
      for (uint32_t j = 0; j < d; ++j)
        out.x.push_back(static_cast<float>(cell.lower[j] + rule.node[i * d + j] * cell.width[j]));
      out.log_weight.push_back(rule.log_weight[i] + log_volume);
    }
  }
  return out;
}

}  // namespace selfnorm
