#include "selfnorm/regressor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "api/rows.h"
#include "base/failure.h"
#include "data/example_source.h"
#include "family/regressor/predictive.h"
#include "family/regressor/regression_evaluation.h"
#include "family/regressor/train/regressor_trainer.h"

namespace selfnorm {

struct EnergyRegressor::Content {
  Regressor model;
  std::vector<std::string> columns;  // of Rows; empty: row_column(0), ...
  uint32_t width = 0;                // of Rows; 0: not known
};

namespace {

constexpr const char* kTarget = "y";

// Names that tell rows in memory from tables, whose columns have names of their own.
std::string row_column(uint32_t j) { return fmt::format("#{}", j); }

std::string column_name(const std::vector<std::string>& columns, uint32_t j) {
  return columns.empty() ? row_column(j) : columns[j];
}

void check_targets(const Rows& x, std::span<const double> y) {
  if (y.size() != x.rows())
    throw_error("found {} targets for {} rows; expected one a row", y.size(), x.rows());
  for (size_t i = 0; i < y.size(); ++i)
    if (!std::isfinite(y[i])) throw_error("target {} (from 0) is {}; expected finite numbers", i, y[i]);
}

// `y` may be empty.
Frame frame_of(const Rows& x, std::span<const double> y, const std::vector<std::string>& columns,
               const std::string& target) {
  check_rows(x);
  if (!columns.empty() && columns.size() != x.columns)
    throw_error("found rows of {} numbers; the regressor was trained on {}", x.columns, columns.size());
  if (!y.empty()) check_targets(x, y);
  Frame out{.file = "the rows", .rows = x.rows()};
  out.line.resize(x.rows());
  std::iota(out.line.begin(), out.line.end(), uint64_t{1});
  for (uint32_t j = 0; j < x.columns; ++j) {
    FrameColumn& column = out.columns.emplace_back(FrameColumn{.name = column_name(columns, j)});
    for (uint64_t i = 0; i < x.rows(); ++i) column.number.push_back(x.values[i * x.columns + j]);
  }
  if (y.empty()) return out;
  out.columns.push_back({.name = target, .number = {y.begin(), y.end()}});
  return out;
}

EncodedFrame encoded(const Regressor& model, const std::vector<std::string>& columns, uint32_t width,
                     const Rows& x) {
  if (width > 0 && x.columns != width)
    throw_error("found rows of {} numbers; the regressor was trained on {}", x.columns, width);
  EncodingReport report;
  return model.encoder.encode(frame_of(x, {}, columns, ""), report);
}

}  // namespace

EnergyRegressor EnergyRegressor::train(const Rows& x, std::span<const double> y, const Options& options) {
  TrainObserver silent;
  return train(x, y, options, silent);
}

EnergyRegressor EnergyRegressor::train(const Rows& x, std::span<const double> y, const Options& given,
                                       TrainObserver& observer) {
  RegressorOptions options, initial;
  regressor_option_table(options).set(given);
  options.validate();
  regressor_option_table(options).refuse_idle(regressor_option_table(initial));
  if (y.empty()) throw Error("found no targets; expected one a row");
  const Frame frame = frame_of(x, y, {}, kTarget);
  std::vector<uint64_t> train(x.rows()), valid;
  std::iota(train.begin(), train.end(), uint64_t{0});
  if (const double part = default_hold_out(x.rows()); part > 0)
    std::tie(train, valid) = random_split(x.rows(), part, options.seed);
  RegressorResult result = train_regressor(frame, {kTarget}, train, valid, options, {}, observer);
  check_ending(result, observer);
  return EnergyRegressor(std::make_shared<Content>(Content{std::move(result.model), {}, x.columns}));
}

EnergyRegressor EnergyRegressor::load(const std::string& path) {
  Regressor model = load_regressor(model_file_of(path));
  if (model.targets.size() != 1)
    throw_error("{}: found {} targets; expected a regressor of one", path, model.targets.size());
  std::vector<std::string> columns = model.encoder.columns();
  const bool is_of_rows = std::all_of(columns.begin(), columns.end(),
                                      [](const std::string& name) { return name.starts_with('#'); });
  if (is_of_rows) columns.clear();
  return EnergyRegressor(std::make_shared<Content>(Content{std::move(model), std::move(columns), 0}));
}

void EnergyRegressor::save(const std::string& path) const { save_regressor(content_->model, path); }

std::vector<Predicted> EnergyRegressor::predict(const Rows& x, const std::vector<double>& quantiles) const {
  const EncodedFrame rows = encoded(content_->model, content_->columns, content_->width, x);
  PredictionOptions options;
  options.quantiles = quantiles;
  options.intervals.clear();
  options.validate();
  std::vector<Predicted> out(x.rows());
  selfnorm::predict(content_->model, rows.view(), {}, options, [&](uint64_t row, Prediction&& found) {
    CoordinatePrediction& of = found.coordinates[0];
    out[row] = {of.mean, of.deviation, of.median, std::move(of.modes), std::move(of.quantiles)};
  });
  return out;
}

std::vector<double> EnergyRegressor::log_densities(const Rows& x, std::span<const double> y) const {
  check_targets(x, y);
  const EncodedFrame rows = encoded(content_->model, content_->columns, content_->width, x);
  std::vector<double> out(x.rows());
  PredictionOptions options;
  options.quantiles.clear();
  options.intervals.clear();
  selfnorm::predict(content_->model, rows.view(), y, options,
                    [&](uint64_t row, Prediction&& found) { out[row] = found.log_density.value_or(NAN); });
  return out;
}

std::vector<double> EnergyRegressor::raw_log_densities(const Rows& x, std::span<const double> y) const {
  check_targets(x, y);
  return raw_log_density(content_->model,
                         encoded(content_->model, content_->columns, content_->width, x).view(), y);
}

RegressorQuality EnergyRegressor::evaluate(const Rows& x, std::span<const double> y) const {
  check_targets(x, y);
  const EncodedFrame rows = encoded(content_->model, content_->columns, content_->width, x);
  const RegressionEvaluation found = evaluate_regressor(content_->model, rows.view(), y, {});
  const CoordinateEvaluation& of = found.coordinates[0];
  RegressorQuality out{.rows = found.rows,
                       .nll = found.nll,
                       .nll_error = found.nll_error,
                       .nll_b = found.nll_b,
                       .rmse = of.rmse,
                       .mae = of.mae,
                       .crps = of.crps,
                       .coverage = {}};
  for (const Coverage& coverage : of.coverage) out.coverage.push_back({coverage.level, coverage.central});
  return out;
}

}  // namespace selfnorm
