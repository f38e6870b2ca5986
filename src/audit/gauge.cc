#include "audit/gauge.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "audit/iterative_least_squares.h"
#include "data/dataset.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kGroupsAtOnce = 4096;
constexpr size_t kGaugeRows = 256;
constexpr double kRounding = 1e-13;  // of the scatter of a feature within groups, relative to the feature
constexpr double kFree = 1e-12;      // of the scatter of a direction, relative to the largest, scales apart

// Columns span { v : v . T(x,y) does not depend on y } on all groups of the source: the null space of the
// scatter within groups, found after bringing the features to one scale.
Eigen::MatrixXd free_directions(const ExampleSource& source) {
  const auto d = static_cast<Eigen::Index>(source.columns());
  Eigen::MatrixXd within = Eigen::MatrixXd::Zero(d, d);
  Eigen::VectorXd total = Eigen::VectorXd::Zero(d);
  for (uint64_t first = 0; first < source.examples(); first += kGroupsAtOnce) {
    const Dataset block = source.block(first, std::min(source.examples(), first + kGroupsAtOnce));
    for (uint64_t g = 0; g < block.examples(); ++g) {
      const uint64_t begin = block.group_begin[g], end = block.group_begin[g + 1];
      Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(end - begin), d);
      for (uint64_t a = begin; a < end; ++a) {
        for_each_entry(block.features, a, [&](uint32_t j, float v) {
          rows(static_cast<Eigen::Index>(a - begin), static_cast<Eigen::Index>(j)) = static_cast<double>(v);
        });
      }
      total += rows.colwise().squaredNorm().transpose();
      rows.rowwise() -= rows.colwise().mean().eval();
      within.selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose());
    }
  }
  Eigen::VectorXd scale = Eigen::VectorXd::Zero(d);
  for (Eigen::Index j = 0; j < d; ++j) {
    const double size = within(j, j) > kRounding * total[j] ? within(j, j) : total[j];
    if (size > 0) scale[j] = 1 / std::sqrt(size);
  }
  const Eigen::MatrixXd full = within.selfadjointView<Eigen::Lower>();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(scale.asDiagonal() * full * scale.asDiagonal());
  Eigen::Index count = 0;
  while (count < d && solver.eigenvalues()[count] <= kFree * solver.eigenvalues()[d - 1]) ++count;
  return scale.asDiagonal() * solver.eigenvectors().leftCols(count);
}

}  // namespace

class GaugeRegression::Moments {
 public:
  explicit Moments(uint32_t columns) : regression_(columns) {}
  explicit Moments(Eigen::MatrixXd directions)
      : directions_(std::move(directions)),
        regression_(static_cast<uint32_t>(std::max<Eigen::Index>(1, directions_->cols()))) {}

  void add(const Dataset& block, std::span<const double> log_z) {
    if (!directions_) {
      regression_.add(block.features, log_z);
      return;
    }
    // One row per group: the free features of its first alternative, which are those of all. Without any, one
    // column of zeros stands for them.
    Features free;
    free.is_sparse = false;
    free.dense.rows = block.examples();
    free.dense.columns = static_cast<uint32_t>(std::max<Eigen::Index>(1, directions_->cols()));
    for (uint64_t g = 0; g < block.examples(); ++g) {
      Eigen::VectorXd value = Eigen::VectorXd::Zero(directions_->cols());
      if (value.size() > 0)
        for_each_entry(block.features, block.group_begin[g], [&](uint32_t j, float v) {
          value += static_cast<double>(v) * directions_->row(static_cast<Eigen::Index>(j)).transpose();
        });
      for (const double v : value) free.dense.values.push_back(static_cast<float>(v));
      if (value.size() == 0) free.dense.values.push_back(0);
    }
    regression_.add(free, log_z);
  }

  LinearFit fit(bool for_prediction) const {
    LinearFit out = for_prediction ? regression_.fit_for_prediction() : regression_.fit();
    if (directions_) {
      const Eigen::Map<const Eigen::VectorXd> coordinates(out.slope.data(), directions_->cols());
      const Eigen::VectorXd slope = *directions_ * coordinates;
      out.slope.assign(slope.begin(), slope.end());
    }
    return out;
  }

 private:
  std::optional<Eigen::MatrixXd> directions_;  // joint only
  LeastSquares regression_;
};

GaugeRegression::GaugeRegression(const ExampleSource& source, uint32_t features)
    : source_(source), features_(features) {
  SELFNORM_CHECK(source.columns() <= features);
  const bool small = source.columns() <= kLargestRegression;
  const bool is_quick = LeastSquares::is_quick(source.columns(), source.examples());
  if (source.is_joint()) {
    if (!small)
      throw Error(
          "models of alternatives with more than 4,096 features cannot be normalised without loss yet");
    moments_ = std::make_unique<Moments>(free_directions(source));
  } else if (small && is_quick) {
    moments_ = std::make_unique<Moments>(source.columns());
  }
}

GaugeRegression::~GaugeRegression() = default;

void GaugeRegression::add(const Dataset& block, std::span<const double> log_z) {
  if (moments_)
    moments_->add(block, log_z);
  else
    log_z_.insert(log_z_.end(), log_z.begin(), log_z.end());
}

LinearFit GaugeRegression::finished(bool for_prediction) const {
  LinearFit out = moments_         ? moments_->fit(for_prediction)
                  : for_prediction ? iterative_fit_for_prediction(source_, log_z_)
                                   : iterative_fit(source_, log_z_);
  out.slope.resize(features_);
  return out;
}

LinearFit GaugeRegression::fit() const { return finished(false); }
LinearFit GaugeRegression::fit_for_prediction() const { return finished(true); }

GaugeVariance gauge_variance(double variance, const LinearFit& fit, uint64_t n) {
  GaugeVariance out{variance, fit.residual_variance, std::nullopt};
  const double left = static_cast<double>(n) - 1 - fit.degrees_of_freedom;
  if (left >= 1)
    out.v_star_adjusted = std::min(variance, fit.residual_variance * static_cast<double>(n) / left);
  return out;
}

void apply_gauge(const LinearFit& fit, ModelFile& model) {
  SELFNORM_CHECK(fit.slope.size() == model.features);
  const size_t d = model.features;
  parallel_ranges(model.weight.size() / std::max<size_t>(1, d), kGaugeRows, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k)
      for (size_t j = 0; j < d; ++j)
        model.weight[k * d + j] =
            static_cast<float>(static_cast<double>(model.weight[k * d + j]) - fit.slope[j]);
  });
  for (float& b : model.bias) b = static_cast<float>(static_cast<double>(b) - fit.intercept);
  model.log_normalizer = model.family == Family::Joint ? fit.intercept : 0;
}

}  // namespace selfnorm
