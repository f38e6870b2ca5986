#include "family/regressor/train/regressor_problem.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/failure.h"
#include "data/table/frame.h"
#include "math/random.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr uint64_t kFeatureStream = 1, kTiltFeatureStream = 2, kMixtureStream = 3, kContextStream = 4,
                   kTiltStream = 5, kProblemNormalizerStream = 6;
constexpr uint64_t kFewDistinct = 20;
constexpr double kLargeShare = 0.05;
constexpr double kLeastBroadScale = 3;  // standard deviations of y
constexpr double kHeadScale = 0.1;      // of the heads' weights at their start

// Bounds for every target; one that is not given is infinite.
std::vector<double> bounds(const std::vector<double>& given, uint32_t dimension, double missing,
                           const char* name) {
  if (given.empty()) return std::vector<double>(dimension, missing);
  if (given.size() != dimension)
    throw_error("{} has {} numbers for {} targets; give one for each", name, given.size(), dimension);
  return given;
}

}  // namespace

RegressorProblem::RegressorProblem(const Frame& frame, const std::vector<std::string>& targets,
                                   std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                                   const RegressorOptions& options)
    : options_(resolved_by_rows(options, train_rows.size())) {
  if (targets.empty() || targets.size() > 3)
    throw_error("{} targets, a regressor has 1 to 3", targets.size());
  if (train_rows.size() < 2)
    throw_error("{} has {} rows to train on; a regressor needs at least 2, and is of use from about 50",
                frame.file, train_rows.size());
  model_.targets = targets;
  model_.mixture.dimension = static_cast<uint32_t>(targets.size());
  model_.mixture.components = options.components;
  model_.mixture.least_scale = options.least_scale;
  model_.has_base =
      options.base == "proposal" || objective_entry(options.objective).seam == ObjectiveSeam::proposal;
  model_.tail_weight = options_.tail_weight;

  std::vector<uint64_t> rows(train_rows.begin(), train_rows.end());
  rows.insert(rows.end(), valid_rows.begin(), valid_rows.end());
  read_weights(frame, rows, train_rows.size());
  standardise_targets(frame, rows, train_rows.size());
  standardise_ends(rows);
  mixture_ = std::make_unique<ConditionalMixture>(model_.mixture);
  for (size_t i = 0; i < target_.size(); ++i)
    target_[i] = mixture_->within(static_cast<double>(target_[i]), static_cast<uint32_t>(i % targets.size()));

  check_texts(frame);
  std::vector<std::string> others = targets;  // columns that are no inputs
  for (const std::string& name : {options.target_high, options.weight})
    if (!name.empty()) others.push_back(name);
  model_.encoder = FrameEncoder(frame, train_rows, others, /*standardise=*/options.module.empty(), warnings_);
  if (!options.module.empty() && !model_.encoder.levels().empty())
    throw_error("module {} takes numbers, and {} has categorical columns; leave them out (`ignore`)",
                options.module, frame.file);
  if (model_.encoder.numeric_inputs() == 0 && model_.encoder.levels().empty())
    throw_error("{} has no column that could predict: none besides the target varies", frame.file);
  EncodingReport report;
  inputs_ = model_.encoder.encode(frame, report);
  for (const EncodingReport::Count& count : report.columns)
    if (count.missing > 0)
      warnings_.push_back(fmt::format("column {}: {} missing values", count.column, count.missing));
}

// A column of numbers in which a few texts are has mistakes; with more of them it may be one of levels.
void RegressorProblem::check_texts(const Frame& frame) {
  for (const FrameColumn& column : frame.columns) {
    if (column.is_numeric || std::ranges::count(model_.targets, column.name) > 0 ||
        std::ranges::count(options_.categorical, column.name) > 0)
      continue;
    std::vector<bool> is_text;
    for (const std::string& level : column.levels) {
      char* end = nullptr;
      std::strtod(level.c_str(), &end);
      is_text.push_back(end == level.c_str() || *end != '\0');
    }
    uint64_t texts = 0, values = 0, first = 0;
    for (uint64_t i = 0; i < column.level.size(); ++i) {
      if (column.level[i] == kMissingLevel) continue;
      ++values;
      if (is_text[column.level[i]] && texts++ == 0) first = i;
    }
    if (texts == 0 || 2 * texts >= values) continue;
    const std::string found = fmt::format("'{}' in column {}, of whose {} values {} are no numbers",
                                          column.levels[column.level[first]], column.name, values, texts);
    if (10 * texts < values)
      throw_at(frame.file, frame.line[first],
               "found {}; correct them, leave them empty, or take the column as levels (`categorical {}`)",
               found, column.name);
    warnings_.push_back(
        fmt::format("line {}: found {}: the column is taken as levels", frame.line[first], found));
  }
}

std::vector<double> RegressorProblem::read_targets(const Frame& frame, std::span<const uint64_t> rows) {
  const TargetColumns columns = options_.target(model_.targets[0]);
  if (!columns.has_ends()) return numeric_targets(frame, model_.targets, rows);
  if (model_.targets.size() > 1)
    throw_error("{} targets of which one is {}; expected one target alone", model_.targets.size(),
                columns.kind == "interval" ? "an interval" : columns.kind);
  model_.target_kind = columns.kind;
  model_.target_high = columns.high;
  const TargetEnds found = target_ends(frame, columns, rows);
  std::vector<double> y;
  for (size_t i = 0; i < rows.size(); ++i) y.push_back(found.place(i));
  // The support of whole numbers.
  if (columns.kind != "interval" && options_.lower.empty())
    options_.lower = {columns.kind == "count" ? -0.5 : std::ranges::min(found.low)};
  if (columns.kind == "ordinal" && options_.upper.empty()) options_.upper = {std::ranges::max(found.high)};
  ends_.low.assign(frame.rows, 0);
  ends_.high.assign(frame.rows, 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    ends_.low[rows[i]] = found.low[i];
    ends_.high[rows[i]] = found.high[i];
  }
  return y;
}

// To standardised units, inside the support.
void RegressorProblem::standardise_ends(std::span<const uint64_t> rows) {
  if (ends_.low.empty()) return;
  const double mean = model_.target_mean[0], scale = model_.target_scale[0];
  const bool is_bounded = !model_.mixture.lower.empty();
  for (const uint64_t row : rows) {
    if (ends_.is_number(row)) continue;
    double &low = ends_.low[row], &high = ends_.high[row];
    low = std::max((low - mean) / scale, is_bounded ? model_.mixture.lower[0] : -INFINITY);
    high = std::min((high - mean) / scale, is_bounded ? model_.mixture.upper[0] : INFINITY);
  }
}

void RegressorProblem::read_weights(const Frame& frame, std::span<const uint64_t> rows, uint64_t training) {
  if (options_.weight.empty()) return;
  const std::vector<double> found = numeric_targets(frame, {options_.weight}, rows);
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!(found[i] >= 0))
      throw_at(frame.file, frame.line[rows[i]], "found weight {} in column {}, expected 0 or more", found[i],
               options_.weight);
    if (i < training) sum += found[i];
  }
  if (!(sum > 0) || !std::isfinite(sum))
    throw_error("{}: the weights ({}) of the training rows sum to {}, expected a number above 0", frame.file,
                options_.weight, sum);
  weight_.assign(frame.rows, 0);
  for (size_t i = 0; i < rows.size(); ++i) weight_[rows[i]] = found[i] * static_cast<double>(training) / sum;
}

void RegressorProblem::standardise_targets(const Frame& frame, std::span<const uint64_t> rows,
                                           uint64_t training) {
  const size_t d = model_.targets.size();
  const std::vector<double> y = read_targets(frame, rows);
  const std::span<const double> trained = std::span(y).first(training * d);
  MixtureShape& mixture = model_.mixture;
  std::vector<double> lower = bounds(options_.lower, mixture.dimension, -INFINITY, "lower"),
                      upper = bounds(options_.upper, mixture.dimension, INFINITY, "upper");
  target_.assign(frame.rows * d, 0.0f);
  double largest = 0;
  for (size_t j = 0; j < d; ++j) {
    const std::string& name = model_.targets[j];
    const TargetDistinct distinct = target_distinct(trained, d, j);
    if (distinct.distinct == 1)
      throw_error("target {} of {} is {} in every training row; there is nothing to predict", name,
                  frame.file, distinct.most_frequent);
    const bool repeats = distinct.share * static_cast<double>(training) > 1.5;
    if (options_.noise_floor == 0 && repeats && ends_.low.empty() &&
        (distinct.distinct < kFewDistinct || distinct.share > kLargeShare))
      warnings_.push_back(worded(
          "target {} has {} distinct values in {} rows ({:.1f}% are {}): the likelihood of a density is "
          "unbounded "
          "at repeated values; `noise-floor SD` (half the step between values is a start) bounds it",
          name, distinct.distinct, training, 100 * distinct.share, distinct.most_frequent));
    double mean = 0, square = 0;
    for (size_t i = 0; i < training; ++i) mean += trained[i * d + j] / static_cast<double>(training);
    for (size_t i = 0; i < training; ++i) square += std::pow(trained[i * d + j] - mean, 2);
    const double scale = std::sqrt(square / static_cast<double>(training));
    if (!std::isfinite(scale) || !(scale > 1e-12 * std::abs(mean)) || scale < 1e-200)
      throw_error(
          "target {} of {} has mean {} and standard deviation {}, beyond what can be standardised; shift or "
          "scale it",
          name, frame.file, mean, scale);
    model_.target_mean.push_back(mean);
    model_.target_scale.push_back(scale);
    noise_floor_.push_back(options_.noise_floor / scale);
    for (size_t i = 0; i < rows.size(); ++i) {
      const double value = y[i * d + j];
      if (value < lower[j] || value > upper[j])
        throw_at(i < training ? frame.file : frame.file + " or its validation rows", frame.line[rows[i]],
                 "target {} is {}, outside [{}, {}]", name, value, lower[j], upper[j]);
      target_[rows[i] * d + j] = static_cast<float>((value - mean) / scale);
      if (i < training) largest = std::max(largest, std::abs((value - mean) / scale));
    }
    lower[j] = (lower[j] - mean) / scale;
    upper[j] = (upper[j] - mean) / scale;
  }
  mixture.broad_scale = std::max(kLeastBroadScale, largest / 2);
  const auto is_infinite = [](double bound) { return std::isinf(bound); };
  if (std::all_of(lower.begin(), lower.end(), is_infinite) &&
      std::all_of(upper.begin(), upper.end(), is_infinite))
    return;
  mixture.lower = std::move(lower);
  mixture.upper = std::move(upper);
}

std::vector<float> RegressorProblem::take_targets(std::span<const uint64_t> rows) const {
  std::vector<float> out;
  for (const uint64_t row : rows) {
    const std::span<const float> y = targets().row(row);
    out.insert(out.end(), y.begin(), y.end());
  }
  return out;
}

RegressorNetworks RegressorProblem::make_networks(uint64_t seed, std::span<const uint64_t> rows) const {
  const RegressorOptions& o = options_;
  const auto stream = [seed](uint64_t i) { return RandomStream(seed, i).next(); };
  const auto make_features = [&](uint64_t own_seed) {
    if (!o.module.empty()) return load_module_features(o.module, model_.encoder.numeric_inputs(), o.code);
    return make_dense_features({.inputs = model_.encoder.numeric_inputs(),
                                .levels = model_.encoder.levels(),
                                .widths = o.features,
                                .activation = activation_of(o.activation)},
                               own_seed);
  };
  const auto make_head = [&](uint32_t inputs, std::vector<uint32_t> widths, double scale, uint64_t own_seed) {
    return std::make_unique<DenseNetwork>(DenseShape{.inputs = inputs,
                                                     .levels = {},
                                                     .widths = std::move(widths),
                                                     .activation = activation_of(o.activation),
                                                     .output_scale = scale},
                                          own_seed);
  };
  RegressorNetworks out;
  out.features = make_features(stream(kFeatureStream));
  out.mixture_head =
      make_head(out.features->width(), {model_.mixture.parameters()}, kHeadScale, stream(kMixtureStream));
  const std::vector<float> y = take_targets(rows);
  const std::vector<float> start = mixture_->start({y.data(), rows.size(), model_.mixture.dimension});
  std::copy(start.begin(), start.end(), out.mixture_head->output_bias().begin());
  if (o.shared_scale) share_scales(model_.mixture, out.mixture_head->parameters());
  out.mixture_head->parameters_changed();
  if (objective_entry(o.objective).seam == ObjectiveSeam::proposal) return out;

  if (o.own_features) out.tilt_features = make_features(stream(kTiltFeatureStream));
  const uint32_t width = (out.tilt_features ? out.tilt_features : out.features)->width();
  out.context = make_head(width, {o.joint.front()}, 1, stream(kContextStream));
  out.tilt = make_conditional_mlp(model_.mixture.dimension, {.widths = o.joint, .activation = o.activation},
                                  stream(kTiltStream),
                                  /*starts_at_zero=*/true);
  std::vector<uint32_t> widths = o.normalizer;
  widths.push_back(1);
  out.normalizer = make_head(width, std::move(widths), 0, stream(kProblemNormalizerStream));
  return out;
}

std::vector<std::vector<uint64_t>> RegressorProblem::level_counts(std::span<const uint64_t> rows) const {
  std::vector<std::vector<uint64_t>> count;
  for (const uint32_t levels : model_.encoder.levels()) count.emplace_back(levels);
  for (const uint64_t row : rows)
    for (size_t k = 0; k < count.size(); ++k) ++count[k][inputs_.level[row * inputs_.categorical + k]];
  return count;
}

void RegressorProblem::set_unseen(std::span<const uint64_t> rows, RegressorNetworks& networks) const {
  const auto count = level_counts(rows);
  for (FeatureNetwork* features : {networks.features.get(), networks.tilt_features.get()}) {
    if (features == nullptr) continue;
    features->set_unseen(count);
    features->parameters_changed();
  }
}

void share_scales(const MixtureShape& shape, std::span<float> head) {
  // Rows of W: logits, means, raw scales; then the bias.
  const size_t width = head.size() / shape.parameters() - 1;
  const size_t scales = size_t{shape.components} * shape.dimension;
  std::fill_n(head.begin() + static_cast<ptrdiff_t>((shape.parameters() - scales) * width), scales * width,
              0.0f);
}

}  // namespace selfnorm
