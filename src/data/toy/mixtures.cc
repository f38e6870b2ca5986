#include <algorithm>
#include <array>

#include "data/toy/kinds.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint32_t kComponents = 8;

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

// Spherical Gaussians of equal weight and width.
class SphericalMixture : public Toy {
 public:
  SphericalMixture(uint32_t dimension, std::vector<double> means, double scale)
      : dimension_(dimension), means_(std::move(means)), scale_(scale) {}

  uint32_t dimension() const override { return dimension_; }
  void draw(RandomStream& random, std::span<float> x) const override {
    const auto mean = this->mean(random.below(kComponents));
    for (size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(mean[j] + scale_ * random.normal());
  }
  double log_density(std::span<const float> x) const override {
    const std::vector<double> point(x.begin(), x.end());
    return at(point);
  }

 protected:
  double at(std::span<const double> x) const {
    LogSumExp total;
    for (uint32_t k = 0; k < kComponents; ++k)
      total.add(-squared_distance(x, mean(k)) / (2 * scale_ * scale_));
    return total.value() - std::log(kComponents) - dimension_ * (kLogRoot + std::log(scale_));
  }
  double scale() const { return scale_; }

 private:
  std::span<const double> mean(uint64_t k) const {
    return std::span(means_).subspan(k * dimension_, dimension_);
  }

  uint32_t dimension_;
  std::vector<double> means_;
  double scale_;
};

class EightGaussians final : public SphericalMixture {
 public:
  EightGaussians() : SphericalMixture(2, circle(), std::numbers::sqrt2 / 4) {}
  double entropy() const override {
    return plane_entropy(
        [this](double a, double b) {
          return at(std::array{a, b});
        },
        kRadius + 9 * scale(), scale() / 8);
  }

 private:
  static constexpr double kRadius = 2 * std::numbers::sqrt2;
  static std::vector<double> circle() {
    std::vector<double> means;
    for (uint32_t k = 0; k < kComponents; ++k) {
      means.push_back(kRadius * std::cos(std::numbers::pi * k / 4));
      means.push_back(kRadius * std::sin(std::numbers::pi * k / 4));
    }
    return means;
  }
};

// The nearest means are 10 standard deviations apart. With K the component,
//     H(x) = log 8 + H(N) - H(K|x),   H(K|x) <= 7 E log(1 + exp l), l ~ N(-10^2 / 2, 10^2)   (< 4e-6).
class SpreadMixture final : public SphericalMixture {
 public:
  explicit SpreadMixture(uint32_t dimension) : SphericalMixture(dimension, spread(dimension), kScale) {}
  double entropy() const override {
    return std::log(kComponents) + dimension() * (kLogRoot + 0.5 + std::log(kScale));
  }

 private:
  static constexpr double kScale = 0.5, kNearest = 10 * kScale;

  // Each mean is the one of 64 draws from N(0, I) that is farthest from those before it.
  static std::vector<double> spread(uint32_t dimension) {
    constexpr int kCandidates = 64;
    RandomStream random(0x70C5, dimension);
    std::vector<double> means, candidate(dimension);
    double nearest_of_all = INFINITY;
    for (uint32_t k = 0; k < kComponents; ++k) {
      std::vector<double> best;
      double best_distance = -1;
      for (int i = 0; i < kCandidates; ++i) {
        for (double& c : candidate) c = random.normal();
        double nearest = INFINITY;
        for (uint32_t before = 0; before < k; ++before)
          nearest = std::min(
              nearest,
              squared_distance(candidate, std::span(means).subspan(size_t{before} * dimension, dimension)));
        if (nearest > best_distance) best_distance = nearest, best = candidate;
      }
      means.insert(means.end(), best.begin(), best.end());
      nearest_of_all = std::min(nearest_of_all, best_distance);
    }
    for (double& m : means) m *= kNearest / std::sqrt(nearest_of_all);
    return means;
  }
};

// x_j given x_{j-1} is N(x_{j-1} / 2, 3/4): every coordinate has variance 1.
class ChainGaussian final : public Toy {
 public:
  explicit ChainGaussian(uint32_t dimension) : dimension_(dimension) {}
  uint32_t dimension() const override { return dimension_; }
  void draw(RandomStream& random, std::span<float> x) const override {
    double last = random.normal();
    x[0] = static_cast<float>(last);
    for (size_t j = 1; j < x.size(); ++j) {
      last = kCorrelation * last + scale() * random.normal();
      x[j] = static_cast<float>(last);
    }
  }
  double log_density(std::span<const float> x) const override {
    double squares = double{x[0]} * double{x[0]};
    for (size_t j = 1; j < x.size(); ++j) {
      const double z = (double{x[j]} - kCorrelation * double{x[j - 1]}) / scale();
      squares += z * z;
    }
    return -squares / 2 - log_volume();
  }
  double entropy() const override { return log_volume() + 0.5 * dimension_; }

 private:
  static constexpr double kCorrelation = 0.5;
  static double scale() { return std::sqrt(1 - kCorrelation * kCorrelation); }
  double log_volume() const { return dimension_ * kLogRoot + (dimension_ - 1) * std::log(scale()); }

  uint32_t dimension_;
};

}  // namespace

std::unique_ptr<Toy> make_eight_gaussians() { return std::make_unique<EightGaussians>(); }
std::unique_ptr<Toy> make_mixture(uint32_t dimension) { return std::make_unique<SpreadMixture>(dimension); }
std::unique_ptr<Toy> make_gaussian(uint32_t dimension) { return std::make_unique<ChainGaussian>(dimension); }

}  // namespace selfnorm
