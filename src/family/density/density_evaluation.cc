#include "family/density/density_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRows = 8192;  // of a block

// s(u) of rows in the units of the data; -inf outside the support.
void raw_scores(const DensityModel& model, const Points& x, uint64_t first_row, std::span<double> s) {
  std::vector<float> u(x.data, x.data + x.size());
  if (!model.standardisation.mean.empty()) model.standardisation.apply(x, u);
  const Points standardised{u.data(), x.rows, x.columns};
  model.energy->score(standardised, s);
  const Support support = model.energy->support();
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (!contains(support, standardised.row(i))) s[i] = -kInfinity;
    if (s[i] < kInfinity) continue;
    throw Error(fmt::format(
        "row {} (from 0) has the score {}; expected a finite number: the model is damaged, or its "
        "training diverged",
        first_row + i, s[i]));
  }
}

double log_volume(const DensityModel& model) {
  return model.standardisation.scale.empty() ? 0 : model.standardisation.log_volume();
}

void check_columns(const DensityModel& model, uint32_t columns) {
  if (columns == model.dimension()) return;
  throw Error(fmt::format("the data have {} columns and the model {}; expected the same", columns,
                          model.dimension()));
}

const char* outside_advice(const Support& support) {
  switch (support.space) {
    case Support::Space::levels:
      return "they have values that no row of the training data had; leave them out, or train on rows with "
             "all "
             "values";
    case Support::Space::counts:
      return "counts are whole numbers from 0; leave them out, or train with --space real";
    case Support::Space::real:
      break;
  }
  return "leave them out, or train an energy and a proposal over all numbers (mlp and mixture)";
}

// Mean and standard error of the scores inside the support (Welford).
struct ScoreSum {
  uint64_t inside = 0, outside = 0, first_outside = 0;
  double mean = 0, square = 0, mean_log_prob = 0;

  void add(uint64_t row, double s, double log_prob) {
    if (std::isinf(s)) {
      if (outside++ == 0) first_outside = row;
      return;
    }
    const double change = s - mean;
    mean += change / static_cast<double>(++inside);
    square += change * (s - mean);
    mean_log_prob += (log_prob - mean_log_prob) / static_cast<double>(inside);
  }
  double error() const {
    const auto n = static_cast<double>(inside);
    return inside < 2 ? 0 : std::sqrt(square / (n - 1) / n);
  }
};

ScoreSum sum_scores(const DensityModel& model, const PointSource& data, const LogZEstimate& log_z) {
  ScoreSum sum;
  std::vector<uint64_t> rows;
  std::vector<float> x;
  std::vector<double> s;
  for (uint64_t first = 0; first < data.rows(); first += kRows) {
    rows.resize(std::min(kRows, data.rows() - first));
    std::iota(rows.begin(), rows.end(), first);
    x.resize(rows.size() * data.columns());
    s.resize(rows.size());
    data.read(rows, x);
    raw_scores(model, {x.data(), rows.size(), data.columns()}, first, s);
    for (size_t i = 0; i < rows.size(); ++i) sum.add(rows[i], s[i], log_z.log_prob(s[i]));
  }
  return sum;
}

}  // namespace

DensityEvaluation evaluate_density(const DensityModel& model, const PointSource& data,
                                   const DensityEvaluationOptions& options) {
  options.validate();
  check_columns(model, data.columns());
  if (data.rows() == 0) throw Error("the data have no rows; expected at least 1");
  const JudgedLogZ z = judged_log_z(model, options);
  const ScoreSum sum = sum_scores(model, data, z.estimate);
  const double lost = (sum.outside > 0 ? kInfinity : 0) + log_volume(model);
  DensityEvaluation out;
  out.rows = data.rows();
  out.outside = sum.outside;
  out.log_z = z.estimate;
  out.distrust = z.distrust;
  if (sum.outside > 0)
    out.distrust = fmt::format(
        "{} of {} rows (the first is {}, from 0) are outside the support of the model, where its "
        "density is 0; {}",
        sum.outside, out.rows, data.number(sum.first_outside), outside_advice(model.energy->support()));
  out.is_trusted = out.distrust.empty();
  out.b = model.log_normalizer;
  out.nll = lost - sum.mean_log_prob;
  out.nll_low = out.nll + (z.estimate.low - z.estimate.value);
  out.nll_high = out.nll + (z.estimate.high - z.estimate.value);
  out.nll_error = sum.error();
  out.nll_b = lost - sum.mean + out.b;
  out.log_ratio = z.estimate.value - out.b;
  out.snl_bound = -out.nll_b - std::expm1(out.log_ratio);
  return out;
}

SettledDensity settle_normalizer(DensityModel& model, const PointSource& data,
                                 const DensityOptions& options) {
  constexpr double kFarNormalizer = 0.02;  // of |b - log Z|
  SettledDensity out{evaluate_density(model, data, {.seed = options.seed}), ""};
  DensityEvaluation& e = out.evaluation;
  const bool may_move = options.calibrate && options.normalizer == "learned" && e.is_trusted;
  if (!may_move || std::abs(e.log_ratio) <= kFarNormalizer) return out;
  out.moved = fmt::format("b {:.4f} became log Z as found by {}, {:.4f}", e.b, e.log_z.method, e.log_z.value);
  model.log_normalizer = e.b = e.log_z.value;
  model.normalizer_kind = "estimated";
  e.nll_b = e.nll;
  e.snl_bound = -e.nll;
  e.log_ratio = 0;
  return out;
}

std::vector<double> density_scores(const DensityModel& model, const Points& x,
                                   const std::optional<LogZEstimate>& log_z) {
  check_columns(model, x.columns);
  std::vector<double> out(x.rows);
  const double volume = log_volume(model);
  for (uint64_t first = 0; first < x.rows; first += kRows) {
    const uint64_t end = std::min(x.rows, first + kRows);
    raw_scores(model, x.slice(first, end), first, std::span(out).subspan(first, end - first));
  }
  for (double& s : out) s = (log_z ? log_z->log_prob(s) : s - model.log_normalizer) - volume;
  return out;
}

}  // namespace selfnorm
