// Figure 1a [ARJK 3], theory.md 1.3. Scores affine in x in the plane, s_k(x) = w_k . x + b_k, make
//     A(x) = log sum_k exp s_k(x)
// convex, so {A <= 0} is convex and its boundary {A = 0} is the set of inputs that the model normalises.
// Along a ray from a point with A < 0, A = 0 is crossed at most once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "experiments/experiment.h"
#include "math/random.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

using Point = std::array<double, 2>;

constexpr uint64_t kFigureStream = 0x666967316100;  // "fig1a"
constexpr size_t kAngles = 360;
constexpr uint64_t kPairs = 20'000;

struct AffineClass {
  Point weight;
  double bias;
};

struct AffineModel {
  std::string name;
  std::vector<AffineClass> classes;

  double log_normalizer(const Point& x) const {
    LogSumExp z;
    for (const AffineClass& k : classes) z.add(k.weight[0] * x[0] + k.weight[1] * x[1] + k.bias);
    return z.value();
  }
};

// Weights on a circle of `radius`, from angle `first`; the biases differ by `tilt` so that the sets are not
// symmetric. A(0) < 0.
AffineModel circle_model(uint32_t classes, double radius, double first, double tilt) {
  AffineModel model{fmt::format("K = {}", classes), {}};
  for (uint32_t k = 0; k < classes; ++k) {
    const double angle = first + 2 * std::numbers::pi * k / classes;
    model.classes.push_back({{radius * std::cos(angle), radius * std::sin(angle)},
                             -std::log(2.0 * classes) - tilt * k / classes});
  }
  return model;
}

// A(t direction) = 0; A grows to infinity along every ray because the weights surround the origin.
double crossing(const AffineModel& model, const Point& direction) {
  double low = 0, high = 1;
  const auto inside = [&](double t) {
    return model.log_normalizer({t * direction[0], t * direction[1]}) <= 0;
  };
  while (inside(high)) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-15 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (inside(middle) ? low : high) = middle;
  }
  return low;
}

std::vector<Point> boundary(const AffineModel& model) {
  std::vector<Point> points;
  for (size_t i = 0; i < kAngles; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / kAngles;
    const Point direction = {std::cos(angle), std::sin(angle)};
    const double t = crossing(model, direction);
    points.push_back({t * direction[0], t * direction[1]});
  }
  return points;
}

// How many times the closed curve turns right, going round to the left.
uint64_t right_turns(const std::vector<Point>& curve) {
  uint64_t turns = 0;
  for (size_t i = 0; i < curve.size(); ++i) {
    const Point &a = curve[i], &b = curve[(i + 1) % curve.size()], &c = curve[(i + 2) % curve.size()];
    turns += (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]) < -1e-12 ? 1 : 0;
  }
  return turns;
}

struct Midpoints {
  uint64_t outside = 0;        // of pairs of members of {A <= 0}, the midpoints with A > 0
  double highest = -INFINITY;  // A at the midpoint of two points of {A = 0}
};

Midpoints midpoints(const AffineModel& model, const std::vector<Point>& curve, uint64_t seed) {
  RandomStream random(seed, kFigureStream);
  Midpoints out;
  const auto member = [&](bool on_boundary) {
    const Point& p = curve[random.below(curve.size())];
    const double share = on_boundary ? 1 : std::sqrt(random.uniform());
    return Point{share * p[0], share * p[1]};
  };
  for (uint64_t i = 0; i < kPairs; ++i) {
    const bool on_boundary = i % 2 == 0;
    const Point a = member(on_boundary), b = member(on_boundary);
    if (a == b) continue;
    const double middle = model.log_normalizer({0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])});
    if (middle > 0) ++out.outside;
    if (on_boundary) out.highest = std::max(out.highest, middle);
  }
  return out;
}

}  // namespace

Record run_fig1a(const ExperimentOptions& options) {
  const std::vector<AffineModel> models = {circle_model(3, 1.0, 0.5 * std::numbers::pi, 0.0),
                                           circle_model(4, 1.6, 0.3, 1.2), circle_model(7, 3.0, 0.1, 0.6)};
  Record out;
  out.name = "fig1a";
  out.title = "the inputs that one model normalises";
  out.looks = {
      "The paper says that the regions are convex: look for an edge that bends inwards; there should be "
      "none."};
  out.paper =
      "Where the scores are convex in x, the level sets of A bound convex regions; \"exactly normalizable "
      "sets are always the boundaries of convex regions\" (section 3, Figure 1a).";
  out.differences =
      "The paper's figure gives no parameters; here three models with three, four and seven classes in the "
      "plane.";
  out.settings = {{"seed", std::to_string(options.seed)},
                  {"directions", std::to_string(kAngles)},
                  {"pairs of members", std::to_string(kPairs)}};
  out.data.columns = {"model", "x1", "x2", "log_normalizer"};
  out.figure.title = "Inputs with A(x) = 0: the boundary of a convex set";
  Panel panel{.title = "inside: A(x) < 0; on the edge the raw scores are log-probabilities",
              .x = {.label = "x1 (no unit)"},
              .y = {.label = "x2 (no unit)"},
              .series = {},
              .equal_units = true};
  Table table{.caption = "Convexity of {A <= 0}, numerically.",
              .columns = {"model", "midpoints outside, of pairs inside", "right turns of the boundary",
                          "largest |A| on the boundary", "highest A midway between two boundary points"},
              .rows = {}};
  uint64_t outside = 0, turns = 0;
  double off = 0, highest = -INFINITY;
  for (uint32_t m = 0; m < models.size(); ++m) {
    const AffineModel& model = models[m];
    const std::vector<Point> curve = boundary(model);
    Series series{.name = model.name + " classes", .x = {}, .y = {}, .stroke = Stroke::region, .colour = m};
    double worst = 0;
    for (const Point& p : curve) {
      const double a = model.log_normalizer(p);
      worst = std::max(worst, std::abs(a));
      series.x.push_back(p[0]);
      series.y.push_back(p[1]);
      out.data.add({model.name, p[0], p[1], a});
    }
    const Midpoints middle = midpoints(model, curve, options.seed);
    const uint64_t right = right_turns(curve);
    outside += middle.outside;
    turns += right;
    off = std::max(off, worst);
    highest = std::max(highest, middle.highest);
    table.add({model.name, static_cast<double>(middle.outside), static_cast<double>(right),
               worst < 1e-12 ? "below 1e-12" : written(worst),
               middle.highest < 0 ? "below 0" : written(middle.highest)});
    panel.series.push_back(std::move(series));
  }
  out.figure.panels.push_back(std::move(panel));
  out.tables.push_back(std::move(table));
  out.facts = {{"midpoints_outside", static_cast<double>(outside)},
               {"right_turns", static_cast<double>(turns)},
               {"largest_boundary_log_normalizer", off},
               {"highest_boundary_midpoint", highest}};
  out.measured = fmt::format(
      "{} of {} midpoints of members of {{A <= 0}} lie outside it and its boundary turns the wrong way {} "
      "times: the sets are {}. The normalised set itself is the boundary alone: midway between two of its "
      "points A is {}.",
      outside, kPairs * models.size(), turns, outside + turns == 0 ? "convex" : "NOT convex",
      highest < 0 ? "always below 0" : "not always below 0");
  options.progress(1);
  return out;
}

}  // namespace selfnorm
