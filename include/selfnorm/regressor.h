// Regressors: the whole density p(y|x) of one real y given rows of numbers, exp(s(x,y) - A(x)), with b(x)
// that stands for A(x).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/rows.h"
#include "selfnorm/run.h"

namespace selfnorm {

// p(.|x) of one row, by quadrature.
struct Predicted {
  double mean = 0, deviation = 0, median = 0;
  std::vector<double> modes;
  std::vector<double> quantiles;  // of the levels that were asked for
};

// The predictive distributions of rows, each a table of p(.|x) that quadrature made. Functions take as many
// numbers for each row, row-major, and give one for each.
class PredictiveRows {
 public:
  uint64_t rows() const;
  std::vector<double> mean() const, deviation() const;
  std::vector<std::vector<double>> modes() const;                      // highest first
  std::vector<double> quantile(std::span<const double> levels) const;  // in (0, 1)
  std::vector<double> cdf(std::span<const double> y) const;
  // Interpolated, for pictures; EnergyRegressor::log_densities has the exact ones.
  std::vector<double> log_density(std::span<const double> y) const;
  std::vector<double> crps(std::span<const double> y) const;
  struct Interval {
    double from = 0, to = 0;
  };
  // {y: p(y|x) >= t} with t such that its mass is `level`: disjoint and ascending, of every row.
  std::vector<std::vector<Interval>> highest_density(double level) const;
  std::vector<double> sample(uint64_t draws, uint64_t seed) const;  // rows x draws

 private:
  friend class EnergyRegressor;
  struct Content;
  explicit PredictiveRows(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

struct RegressorQuality {
  uint64_t rows = 0;
  double nll = 0, nll_error = 0;  // exact, in the units of y, and the standard error of the mean
  double nll_b = 0;               // with b(x)
  double rmse = 0, mae = 0, crps = 0;
  struct Interval {
    double level = 0, held = 0;  // the share of targets inside central intervals of that level
  };
  std::vector<Interval> coverage;
};

class EnergyRegressor {
 public:
  // y: one number a row. Holds out a tenth of the rows (of 20 and more) to keep the best step. Throws Error
  // for data or options that cannot be used, Stopped when the observer asked to stop.
  static EnergyRegressor train(const Rows& x, std::span<const double> y, const Options& options = {},
                               const Run& run = {});
  // A file of save(), or of `selfnorm train regressor` on numeric columns, whose order is that of Rows.
  static EnergyRegressor load(const std::string& path);
  void save(const std::string& path) const;

  uint32_t columns() const;  // of Rows; 0: as many as the largest that it needs
  PredictiveRows distributions(const Rows& x) const;
  std::vector<Predicted> predict(const Rows& x,
                                 const std::vector<double>& quantiles = {0.05, 0.5, 0.95}) const;
  // log p(y|x): exact, and with b(x); -inf outside the support.
  std::vector<double> log_densities(const Rows& x, std::span<const double> y) const;
  std::vector<double> raw_log_densities(const Rows& x, std::span<const double> y) const;
  RegressorQuality evaluate(const Rows& x, std::span<const double> y) const;

 private:
  struct Content;
  explicit EnergyRegressor(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

}  // namespace selfnorm
