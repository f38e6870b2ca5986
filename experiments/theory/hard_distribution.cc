#include "experiments/theory/hard_distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kHardGrain = 4096;  // corners per unit of work
constexpr uint32_t kLargestDimension = 24;

// Corner i of the cube has x_j = bit j of i.
double coordinate(size_t corner, uint32_t j) { return static_cast<double>(corner >> j & 1); }

void require_shape(uint32_t dimension, uint32_t classes) {
  require_range(dimension >= 2, "d", dimension, "a whole number >= 2");
  require_range(classes >= 2, "K", classes, "a whole number >= 2");
}

std::vector<double> cube_normalizers(const CubeModel& model) {
  std::vector<double> a(size_t{1} << model.dimension);
  parallel_ranges(a.size(), kHardGrain, [&](size_t begin, size_t end) {
    for (size_t corner = begin; corner < end; ++corner) {
      LogSumExp sum;
      for (uint32_t k = 0; k < model.classes; ++k) {
        double s = 0;
        for (uint32_t j = 0; j < model.dimension; ++j) {
          s += model.eta[size_t{k} * model.dimension + j] * coordinate(corner, j);
        }
        sum.add(s);
      }
      a[corner] = sum.value();
    }
  });
  return a;
}

}  // namespace

double CubeModel::norm() const { return std::sqrt(dot(eta.data(), eta.data(), eta.size())); }

CubeModel CubeModel::scaled(double alpha) const {
  CubeModel out = *this;
  scale(alpha, out.eta.data(), out.eta.size());
  return out;
}

CubeVariance cube_variance(const CubeModel& model) {
  require_range(model.dimension >= 1 && model.dimension <= kLargestDimension, "d", model.dimension,
                "a whole number from 1 to 24");
  require_range(model.classes >= 1, "K", model.classes, "a whole number >= 1");
  SELFNORM_CHECK(model.eta.size() == size_t{model.classes} * model.dimension);
  std::vector<double> a = cube_normalizers(model);
  const double corners = static_cast<double>(a.size());
  const auto mean_of = [&](const auto& term) {
    return ordered_sum(a.size(), kHardGrain,
                       [&](size_t begin, size_t end) {
                         double sum = 0;
                         for (size_t i = begin; i < end; ++i) sum += term(i);
                         return sum;
                       }) /
           corners;
  };
  const double mean = mean_of([&](size_t i) { return a[i]; });
  if (!std::isfinite(mean)) throw Error("log Z is not finite on the cube; expected smaller parameters");
  for (double& v : a) v -= mean;
  CubeVariance out;
  out.variance = mean_of([&](size_t i) { return a[i] * a[i]; });
  std::vector<double> slope(model.dimension);
  for (uint32_t j = 0; j < model.dimension; ++j) {
    slope[j] = 4 * mean_of([&](size_t i) { return a[i] * (coordinate(i, j) - 0.5); });
  }
  out.v_star = mean_of([&](size_t i) {
    double residual = a[i];
    for (uint32_t j = 0; j < model.dimension; ++j) residual -= slope[j] * (coordinate(i, j) - 0.5);
    return residual * residual;
  });
  return out;
}

CubeModel theorem4_model(uint32_t dimension, uint32_t classes) {
  require_shape(dimension, classes);
  const double d = dimension, a = std::sqrt(1 - 1 / d);
  CubeModel out{dimension, classes, std::vector<double>(size_t{classes} * dimension)};
  std::fill_n(out.eta.begin(), dimension, a / (d - 1));
  out.eta[0] = -a;
  std::fill_n(out.eta.begin() + dimension, dimension, a / (d * (d - 1)));
  return out;
}

double theorem4_bound(double norm, uint32_t dimension, uint32_t classes) {
  require_shape(dimension, classes);
  require_range(norm >= 0, "|eta|", norm, "a number >= 0");
  const double d = dimension;
  return norm * norm / (32 * d * (d - 1)) -
         4.0 * classes * std::exp(-std::sqrt(1 - 1 / d) * norm / (2 * (d - 1))) * norm;
}

CubeModel xor_model(uint32_t dimension, double alpha) {
  require_shape(dimension, 2);
  require_range(true, "alpha", alpha, "a finite number");
  CubeModel out{dimension, 2, std::vector<double>(size_t{2} * dimension)};
  out.eta[0] = out.eta[dimension + 1] = alpha;
  out.eta[1] = out.eta[dimension] = -alpha;
  return out;
}

double xor_v_star(double alpha) {
  const double size = std::abs(alpha);  // A is even in alpha
  const double spread = size + std::log1p(std::exp(-2 * size)) - std::numbers::ln2;
  return spread * spread / 4;
}

}  // namespace selfnorm
