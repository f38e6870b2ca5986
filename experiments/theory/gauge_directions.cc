#include "experiments/theory/gauge_directions.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "experiments/theory/normalisable.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kFreeSingularValue = 1e-9;   // singular value of a free direction, relative to the largest
constexpr double kDirectionRounding = 1e-13;  // differences of a feature, relative to the feature
constexpr double kRank = 1e-10;               // of the free features

Eigen::Map<const VectorXd> features_of(const FeatureTable& table, uint64_t x, uint32_t y) {
  const auto values = table(x, y);
  return {values.data(), static_cast<Index>(values.size())};
}

uint32_t first_output(const FeatureTable& table) {
  uint32_t y = 0;
  while (!table.exists(y)) ++y;
  return y;
}

// visit(T(x,y) - T(x,y0)) for every input and every output that exists, y0 the first.
template <class Visit>
void for_each_difference(const FeatureTable& table, const Visit& visit) {
  const uint32_t first = first_output(table);
  for (uint64_t x = 0; x < table.inputs; ++x) {
    for (uint32_t y = first + 1; y < table.outputs; ++y) {
      if (table.exists(y)) visit(VectorXd(features_of(table, x, y) - features_of(table, x, first)));
    }
  }
}

// 1 / the norm of a feature's differences; 0 for a feature that has none beyond rounding.
VectorXd inverse_scales(const FeatureTable& table) {
  VectorXd difference = VectorXd::Zero(table.features), size = difference;
  for_each_difference(table, [&](const VectorXd& v) { difference += v.cwiseAbs2(); });
  for (uint64_t x = 0; x < table.inputs; ++x) {
    for (uint32_t y = 0; y < table.outputs; ++y) size += features_of(table, x, y).cwiseAbs2();
  }
  VectorXd out = VectorXd::Zero(table.features);
  for (Index j = 0; j < out.size(); ++j) {
    if (difference[j] > kDirectionRounding * kDirectionRounding * size[j])
      out[j] = 1 / std::sqrt(difference[j]);
  }
  return out;
}

// R of the QR decomposition of all differences (scaled), merged block by block so that memory is d^2.
MatrixXd triangle_of_differences(const FeatureTable& table, const VectorXd& inverse_scale) {
  const Index d = inverse_scale.size(), block = std::max<Index>(d, 64);
  MatrixXd stacked = MatrixXd::Zero(d + block, d);
  Index filled = 0;
  const auto reduce = [&] {
    const MatrixXd r =
        Eigen::HouseholderQR<MatrixXd>(stacked).matrixQR().topRows(d).triangularView<Eigen::Upper>();
    stacked.setZero();
    stacked.topRows(d) = r;
    filled = 0;
  };
  for_each_difference(table, [&](const VectorXd& v) {
    if (filled == block) reduce();
    stacked.row(d + filled++) = v.cwiseProduct(inverse_scale).transpose();
  });
  reduce();
  return stacked.topRows(d);
}

MatrixXd free_basis(const FeatureTable& table) {
  const VectorXd inverse_scale = inverse_scales(table);
  const Eigen::JacobiSVD<MatrixXd> svd(triangle_of_differences(table, inverse_scale), Eigen::ComputeFullV);
  const VectorXd& sigma = svd.singularValues();
  const Index d = sigma.size();
  Index bound = 0;  // directions that are not free come first
  while (bound < d && sigma[bound] > kFreeSingularValue * sigma[0]) ++bound;
  // Back to the units of the features: scaled differences D S vanish at u, so D vanishes at S u. A feature
  // without differences is free by itself; its unit was 1.
  const VectorXd unit = inverse_scale.unaryExpr([](double s) { return s > 0 ? s : 1.0; });
  MatrixXd directions = unit.asDiagonal() * svd.matrixV().rightCols(d - bound);
  if (directions.cols() == 0) return directions;
  const MatrixXd equal = directions * directions.colwise().norm().cwiseInverse().asDiagonal();
  return Eigen::HouseholderQR<MatrixXd>(equal).householderQ() * MatrixXd::Identity(d, d - bound);
}

}  // namespace

std::vector<std::vector<double>> free_directions(const FeatureTable& table) {
  table.validate();
  const MatrixXd basis = free_basis(table);
  std::vector<std::vector<double>> out;
  for (Index j = 0; j < basis.cols(); ++j) {
    const VectorXd column = basis.col(j);
    out.emplace_back(column.begin(), column.end());
  }
  return out;
}

GaugeOptimum smallest_variance(const FeatureTable& table, std::span<const double> eta) {
  const std::vector<double> log_z = log_normalizers(table, eta);
  const NormalizerMoments moments = normalizer_moments(log_z);
  GaugeOptimum out{.eta = {eta.begin(), eta.end()},
                   .variance = moments.variance,
                   .v_star = moments.variance,
                   .directions = 0};
  const MatrixXd basis = free_basis(table);
  out.directions = static_cast<uint32_t>(basis.cols());
  if (out.directions == 0) return out;

  const Index n = static_cast<Index>(table.inputs);
  const uint32_t first = first_output(table);
  MatrixXd f(n, basis.cols());
  for (Index x = 0; x < n; ++x) {
    f.row(x) = features_of(table, static_cast<uint64_t>(x), first).transpose() * basis;
  }
  const VectorXd mean = f.colwise().mean();
  f.rowwise() -= mean.transpose();
  const VectorXd a = Eigen::Map<const VectorXd>(log_z.data(), n).array() - moments.mean;
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> least_squares(n, basis.cols());
  least_squares.setThreshold(kRank);
  least_squares.compute(f);
  VectorXd step = least_squares.solve(a);
  out.v_star = (a - f * step).squaredNorm() / static_cast<double>(n);
  // Directions along which the free features are constant move the mean of A and nothing else.
  const VectorXd constant = mean - least_squares.solve(VectorXd(f * mean));
  if (constant.norm() > kFreeSingularValue * mean.norm()) {
    step += constant * ((moments.mean - mean.dot(step)) / constant.squaredNorm());
  }
  const VectorXd moved = Eigen::Map<const VectorXd>(eta.data(), basis.rows()) - basis * step;
  out.eta.assign(moved.begin(), moved.end());
  return out;
}

}  // namespace selfnorm
