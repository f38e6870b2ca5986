#include "selfnorm/regressor.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "api/rows.h"
#include "base/failure.h"
#include "data/example_source.h"
#include "family/regressor/predictive.h"
#include "family/regressor/regression_evaluation.h"
#include "family/regressor/regressor_block.h"
#include "family/regressor/train/regressor_trainer.h"
#include "math/parallel.h"
#include "math/random.h"

namespace selfnorm {

struct EnergyRegressor::Content {
  Regressor model;
  std::vector<std::string> columns;  // of Rows; empty: row_column(0), ...
  uint32_t width = 0;                // of Rows; 0: not known
};

struct PredictiveRows::Content {
  std::vector<LineDistribution> line;  // in standardised units
  double centre = 0, scale = 1;        // y = centre + scale u
};

namespace {

constexpr const char *kTarget = "y", *kWeight = "weight";
constexpr const char* kWidth =
    "row_columns";  // of the training's record: the encoder leaves out constant ones
constexpr uint64_t kLinesAtOnce = 1024;

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
  check_shape(x);
  if (!columns.empty() && columns.size() != x.columns())
    throw_error("found rows of {} numbers; the regressor was trained on {}", x.columns(), columns.size());
  if (!y.empty()) check_targets(x, y);
  Frame out{.file = "the rows", .rows = x.rows()};
  out.line.resize(x.rows());
  std::iota(out.line.begin(), out.line.end(), uint64_t{1});
  for (uint32_t j = 0; j < x.columns(); ++j)
    out.columns.push_back({.name = column_name(columns, j), .number = std::vector<double>(x.rows())});
  std::vector<float> row(x.columns());
  for (uint64_t i = 0; i < x.rows(); ++i) {
    x.read(i, row);
    for (uint32_t j = 0; j < x.columns(); ++j) out.columns[j].number[i] = row[j];
  }
  if (y.empty()) return out;
  out.columns.push_back({.name = target, .number = {y.begin(), y.end()}});
  return out;
}

EncodedFrame encoded(const Regressor& model, const std::vector<std::string>& columns, uint32_t width,
                     const Rows& x) {
  if (width > 0 && x.columns() != width)
    throw_error("found rows of {} numbers; the regressor was trained on {}", x.columns(), width);
  EncodingReport report;
  return model.encoder.encode(frame_of(x, {}, columns, ""), report);
}

// of(line, value of that row) for as many values for each row.
template <class Of>
std::vector<double> of_rows(const std::vector<LineDistribution>& lines, std::span<const double> values,
                            const Of& of) {
  if (values.size() % lines.size() != 0)
    throw_error("found {} numbers for {} rows; expected as many for each row", values.size(), lines.size());
  const size_t width = values.size() / lines.size();
  std::vector<double> out(values.size());
  parallel_ranges(lines.size(), 16, [&](size_t begin, size_t end) {
    for (size_t i = begin * width; i < end * width; ++i) out[i] = of(lines[i / width], values[i]);
  });
  return out;
}

template <class Of>
auto of_each(const std::vector<LineDistribution>& lines, const Of& of) {
  std::vector<decltype(of(lines[0]))> out(lines.size());
  parallel_ranges(lines.size(), 16, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = of(lines[i]);
  });
  return out;
}

}  // namespace

uint64_t PredictiveRows::rows() const { return content_->line.size(); }

std::vector<double> PredictiveRows::mean() const {
  const Content& c = *content_;
  return of_each(c.line, [&](const LineDistribution& line) { return c.centre + c.scale * line.mean(); });
}

std::vector<double> PredictiveRows::deviation() const {
  const Content& c = *content_;
  return of_each(c.line, [&](const LineDistribution& line) { return c.scale * line.deviation(); });
}

std::vector<std::vector<double>> PredictiveRows::modes() const {
  const Content& c = *content_;
  return of_each(c.line, [&](const LineDistribution& line) {
    std::vector<double> out = line.modes();
    for (double& u : out) u = c.centre + c.scale * u;
    return out;
  });
}

std::vector<double> PredictiveRows::quantile(std::span<const double> levels) const {
  const Content& c = *content_;
  for (const double level : levels)
    require_range(level > 0 && level < 1, "level", level, "above 0 and below 1");
  return of_rows(c.line, levels, [&](const LineDistribution& line, double level) {
    return c.centre + c.scale * line.quantile(level);
  });
}

std::vector<double> PredictiveRows::cdf(std::span<const double> y) const {
  const Content& c = *content_;
  return of_rows(c.line, y, [&](const LineDistribution& line, double at) {
    return line.cdf((at - c.centre) / c.scale);
  });
}

std::vector<double> PredictiveRows::log_density(std::span<const double> y) const {
  const Content& c = *content_;
  return of_rows(c.line, y, [&](const LineDistribution& line, double at) {
    return line.log_density((at - c.centre) / c.scale) - std::log(c.scale);
  });
}

std::vector<double> PredictiveRows::crps(std::span<const double> y) const {
  const Content& c = *content_;
  return of_rows(c.line, y, [&](const LineDistribution& line, double at) {
    return c.scale * line.crps((at - c.centre) / c.scale);
  });
}

std::vector<std::vector<PredictiveRows::Interval>> PredictiveRows::highest_density(double level) const {
  require_range(level > 0 && level < 1, "level", level, "above 0 and below 1");
  const Content& c = *content_;
  return of_each(c.line, [&](const LineDistribution& line) {
    std::vector<Interval> out;
    for (const auto& part : line.highest_density(level))
      out.push_back({c.centre + c.scale * part.from, c.centre + c.scale * part.to});
    return out;
  });
}

std::vector<double> PredictiveRows::sample(uint64_t draws, uint64_t seed) const {
  std::vector<double> level(rows() * draws);
  for (uint64_t i = 0; i < rows(); ++i) {
    RandomStream random(seed, i);
    for (uint64_t j = 0; j < draws; ++j) level[i * draws + j] = std::max(0x1p-54, random.uniform());
  }
  return quantile(level);
}

EnergyRegressor EnergyRegressor::train(const Rows& x, std::span<const double> y, const Options& given,
                                       const Run& run) {
  RegressorOptions options, initial;
  regressor_option_table(options).set(given);
  options.validate();
  regressor_option_table(options).refuse_idle(regressor_option_table(initial));
  if (y.empty()) throw Error("found no targets; expected one a row");
  Frame frame = frame_of(x, y, {}, kTarget);
  if (!run.weights.empty()) {
    if (run.weights.size() != x.rows())
      throw_error("found {} weights for {} rows; expected one a row", run.weights.size(), x.rows());
    frame.columns.push_back({.name = kWeight, .number = {run.weights.begin(), run.weights.end()}});
    options.weight = kWeight;
  }
  std::vector<uint64_t> train(x.rows()), valid;
  std::iota(train.begin(), train.end(), uint64_t{0});
  if (const double part = hold_out_share(run, default_hold_out(x.rows())); part > 0)
    std::tie(train, valid) = random_split(x.rows(), part, options.seed);
  RegressorResult result =
      train_regressor(frame, {kTarget}, train, valid, options, run.checkpoint, observer_of(run));
  check_ending(result, run);
  auto record = nlohmann::ordered_json::parse(result.model.training_json);
  record[kWidth] = x.columns();
  result.model.training_json = record.dump();
  return EnergyRegressor(std::make_shared<Content>(Content{std::move(result.model), {}, x.columns()}));
}

EnergyRegressor EnergyRegressor::load(const std::string& path) {
  Regressor model = load_regressor(model_file_of(path));
  if (model.targets.size() != 1)
    throw_error("{}: found {} targets; expected a regressor of one", path, model.targets.size());
  std::vector<std::string> columns = model.encoder.columns();
  const bool is_of_rows = std::all_of(columns.begin(), columns.end(),
                                      [](const std::string& name) { return name.starts_with('#'); });
  if (is_of_rows) columns.clear();
  const auto record = nlohmann::ordered_json::parse(model.training_json, nullptr, false);
  uint32_t width = 0;
  if (record.is_object() && record.contains(kWidth) && record[kWidth].is_number_unsigned())
    width = record[kWidth].get<uint32_t>();
  return EnergyRegressor(std::make_shared<Content>(Content{std::move(model), std::move(columns), width}));
}

void EnergyRegressor::save(const std::string& path) const { save_regressor(content_->model, path); }

uint32_t EnergyRegressor::columns() const {
  return content_->columns.empty() ? content_->width : static_cast<uint32_t>(content_->columns.size());
}

PredictiveRows EnergyRegressor::distributions(const Rows& x) const {
  const Regressor& model = content_->model;
  const EncodedFrame encoded_rows = encoded(model, content_->columns, content_->width, x);
  auto out = std::make_shared<PredictiveRows::Content>();
  out->centre = model.target_mean[0];
  out->scale = model.target_scale[0];
  const InputRows rows = encoded_rows.view();
  for (uint64_t begin = 0; begin < x.rows(); begin += kLinesAtOnce) {
    const uint64_t end = std::min(x.rows(), begin + kLinesAtOnce);
    ConditionalQuadratureOptions quadrature;
    quadrature.first_row = begin;
    const std::vector<MemberBlock> members =
        member_blocks(model, rows.slice(begin, end), BlockTargets(model, {}), quadrature);
    for (size_t i = 0; i < end - begin; ++i) {
      std::vector<const PredictiveNodes*> nodes;
      nodes.reserve(members.size());
      for (const MemberBlock& member : members) nodes.push_back(&member.nodes[i]);
      out->line.push_back(LineDistribution::of(nodes, 0, 1, 0, 1));
    }
  }
  return PredictiveRows(std::move(out));
}

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
