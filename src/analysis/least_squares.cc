#include "selfnorm/analysis/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "selfnorm/base/error.h"
#include "selfnorm/math/gemm.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/model/entries.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRowsAtOnce = 512;
constexpr size_t kStripe = 128;              // columns of the scatter that one unit of work owns
constexpr double kSmallestVariance = 1e-12;  // of a direction, relative to the largest
// Rows per column beyond which a ridge changes nothing that matters; few, where the spectrum takes long.
constexpr double kPlentyOfRows = 100, kEnoughRows = 10;
constexpr uint32_t kQuickSpectrum = 2048;  // columns
constexpr double kMostFreedom = 0.9;       // df/n beyond which cross-validation says nothing

using Eigen::Index;
using Matrix = Eigen::Map<const Eigen::MatrixXd>;
using Vector = Eigen::Map<const Eigen::VectorXd>;

// Rows begin .. end-1 of x minus their mean, as doubles; adds the mean's value to `mean`.
std::vector<double> centred_rows(const Features& x, uint64_t begin, uint64_t end, std::vector<double>& mean) {
  const size_t columns = mean.size();
  std::vector<double> rows((end - begin) * columns);
  for (uint64_t i = begin; i < end; ++i) {
    double* row = rows.data() + (i - begin) * columns;
    for_each_entry(x, i, [&](uint32_t j, float v) { row[j] = static_cast<double>(v); });
    for (size_t j = 0; j < columns; ++j) mean[j] += row[j];
  }
  const double n = static_cast<double>(end - begin);
  for (double& m : mean) m /= n;
  for (uint64_t i = 0; i < end - begin; ++i)
    for (size_t j = 0; j < columns; ++j) rows[i * columns + j] -= mean[j];
  return rows;
}

}  // namespace

double LinearFit::r_squared() const { return variance > 0 ? 1 - residual_variance / variance : 1; }

double LinearFit::operator()(const Features& x, uint64_t row) const {
  double value = intercept;
  for_each_entry(x, row, [&](uint32_t j, float v) { value += slope[j] * static_cast<double>(v); });
  return value;
}

LeastSquares::LeastSquares(uint32_t columns)
    : columns_(columns), mean_x_(columns), scatter_(size_t{columns} * columns), cross_(columns) {
  SELFNORM_CHECK(columns > 0);
}

// Blocks are merged by their means (Chan, Golub & LeVeque 1979): with d = mean_b - mean_a,
//     S = S_a + S_b + n_a n_b / (n_a + n_b) d d'.
void LeastSquares::add(const Features& x, std::span<const double> y) {
  SELFNORM_CHECK(x.rows() == y.size() && x.columns() <= columns_);
  for (uint64_t begin = 0; begin < y.size(); begin += kRowsAtOnce) {
    const uint64_t end = std::min<uint64_t>(y.size(), begin + kRowsAtOnce);
    const double added = static_cast<double>(end - begin);
    std::vector<double> shift(columns_);
    const std::vector<double> rows = centred_rows(x, begin, end, shift);
    double mean_y = 0;
    for (uint64_t i = begin; i < end; ++i) mean_y += y[i];
    mean_y /= added;

    const double before = static_cast<double>(rows_);
    const double weight = before * added / (before + added);
    for (size_t j = 0; j < columns_; ++j) shift[j] -= mean_x_[j];
    const double shift_y = mean_y - mean_y_;
    // Column j of the lower triangle, rows j and below: the stripe's own columns, from its first row on.
    parallel_ranges(columns_, kStripe, [&](size_t first, size_t last) {
      const size_t depth = columns_ - first;
      std::vector<double> part((last - first) * depth);
      gemm_transposed(last - first, depth, end - begin, rows.data() + first, columns_, rows.data() + first,
                      columns_, part.data(), depth);
      for (size_t j = first; j < last; ++j) {
        double* column = scatter_.data() + j * columns_ + first;
        const double* products = part.data() + (j - first) * depth;
        for (size_t i = 0; i < depth; ++i) column[i] += products[i] + weight * shift[j] * shift[first + i];
        double product = 0;
        for (uint64_t i = begin; i < end; ++i) product += rows[(i - begin) * columns_ + j] * (y[i] - mean_y);
        cross_[j] += product + weight * shift[j] * shift_y;
      }
    });
    for (uint64_t i = begin; i < end; ++i) square_ += (y[i] - mean_y) * (y[i] - mean_y);
    square_ += weight * shift_y * shift_y;
    for (size_t j = 0; j < columns_; ++j) mean_x_[j] += shift[j] * added / (before + added);
    mean_y_ += shift_y * added / (before + added);
    rows_ += end - begin;
  }
}

// The scatter as Q diag(value) Q', ascending, and Q' cross.
struct LeastSquares::Spectrum {
  Eigen::MatrixXd directions;
  Eigen::VectorXd value, cross;

  double largest() const { return std::max(0.0, value[value.size() - 1]); }
  bool is_used(Index j) const { return value[j] > kSmallestVariance * largest(); }
};

LeastSquares::Spectrum LeastSquares::spectrum() const {
  const auto d = static_cast<Index>(columns_);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(Matrix(scatter_.data(), d, d));
  return {solver.eigenvectors(), solver.eigenvalues(),
          solver.eigenvectors().transpose() * Vector(cross_.data(), d)};
}

LinearFit LeastSquares::finished(std::span<const double> slope) const {
  LinearFit fit;
  const auto d = static_cast<Index>(columns_);
  const Vector b(slope.data(), d);
  const double explained = 2 * b.dot(Vector(cross_.data(), d)) -
                           b.dot(Matrix(scatter_.data(), d, d).selfadjointView<Eigen::Lower>() * b);
  fit.slope.assign(slope.begin(), slope.end());
  fit.intercept = mean_y_ - b.dot(Vector(mean_x_.data(), d));
  fit.variance = square_ / static_cast<double>(rows_);
  fit.residual_variance = std::max(0.0, square_ - explained) / static_cast<double>(rows_);
  return fit;
}

LinearFit LeastSquares::solve(const Spectrum& spectrum, double ridge) const {
  const Index d = spectrum.value.size();
  Eigen::VectorXd coordinates = Eigen::VectorXd::Zero(d);
  double freedom = 0, smallest = 0;
  uint32_t rank = 0;
  for (Index j = d - 1; j >= 0 && spectrum.is_used(j); --j) {
    coordinates[j] = spectrum.cross[j] / (spectrum.value[j] + ridge);
    freedom += spectrum.value[j] / (spectrum.value[j] + ridge);
    smallest = spectrum.value[j];
    ++rank;
  }
  const Eigen::VectorXd slope = spectrum.directions * coordinates;
  LinearFit fit = finished({slope.data(), columns_});
  fit.degrees_of_freedom = freedom;
  fit.rank = rank;
  fit.condition = rank == 0 ? 1 : std::sqrt((spectrum.largest() + ridge) / (smallest + ridge));
  fit.ridge = ridge;
  return fit;
}

// By Cholesky when the scatter is far from singular, which is cheaper than its spectrum.
std::optional<LinearFit> LeastSquares::well_conditioned() const {
  const auto d = static_cast<Index>(columns_);
  const Eigen::LLT<Eigen::MatrixXd> factor(Matrix(scatter_.data(), d, d));
  if (factor.info() != Eigen::Success) return std::nullopt;
  const double reciprocal = factor.rcond();
  if (!(reciprocal > 100 * kSmallestVariance)) return std::nullopt;
  const Eigen::VectorXd slope = factor.solve(Vector(cross_.data(), d));
  LinearFit fit = finished({slope.data(), columns_});
  fit.rank = columns_;
  fit.degrees_of_freedom = static_cast<double>(columns_);
  fit.condition = std::sqrt(1 / reciprocal);
  return fit;
}

LinearFit LeastSquares::fit() const {
  SELFNORM_CHECK(rows_ > 0);
  if (auto direct = well_conditioned()) return *std::move(direct);
  return solve(spectrum(), 0);
}

LinearFit LeastSquares::fit_for_prediction() const {
  SELFNORM_CHECK(rows_ > 0);
  const double n = static_cast<double>(rows_);
  const double plenty = columns_ <= kQuickSpectrum ? kPlentyOfRows : kEnoughRows;
  if (n >= plenty * static_cast<double>(columns_)) return fit();
  const Spectrum known = spectrum();
  LinearFit best = solve(known, std::max(1.0, known.largest()) * 1e3);  // next to no slope
  const auto score = [&](const LinearFit& fit) {
    const double left = 1 - (fit.degrees_of_freedom + 1) / n;
    return left < 1 - kMostFreedom ? std::numeric_limits<double>::infinity()
                                   : fit.residual_variance / (left * left);
  };
  std::vector<double> ridges = {0};
  for (double exponent = -10; exponent <= 2; exponent += 0.25)
    ridges.push_back(known.largest() * std::pow(10, exponent));
  for (const double ridge : ridges) {
    LinearFit candidate = solve(known, ridge);
    if (score(candidate) < score(best)) best = std::move(candidate);
  }
  return best;
}

}  // namespace selfnorm
