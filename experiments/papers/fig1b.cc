// Figure 1b [ARJK 3], theory.md 1.3: the parameters eta with E[A(X)^2] <= delta^2 for fixed inputs and
// features, here Y = {-1, 1}, T(x,y) = (x y, 1) as in the example of section 3 and X uniform on a few
// numbers. With a(x) = log(2 cosh(eta1 x)),
//     A = eta2 + a(x),     E[A^2] = Var a + (eta2 + E a)^2,
// so the boundary is eta2 = -E a +- sqrt(delta^2 - Var a), where Var a <= delta^2.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/experiment.h"
#include "experiments/theory/normalisable.h"

namespace selfnorm {
namespace {

constexpr int kHalfSteps = 100;
constexpr size_t kStride = 5;  // of the boundary's points that are searched for the worst midpoint

struct Parameters {
  double eta1, eta2;
};

FeatureTable inputs_table(const std::vector<double>& inputs) {
  FeatureTable table{.inputs = inputs.size(), .outputs = 2, .features = 2, .values = {}, .log_carrier = {}};
  for (const double x : inputs) {
    for (const double y : {-1.0, 1.0}) table.values.insert(table.values.end(), {x * y, 1.0});
  }
  return table;
}

double rms(const FeatureTable& table, const Parameters& eta) {
  const double both[] = {eta.eta1, eta.eta2};
  return normalizer_moments(table, both).rms;
}

// Moments of A at eta2 = 0.
NormalizerMoments free_moments(const FeatureTable& table, double eta1) {
  const double both[] = {eta1, 0};
  return normalizer_moments(table, both);
}

// The largest eta1 with Var a <= delta^2; Var a grows with |eta1|.
double reach(const FeatureTable& table, double delta) {
  double low = 0, high = 1;
  const auto inside = [&](double eta1) { return free_moments(table, eta1).variance <= delta * delta; };
  while (inside(high)) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (inside(middle) ? low : high) = middle;
  }
  return low;
}

// The closed boundary: the upper edge from left to right, the lower one back.
std::vector<Parameters> boundary(const FeatureTable& table, double delta) {
  const double end = reach(table, delta);
  std::vector<Parameters> upper, lower;
  for (int i = -kHalfSteps; i <= kHalfSteps; ++i) {
    // Denser at the ends, where the edges meet vertically.
    const double eta1 = end * std::sin(0.5 * 3.14159265358979 * i / kHalfSteps);
    const NormalizerMoments a = free_moments(table, eta1);
    const double width = std::sqrt(std::max(0.0, delta * delta - a.variance));
    upper.push_back({eta1, -a.mean + width});
    lower.push_back({eta1, -a.mean - width});
  }
  upper.insert(upper.end(), lower.rbegin(), lower.rend());
  return upper;
}

struct WorstMidpoint {
  Parameters a{}, b{}, middle{};
  double rms = 0;
};

// Over pairs of points just inside the boundary.
WorstMidpoint worst_midpoint(const FeatureTable& table, const std::vector<Parameters>& curve, double delta) {
  std::vector<Parameters> members;
  // The edges have 2 kHalfSteps + 1 points each, so that both are searched at the same eta1.
  for (size_t i = 0; i < curve.size(); i += i == size_t{2} * kHalfSteps ? 1 : kStride) {
    const NormalizerMoments a = free_moments(table, curve[i].eta1);
    const Parameters inside = {curve[i].eta1, -a.mean + 0.99 * (curve[i].eta2 + a.mean)};
    if (rms(table, inside) < delta) members.push_back(inside);
  }
  WorstMidpoint worst;
  for (size_t i = 0; i < members.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Parameters middle = {0.5 * (members[i].eta1 + members[j].eta1),
                                 0.5 * (members[i].eta2 + members[j].eta2)};
      const double value = rms(table, middle);
      if (value > worst.rms * (1 + 1e-9)) worst = {members[i], members[j], middle, value};
    }
  }
  return worst;
}

std::string point_text(const Parameters& p) {
  const auto tidy = [](double v) { return std::abs(v) < 1e-9 ? 0.0 : v; };
  return fmt::format("({:.3f}, {:.3f})", tidy(p.eta1), tidy(p.eta2));
}

}  // namespace

Record run_fig1b(const ExperimentOptions& options) {
  const std::vector<double> inputs = {0.25, 0.5, 2.0};
  const std::vector<double> deltas = {0.1, 0.25, 0.5, 1.0};
  const FeatureTable table = inputs_table(inputs);
  Record out;
  out.name = "fig1b";
  out.title = "the parameters that normalise given inputs";
  out.looks = {
      "The paper says that these sets can have complex shapes: look for bends, where midway between two "
      "members of a band lies a point outside it."};
  out.paper =
      "Sets of delta-approximately self-normalising parameters, unlike sets of inputs, \"may have complex "
      "geometry\" (section 3, Figure 1b).";
  out.differences =
      "The paper does not state its inputs and features; here two outputs, T(x,y) = (xy, 1) and three "
      "inputs.";
  out.settings = {{"x", "uniform on {0.25, 0.5, 2}"}, {"y", "-1 or 1"}, {"T(x,y)", "(xy, 1)"}};
  out.data.columns = {"delta", "eta1", "eta2", "rms_log_normalizer"};
  Table pairs{.caption = "For each delta two members whose midpoint is not one.",
              .columns = {"delta", "member", "member", "midpoint", "rms A at the midpoint", "times delta"},
              .rows = {}};
  Panel panel{.title = "x uniform on {0.25, 0.5, 2}, T(x,y) = (xy, 1), y = -1 or 1",
              .x = {.label = "eta1 (weight of xy)"},
              .y = {.label = "eta2 (constant)", .low = -2.25},
              .series = {}};
  double least_ratio = INFINITY, off = 0;
  // The largest set is drawn first, under the others.
  for (size_t d = deltas.size(); d-- > 0;) {
    const double delta = deltas[d];
    const std::vector<Parameters> curve = boundary(table, delta);
    Series series{.name = fmt::format("rms A <= delta = {}", delta),
                  .x = {},
                  .y = {},
                  .stroke = Stroke::region,
                  .colour = static_cast<uint32_t>(d)};
    for (const Parameters& p : curve) {
      const double value = rms(table, p);
      off = std::max(off, std::abs(value / delta - 1));
      series.x.push_back(p.eta1);
      series.y.push_back(p.eta2);
      out.data.add({delta, p.eta1, p.eta2, value});
    }
    panel.series.push_back(std::move(series));
    const WorstMidpoint worst = worst_midpoint(table, curve, delta);
    least_ratio = std::min(least_ratio, worst.rms / delta);
    pairs.rows.insert(pairs.rows.begin(), {delta, point_text(worst.a), point_text(worst.b),
                                           point_text(worst.middle), worst.rms, worst.rms / delta});
    if (d == deltas.size() - 1) {
      panel.series.push_back({.name = "two members of the largest set and their midpoint, outside it",
                              .x = {worst.a.eta1, worst.middle.eta1, worst.b.eta1},
                              .y = {worst.a.eta2, worst.middle.eta2, worst.b.eta2},
                              .stroke = Stroke::dashed_points,
                              .colour = 6});
    }
  }
  std::rotate(panel.series.begin() + 1, panel.series.begin() + 2, panel.series.end());
  out.figure = {.title = "Parameters with rms A <= delta: not convex", .panels = {std::move(panel)}};
  out.tables.push_back(std::move(pairs));
  out.facts = {{"least_midpoint_ratio", least_ratio}, {"largest_boundary_error", off}};
  out.measured = fmt::format(
      "The sets are bent bands around the curve eta2 = -E log(2 cosh(eta1 x)). For {} delta two members were "
      "found whose midpoint has rms A of at least {:.3g} delta: the sets are {}.",
      least_ratio > 1 ? "every" : "not every", least_ratio,
      least_ratio > 1 ? "not convex" : "not shown to be non-convex");
  options.progress(1);
  return out;
}

}  // namespace selfnorm
