#include <algorithm>

#include "kinds.h"
#include "selfnorm/math/parallel.h"
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

}  // namespace selfnorm
