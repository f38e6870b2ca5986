#include "family/regressor/simple_regression.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "audit/least_squares.h"
#include "base/failure.h"
#include "family/regressor/predictive.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostLevels = 50;  // of a categorical input, each a column
constexpr uint32_t kMostRegressionColumns = 1000;

// Numeric inputs, then a 0/1 column for every level but those beyond kMostLevels.
Features design(const InputRows& x, std::span<const uint32_t> levels) {
  Features out;
  out.is_sparse = false;
  DenseMatrix& matrix = out.dense;
  matrix.rows = x.rows();
  matrix.columns = std::min(x.number.columns, kMostRegressionColumns);
  std::vector<uint32_t> begin;
  for (const uint32_t count : levels) {
    begin.push_back(matrix.columns);
    matrix.columns = std::min(matrix.columns + std::min(count, kMostLevels), kMostRegressionColumns);
  }
  begin.push_back(matrix.columns);
  matrix.values.resize(matrix.rows * matrix.columns);
  for (uint64_t i = 0; i < matrix.rows; ++i) {
    float* row = matrix.values.data() + i * matrix.columns;
    std::copy_n(x.number.row(i).data(), std::min(x.number.columns, kMostRegressionColumns), row);
    for (uint32_t c = 0; c < x.categorical; ++c) {
      const uint32_t level = x.level[i * x.categorical + c];
      if (level < begin[c + 1] - begin[c]) row[begin[c] + level] = 1;
    }
  }
  return out;
}

std::vector<double> column_of(std::span<const double> y, size_t targets, size_t j) {
  std::vector<double> out;
  for (size_t i = j; i < y.size(); i += targets) out.push_back(y[i]);
  return out;
}

// y = a + b . x + N(0, s^2), s^2 the residual variance with its degrees of freedom.
double linear_nll(const Regressor& model, const TargetRows& train, const TargetRows& held_out) {
  const std::vector<uint32_t> levels = model.encoder.levels();
  const Features x = design(train.x, levels), x_new = design(held_out.x, levels);
  const size_t targets = model.targets.size();
  const auto n = static_cast<double>(train.x.rows());
  double nll = 0;
  for (size_t j = 0; j < targets; ++j) {
    LeastSquares squares(x.columns());
    squares.add(x, column_of(train.y, targets, j));
    const LinearFit fit = squares.fit_for_prediction();
    const double smallest = 1e-6 * std::max(fit.variance, 1e-300);
    const double variance =
        std::max(fit.residual_variance * n / std::max(1.0, n - 1 - fit.degrees_of_freedom), smallest);
    const std::vector<double> y = column_of(held_out.y, targets, j);
    for (size_t i = 0; i < y.size(); ++i) {
      const double error = y[i] - fit(x_new, i);
      nll += 0.5 * std::log(2 * std::numbers::pi * variance) + error * error / (2 * variance);
    }
  }
  return nll / static_cast<double>(held_out.x.rows());
}

// The mixtures of the members alone.
double mixture_nll(const Regressor& model, const TargetRows& held_out) {
  Regressor mixtures{.encoder = model.encoder,
                     .targets = model.targets,
                     .target_mean = model.target_mean,
                     .target_scale = model.target_scale,
                     .mixture = model.mixture,
                     .tail_weight = model.tail_weight,
                     .members = {},
                     .normalizer_kind = "zero"};
  for (const RegressorNetworks& member : model.members) {
    RegressorNetworks& copy = mixtures.members.emplace_back(member.copy());
    copy.tilt_features.reset();
    copy.context.reset();
    copy.tilt.reset();
    copy.normalizer.reset();
  }
  double nll = 0;
  for (const double l : raw_log_density(mixtures, held_out.x, held_out.y)) nll -= l;
  return nll / static_cast<double>(held_out.x.rows());
}

}  // namespace

SimpleModel simple_regression(const Regressor& model, const TargetRows& train, const TargetRows& held_out) {
  SELFNORM_CHECK(train.x.rows() > 0 && held_out.x.rows() > 0);
  SimpleModel best{
      "linear regression with Gaussian noise", linear_nll(model, train, held_out),
      with_options("try `input-noise 0`, a smaller `learning-rate` or smaller networks (`features none`)")};
  const bool has_mixture =
      model.has_base && std::all_of(model.members.begin(), model.members.end(),
                                    [](const RegressorNetworks& member) { return member.tilt != nullptr; });
  if (!has_mixture) return best;
  SimpleModel mixture{"the mixture it started from", mixture_nll(model, held_out),
                      with_options("`objective mdn` trains that one alone")};
  return mixture.nll < best.nll ? mixture : best;
}

}  // namespace selfnorm
