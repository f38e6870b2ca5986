#include "audit/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "audit/device_scatter.h"
#include "data/dataset.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kSquareRowsAtOnce = 512;
constexpr size_t kStripe = 128;              // columns of the scatter that one unit of work owns
constexpr double kSolveRounding = 1e-14;     // of a constant column of float32, relative to its square
constexpr double kSmallestVariance = 1e-12;  // of a direction, relative to the largest, columns on one scale
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

// Eigen's, with the factor of a large matrix made in parallel.
class LargeLlt : public Eigen::LLT<Eigen::MatrixXd> {
 public:
  explicit LargeLlt(Eigen::MatrixXd lower) {
    constexpr Index kLarge = 512;
    if (lower.rows() < kLarge) {
      compute(lower);
      return;
    }
    m_l1_norm = 0;
    for (Index j = 0; j < lower.rows(); ++j)
      m_l1_norm = std::max(
          m_l1_norm, lower.col(j).tail(lower.rows() - j).lpNorm<1>() + lower.row(j).head(j).lpNorm<1>());
    m_matrix = std::move(lower);
    m_info = cholesky(m_matrix.data(), static_cast<size_t>(m_matrix.rows())) ? Eigen::Success
                                                                             : Eigen::NumericalIssue;
    m_isInitialized = true;
  }
};

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
  on_the_host_ = nullptr;
  plain_ = nullptr;
  if (!device_ && rows_ == 0 && !x.is_sparse && x.columns() == columns_)
    device_ = DeviceScatter::on_chosen_device(columns_);
  if (device_) {
    device_->add(x, y);
    rows_ += y.size();
    return;
  }
  for (uint64_t begin = 0; begin < y.size(); begin += kSquareRowsAtOnce) {
    const uint64_t end = std::min<uint64_t>(y.size(), begin + kSquareRowsAtOnce);
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

const LeastSquares& LeastSquares::gathered() const {
  if (!device_) return *this;
  if (!on_the_host_) {
    on_the_host_ = std::make_shared<LeastSquares>(columns_);
    ScatterSums sums = device_->sums();
    on_the_host_->rows_ = sums.rows;
    on_the_host_->mean_x_ = std::move(sums.mean_x);
    on_the_host_->mean_y_ = sums.mean_y;
    on_the_host_->scatter_ = std::move(sums.scatter);
    on_the_host_->cross_ = std::move(sums.cross);
    on_the_host_->square_ = sums.square;
  }
  return *on_the_host_;
}

// The algebra of a finished sum.
struct LeastSquares::Solver {
  // The scatter of the scaled columns as Q diag(value) Q', ascending, and Q' times their cross products.
  struct Spectrum {
    Eigen::VectorXd scale;
    Eigen::MatrixXd directions;
    Eigen::VectorXd value, cross;

    double largest() const { return std::max(0.0, value[value.size() - 1]); }
    bool is_used(Index j) const { return value[j] > kSmallestVariance * largest(); }
  };

  const LeastSquares& sums;
  Index d = static_cast<Index>(sums.columns_);
  double n = static_cast<double>(sums.rows_);
  Matrix scatter{sums.scatter_.data(), d, d};
  Vector cross{sums.cross_.data(), d}, mean{sums.mean_x_.data(), d};
  Eigen::VectorXd scale = inverse_scales();

  // One over the root of each column's scatter: brings the columns to one scale, so that neither the rank nor
  // the ridge depends on units. 0 for a column that is constant up to the rounding of float32.
  Eigen::VectorXd inverse_scales() const {
    Eigen::VectorXd out = Eigen::VectorXd::Zero(d);
    for (Index j = 0; j < d; ++j)
      if (scatter(j, j) > kSolveRounding * n * mean[j] * mean[j]) out[j] = 1 / std::sqrt(scatter(j, j));
    return out;
  }

  Eigen::MatrixXd scaled_scatter() const {
    const Eigen::MatrixXd lower = scatter.triangularView<Eigen::Lower>();
    return scale.asDiagonal() * lower * scale.asDiagonal();
  }

  Spectrum spectrum() const {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(scaled_scatter());
    return {scale, solver.eigenvectors(), solver.eigenvalues(),
            solver.eigenvectors().transpose() * scale.cwiseProduct(cross)};
  }

  LinearFit finished(const Eigen::VectorXd& slope) const {
    LinearFit fit;
    const double explained =
        2 * slope.dot(cross) - slope.dot(scatter.selfadjointView<Eigen::Lower>() * slope);
    fit.slope.assign(slope.begin(), slope.end());
    fit.intercept = sums.mean_y_ - slope.dot(mean);
    fit.variance = sums.square_ / n;
    fit.residual_variance = std::max(0.0, sums.square_ - explained) / n;
    return fit;
  }

  LinearFit solve(const Spectrum& known, double ridge) const {
    Eigen::VectorXd coordinates = Eigen::VectorXd::Zero(d);
    double freedom = 0, smallest = 0;
    uint32_t rank = 0;
    for (Index j = d - 1; j >= 0 && known.is_used(j); --j) {
      coordinates[j] = known.cross[j] / (known.value[j] + ridge);
      freedom += known.value[j] / (known.value[j] + ridge);
      smallest = known.value[j];
      ++rank;
    }
    LinearFit fit = finished(known.scale.cwiseProduct(known.directions * coordinates));
    fit.degrees_of_freedom = freedom;
    fit.rank = rank;
    fit.condition = rank == 0 ? 1 : std::sqrt((known.largest() + ridge) / (smallest + ridge));
    fit.ridge = ridge;
    return fit;
  }

  // By Cholesky when the scatter is far from singular, which is cheaper than its spectrum.
  std::optional<LinearFit> well_conditioned() const {
    if ((scale.array() == 0).any()) return std::nullopt;
    const LargeLlt factor(scaled_scatter());
    if (factor.info() != Eigen::Success) return std::nullopt;
    const double reciprocal = factor.rcond();
    if (!(reciprocal > 100 * kSmallestVariance)) return std::nullopt;
    LinearFit fit = finished(scale.cwiseProduct(factor.solve(scale.cwiseProduct(cross))));
    fit.rank = sums.columns_;
    fit.degrees_of_freedom = static_cast<double>(sums.columns_);
    fit.condition = std::sqrt(1 / reciprocal);
    return fit;
  }

  LinearFit fit() const {
    if (auto direct = well_conditioned()) return *std::move(direct);
    return solve(spectrum(), 0);
  }
};

LinearFit LeastSquares::fit() const {
  SELFNORM_CHECK(rows_ > 0);
  if (!plain_) plain_ = std::make_shared<LinearFit>(Solver{gathered()}.fit());
  return *plain_;
}

bool LeastSquares::is_quick(uint32_t columns, uint64_t rows) {
  return columns <= kQuickSpectrum || static_cast<double>(rows) >= kEnoughRows * static_cast<double>(columns);
}

LinearFit LeastSquares::fit_for_prediction() const {
  SELFNORM_CHECK(rows_ > 0);
  const double n = static_cast<double>(rows_), d = static_cast<double>(columns_);
  if (n >= kPlentyOfRows * d || (columns_ > kQuickSpectrum && is_quick(columns_, rows_))) return fit();
  const Solver solver{gathered()};
  const Solver::Spectrum known = solver.spectrum();
  LinearFit best = solver.solve(known, 1e6);  // next to no slope
  const auto score = [&](const LinearFit& fit) {
    const double left = 1 - (fit.degrees_of_freedom + 1) / n;
    return left < 1 - kMostFreedom ? std::numeric_limits<double>::infinity()
                                   : fit.residual_variance / (left * left);
  };
  std::vector<double> ridges = {0};
  for (int quarter = -40; quarter <= 8; ++quarter)
    ridges.push_back(known.largest() * std::pow(10, 0.25 * quarter));
  for (const double ridge : ridges) {
    LinearFit candidate = solver.solve(known, ridge);
    if (score(candidate) < score(best)) best = std::move(candidate);
  }
  return best;
}

namespace {

constexpr size_t kCholeskyBlock = 128;

using StridedMatrix = Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

StridedMatrix block_of(double* at, size_t rows, size_t columns, size_t stride) {
  return {at, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(stride))};
}

}  // namespace

// With the columns [begin, end) of a block: L11 L11' = A11, L21 = A21 L11'^-1, A22 <- A22 - L21 L21'.
// Column-major, L21 has its columns, contiguous, where a row-major matrix has the rows of L21'.
bool cholesky(double* a, size_t n) {
  std::vector<double> negative;
  for (size_t begin = 0; begin < n; begin += kCholeskyBlock) {
    const size_t end = std::min(n, begin + kCholeskyBlock), width = end - begin, rest = n - end;
    StridedMatrix corner = block_of(a + begin * n + begin, width, width, n);
    const Eigen::LLT<Eigen::MatrixXd> factor(corner);
    if (factor.info() != Eigen::Success) return false;
    corner.triangularView<Eigen::Lower>() = factor.matrixL();
    if (rest == 0) break;
    double* const panel = a + begin * n + end;
    negative.resize(width * rest);
    parallel_ranges(rest, kCholeskyBlock, [&](size_t first, size_t last) {
      StridedMatrix rows = block_of(panel + first, last - first, width, n);
      factor.matrixU().solveInPlace<Eigen::OnTheRight>(rows);
      block_of(negative.data() + first, last - first, width, rest) = -rows;
    });
    parallel_ranges(rest, kCholeskyBlock, [&](size_t first, size_t last) {
      double* const columns = a + (end + first) * n + end + first;
      gemm_transposed(last - first, rest - first, width, negative.data() + first, rest, panel + first, n,
                      columns, n);
    });
  }
  return true;
}

}  // namespace selfnorm
