#include <algorithm>
#include <array>

#include "data/toy/kinds.h"
#include "math/parallel.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint32_t kPlane = 2;

class Checkerboard final : public Toy {
 public:
  uint32_t dimension() const override { return kPlane; }

  // Cells are half open and 2 wide; a draw that float32 rounds up to the next cell is put back.
  void draw(RandomStream& random, std::span<float> x) const override {
    const double column = static_cast<double>(random.below(4)) - 2;
    const double row = (random.below(2) == 0 ? -2.0 : 0.0) + is_odd(column);
    x[0] = inside(column, random.uniform());
    x[1] = inside(row, random.uniform());
  }

  double log_density(std::span<const float> x) const override {
    const double column = std::floor(double{x[0]} / 2), row = std::floor(double{x[1]} / 2);
    const double place = row - is_odd(column);
    const bool is_black = column >= -2 && column < 2 && (place == -2 || place == 0);
    return is_black ? -entropy() : -INFINITY;
  }

  double entropy() const override { return std::log(32.0); }

 private:
  static double is_odd(double column) { return column - 2 * std::floor(column / 2); }
  static float inside(double cell, double u) {
    const float value = static_cast<float>(2 * (cell + u)), end = static_cast<float>(2 * (cell + 1));
    return value < end ? value : std::nextafter(end, -INFINITY);
  }
};

class Funnel final : public Toy {
 public:
  uint32_t dimension() const override { return kPlane; }
  void draw(RandomStream& random, std::span<float> x) const override {
    x[0] = static_cast<float>(random.normal());
    x[1] = static_cast<float>(std::exp(double{x[0]} / 2) * random.normal());
  }
  double log_density(std::span<const float> x) const override {
    const double a = double{x[0]}, b = double{x[1]} * std::exp(-a / 2);
    return -2 * kLogRoot - (a * a + b * b) / 2 - a / 2;
  }
  double entropy() const override { return 2 * kLogRoot + 1; }
};

class Pinwheel final : public Toy {
 public:
  uint32_t dimension() const override { return kPlane; }
  void draw(RandomStream& random, std::span<float> x) const override {
    const double arm = static_cast<double>(random.below(kArms));
    const double a = 1 + kRadial * random.normal(), b = kTangential * random.normal();
    const double angle = arm * kTurn + twist(std::hypot(a, b));
    x[0] = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
    x[1] = static_cast<float>(a * std::sin(angle) + b * std::cos(angle));
  }
  double log_density(std::span<const float> x) const override {
    const double r = std::hypot(double{x[0]}, double{x[1]});
    return straight(r, std::atan2(double{x[1]}, double{x[0]}) - twist(r));
  }
  // A rotation by an angle of r alone preserves the measure: the entropy is that of the straight arms.
  double entropy() const override {
    return plane_entropy([](double a, double b) { return straight(std::hypot(a, b), std::atan2(b, a)); },
                         1 + 8 * kRadial, kTangential / 4);
  }

 private:
  static constexpr uint32_t kArms = 5;
  static constexpr double kTurn = 2 * std::numbers::pi / kArms;
  static constexpr double kRadial = 0.3, kTangential = 0.05, kRate = 0.25;

  // Beyond 30, where there is no mass, no further: the angle stays a number.
  static double twist(double r) { return kRate * std::exp(std::min(r, 30.0)); }
  static double straight(double r, double angle) {
    LogSumExp total;
    for (uint32_t k = 0; k < kArms; ++k) {
      const double a = (r * std::cos(angle - k * kTurn) - 1) / kRadial;
      const double b = r * std::sin(angle - k * kTurn) / kTangential;
      total.add(-(a * a + b * b) / 2);
    }
    return total.value() - 2 * kLogRoot - std::log(kArms * kRadial * kTangential);
  }
};

using PlanePoint = std::array<double, 2>;

// c(t) of curve k. t = u^(1/power), hence w(t) = power t^(power - 1).
struct CurveFamily {
  uint32_t curves = 1;
  int power = 1;
  std::function<PlanePoint(uint32_t k, double t)> place;
  double speed = 1;       // largest |c'(t)|
  double half_width = 1;  // of the square that holds the curves
};

constexpr double kNoise = 0.1;
constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kNegligible = 60;  // exp(-60), times the nodes and the ratio of weights, is below 1e-13

class CurveToy final : public Toy {
 public:
  explicit CurveToy(CurveFamily family) : family_(std::move(family)) {
    constexpr std::array<double, 4> kNode = {-0.8611363115940526, -0.3399810435848563, 0.3399810435848563,
                                             0.8611363115940526};
    constexpr std::array<double, 4> kWeight = {0.3478548451374538, 0.6521451548625461, 0.6521451548625461,
                                               0.3478548451374538};
    const auto arcs = static_cast<size_t>(std::ceil(family_.speed / (kPieces * kNoise)));
    const double arc = 1 / static_cast<double>(arcs), piece = arc / kPieces;
    for (uint32_t k = 0; k < family_.curves; ++k) {
      for (size_t i = 0; i < arcs; ++i) {
        const double begin = static_cast<double>(i) * arc;
        Arc next{scaled(family_.place(k, begin + arc / 2)), {}};
        for (size_t n = 0; n < next.nodes.size(); ++n) {
          const size_t quarter = n / 4;
          const double t = begin + (static_cast<double>(quarter) + (1 + kNode[n % 4]) / 2) * piece;
          const double w = family_.power * std::pow(t, family_.power - 1);
          next.nodes[n] = {scaled(family_.place(k, t)),
                           std::log(kWeight[n % 4] * piece / 2 * w / family_.curves)};
        }
        arcs_.push_back(next);
      }
    }
  }

  uint32_t dimension() const override { return 2; }
  void draw(RandomStream& random, std::span<float> x) const override {
    const auto k = static_cast<uint32_t>(random.below(family_.curves));
    const PlanePoint c = family_.place(k, std::pow(random.uniform(), 1.0 / family_.power));
    for (size_t j = 0; j < 2; ++j) x[j] = static_cast<float>(c[j] + kNoise * random.normal());
  }
  double log_density(std::span<const float> x) const override { return at(double{x[0]}, double{x[1]}); }
  double entropy() const override {
    return plane_entropy([this](double a, double b) { return at(a, b); }, family_.half_width + 9 * kNoise,
                         kNoise / 3);
  }

 private:
  // In units of the noise, as all places here: 4 pieces, every node within 2 of the middle.
  static constexpr size_t kPieces = 4;
  static constexpr double kReach = 2;
  struct Node {
    PlanePoint place;
    double log_weight;
  };
  struct Arc {
    PlanePoint middle;
    std::array<Node, 4 * kPieces> nodes;
  };

  static PlanePoint scaled(PlanePoint p) { return {p[0] / kNoise, p[1] / kNoise}; }
  static double squared(PlanePoint a, PlanePoint b) {
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
  }

  // Arcs whose every term is exp(-kNegligible) of one of the nearest arc's or less are left out.
  double at(double a, double b) const {
    const PlanePoint x = scaled({a, b});
    double nearest = INFINITY;
    for (const Arc& arc : arcs_) nearest = std::min(nearest, squared(x, arc.middle));
    const double far = std::sqrt(std::pow(std::sqrt(nearest) + kReach, 2) + 2 * kNegligible) + kReach;
    LogSumExp total;
    for (const Arc& arc : arcs_) {
      if (squared(x, arc.middle) > far * far) continue;
      for (const Node& node : arc.nodes) {
        const double term = node.log_weight - squared(x, node.place) / 2;
        if (term > total.max - kNegligible) total.add(term);
      }
    }
    return total.value() - 2 * (kLogRoot + std::log(kNoise));
  }

  CurveFamily family_;
  std::vector<Arc> arcs_;
};

PlanePoint circle(double radius, double t) {
  return {radius * std::cos(kTurn * t), radius * std::sin(kTurn * t)};
}

PlanePoint moon(uint32_t k, double t) {
  const double angle = std::numbers::pi * t;
  return k == 0 ? PlanePoint{std::cos(angle), std::sin(angle)}
                : PlanePoint{1 - std::cos(angle), 0.5 - std::sin(angle)};
}

PlanePoint spiral(uint32_t k, double t) {
  const double angle = 1.5 * kTurn * t, radius = (k == 0 ? angle : -angle) / 3;
  return {-radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

std::unique_ptr<Toy> make_checkerboard() { return std::make_unique<Checkerboard>(); }
std::unique_ptr<Toy> make_funnel() { return std::make_unique<Funnel>(); }
std::unique_ptr<Toy> make_pinwheel() { return std::make_unique<Pinwheel>(); }

double plane_entropy(const std::function<double(double, double)>& log_density, double half_width,
                     double step) {
  const auto n = static_cast<size_t>(std::ceil(2 * half_width / step));
  const double h = 2 * half_width / static_cast<double>(n);
  const double sum = ordered_sum(n + 1, 1, [&](size_t i, size_t) {
    double row = 0;
    for (size_t j = 0; j <= n; ++j) {
      const double log_p =
          log_density(static_cast<double>(i) * h - half_width, static_cast<double>(j) * h - half_width);
      if (log_p > -700) row -= std::exp(log_p) * log_p;
    }
    return row;
  });
  return sum * h * h;
}

// Gaussian noise around curves: x = c(t) + sigma (z1, z2), t with density w on [0, 1], so
//     p(x) = int w(t) N(x; c(t), sigma^2 I) dt,
// by Gauss's rule of 4 points on pieces of t no longer on the curve than sigma.
std::unique_ptr<Toy> make_ring() {
  const auto place = [](uint32_t, double t) { return circle(2, t); };
  return std::make_unique<CurveToy>(CurveFamily{.place = place, .speed = 2 * kTurn, .half_width = 2});
}

std::unique_ptr<Toy> make_four_circles() {
  const auto place = [](uint32_t k, double t) {
    const PlanePoint c = circle(2, t);
    return PlanePoint{c[0] + (k % 2 == 0 ? 1 : -1), c[1] + (k < 2 ? 1 : -1)};
  };
  return std::make_unique<CurveToy>(
      CurveFamily{.curves = 4, .place = place, .speed = 2 * kTurn, .half_width = 3});
}

std::unique_ptr<Toy> make_two_moons() {
  return std::make_unique<CurveToy>(
      CurveFamily{.curves = 2, .place = moon, .speed = std::numbers::pi, .half_width = 2});
}

std::unique_ptr<Toy> make_spirals() {
  const double end = 1.5 * kTurn;  // |c'| = (end / 3) sqrt(1 + angle^2)
  return std::make_unique<CurveToy>(CurveFamily{.curves = 2,
                                                .power = 2,
                                                .place = spiral,
                                                .speed = end / 3 * std::hypot(1.0, end),
                                                .half_width = end / 3});
}

}  // namespace selfnorm
