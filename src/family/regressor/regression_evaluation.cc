#include "family/regressor/regression_evaluation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "audit/stream.h"
#include "base/failure.h"
#include "family/regressor/regressor_block.h"
#include "math/parallel.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// What targets say of the marginal predictive distributions of one coordinate (regression_evaluation.h), in
// standardised units until the end: a mean far above the scale costs no digits.

constexpr std::array<double, 4> kCoverageLevels = {0.5, 0.8, 0.9, 0.95};

// Of one row.
struct TargetPlace {
  struct InInterval {
    bool central = false, highest_density = false;
    double central_width = 0, highest_density_width = 0;
  };
  double error = 0, median_error = 0;  // y - mean, y - median
  double crps = 0, pit = 0;
  std::array<InInterval, kCoverageLevels.size()> intervals;
};
// y beyond +-kLargestPlace counts as there, so that no sum over targets is NaN.
constexpr double kLargestPlace = 1e300;
TargetPlace place_of(double y, const LineDistribution& distribution) {
  TargetPlace out;
  y = std::clamp(y, -kLargestPlace, kLargestPlace);
  out.error = y - distribution.mean();
  out.median_error = y - distribution.quantile(0.5);
  out.crps = distribution.crps(y);
  out.pit = distribution.cdf(y);
  for (size_t l = 0; l < kCoverageLevels.size(); ++l) {
    TargetPlace::InInterval& in = out.intervals[l];
    const auto inside = [y](const Interval& i) { return y >= i.from && y <= i.to; };
    const Interval central = distribution.central(kCoverageLevels[l]);
    in.central = inside(central);
    in.central_width = central.to - central.from;
    for (const Interval& piece : distribution.highest_density(kCoverageLevels[l])) {
      in.highest_density = in.highest_density || inside(piece);
      in.highest_density_width += piece.to - piece.from;
    }
  }
  return out;
}

// sup_u |share of values <= u - u|, the distance of a sample from the uniform distribution on [0, 1].
double distance_from_uniform(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double below = static_cast<double>(i) / n, through = static_cast<double>(i + 1) / n;
    distance = std::max({distance, values[i] - below, through - values[i]});
  }
  return distance;
}

class CoordinateEvaluator {
 public:
  explicit CoordinateEvaluator(uint32_t pit_bins) : pit_bins_(pit_bins) {}
  const std::vector<double>& pit() const { return pit_; }

  void add(const TargetPlace& place) {
    norm_ = std::hypot(norm_, place.error);
    sizes_ += std::abs(place.median_error);
    crps_.add(place.crps);
    pit_.push_back(place.pit);
    for (size_t l = 0; l < sums_.size(); ++l) {
      const TargetPlace::InInterval& in = place.intervals[l];
      sums_[l].central += in.central ? 1 : 0;
      sums_[l].highest_density += in.highest_density ? 1 : 0;
      sums_[l].central_width += in.central_width;
      sums_[l].highest_density_width += in.highest_density_width;
    }
  }

  // In the units of the data.
  CoordinateEvaluation finish(double scale) const {
    const double n = static_cast<double>(std::max<size_t>(1, pit_.size()));  // 0: all targets are intervals
    CoordinateEvaluation out;
    out.rmse = scale * (norm_ / std::sqrt(n));
    out.mae = scale * (sizes_ / n);
    out.crps = scale * crps_.mean;
    out.crps_error = scale * crps_.standard_error();
    out.pit.resize(pit_bins_);
    for (const double p : pit_) {
      const double bin = std::clamp(p, 0.0, 1.0) * static_cast<double>(pit_bins_);
      ++out.pit[std::min(static_cast<size_t>(bin), size_t{pit_bins_} - 1)];
    }
    out.pit_deviation = distance_from_uniform(pit_);
    for (size_t l = 0; l < sums_.size(); ++l) {
      const Coverage& sum = sums_[l];
      out.coverage.push_back({kCoverageLevels[l], sum.central / n, sum.highest_density / n,
                              scale * (sum.central_width / n), scale * (sum.highest_density_width / n)});
    }
    return out;
  }

 private:
  uint32_t pit_bins_;
  double norm_ = 0, sizes_ = 0;  // root of the sum of squared errors; sum of absolute ones
  RunningVariance crps_;
  std::vector<double> pit_;
  std::array<Coverage, kCoverageLevels.size()> sums_;  // of shares and widths
};

constexpr size_t kTargetRows = 16;  // a unit of parallel work

class Evaluator {
 public:
  Evaluator(const Regressor& model, const RegressionEvaluationOptions& options)
      : model_(model),
        options_(options),
        errors_(options.audit),
        coordinates_(model.dimension(), CoordinateEvaluator(options.pit_bins)) {
    out_.members = model.members.size();
  }

  // high: empty, or the upper ends.
  void add(const InputRows& x, std::span<const double> y, std::span<const double> high) {
    std::vector<double> numbers(y.begin(), y.end());  // NaN where it is an interval
    for (size_t i = 0; i < high.size(); ++i)
      if (high[i] != y[i]) numbers[i] = NAN;
    const BlockTargets targets(model_, numbers);
    ConditionalQuadratureOptions quadrature = options_.quadrature;
    quadrature.first_row += out_.rows;
    const std::vector<MemberBlock> members = member_blocks(model_, x, targets, quadrature);
    add_densities(members, targets, y, high);
    add_places(members, numbers);
    out_.rows += x.rows();
  }

  RegressionEvaluation finish() {
    static_cast<ErrorAudit&>(out_) = errors_.finish();
    const bool is_possible = out_.outside == 0 && out_.zero_density == 0;
    out_.nll = is_possible ? nll_.mean : kInfinity;
    out_.nll_b = is_possible ? nll_b_.mean : kInfinity;
    out_.nll_error = nll_.standard_error();
    for (size_t j = 0; j < coordinates_.size(); ++j)
      out_.coordinates.push_back(coordinates_[j].finish(model_.target_scale[j]));
    out_.pit = coordinates_.front().pit();
    return std::move(out_);
  }

 private:
  // log P(low < y < high | x), of the mean of the members.
  double log_mass(const std::vector<MemberBlock>& members, uint64_t i, const Interval& ends) const {
    std::vector<const PredictiveNodes*> nodes;
    nodes.reserve(members.size());
    for (const MemberBlock& member : members) nodes.push_back(&member.nodes[i]);
    const double mean = model_.target_mean[0], scale = model_.target_scale[0];
    return LineDistribution::of(nodes, 0, 1, 0, 1)
        .log_mass({(ends.from - mean) / scale, (ends.to - mean) / scale});
  }

  void add_densities(const std::vector<MemberBlock>& members, const BlockTargets& targets,
                     std::span<const double> low, std::span<const double> high) {
    const std::vector<TargetReach>& reach = targets.reach;
    const double volume = model_.log_volume(), count = std::log(static_cast<double>(members.size()));
    for (uint64_t i = 0; i < reach.size(); ++i) {
      LogSumExp exact, raw, error;
      double doubt = 0;  // of A, and so of e
      for (const MemberBlock& member : members) {
        const double a = member.log_normalizer(i), b = member.target.b[i];
        exact.add(member.target.s[i] - a);
        raw.add(member.target.s[i] - b);
        if (!member.is_normalised) doubt = std::max(doubt, member.nodes[i].error);
        out_.tail = std::max(out_.tail, member.nodes[i].tail);
      }
      const bool has_density = std::isfinite(exact.value());
      // e = log sum_m w_m exp(A_m - b_m), w_m the share of a member in the density: no difference of
      // logarithms that are large where densities are small.
      for (const MemberBlock& member : members) {
        const double a = member.log_normalizer(i);
        error.add((has_density ? member.target.s[i] - a - exact.value() : -count) + (a - member.target.b[i]));
      }
      out_.quadrature_error = std::max(out_.quadrature_error, doubt);
      out_.imprecise += doubt > options_.quadrature.precision ? 1 : 0;
      errors_.add(out_.rows + i, error.value(), doubt);
      out_.a.push_back(members[0].log_normalizer(i));
      out_.b.push_back(members[0].target.b[i]);
      if (!high.empty() && high[i] != low[i]) {
        const double mass = log_mass(members, i, {low[i], high[i]});
        ++out_.intervals;
        nll_.add(-mass);
        nll_b_.add(-mass - error.value());
        continue;
      }
      if (!has_density) {
        ++(reach[i] == TargetReach::kOutside ? out_.outside : out_.zero_density);
        continue;
      }
      nll_.add(volume + count - exact.value());
      nll_b_.add(volume + count - raw.value());
    }
  }

  void add_places(const std::vector<MemberBlock>& members, std::span<const double> y) {
    const uint32_t d = model_.dimension();
    std::vector<TargetPlace> places(y.size());
    parallel_ranges(y.size() / d, kTargetRows, [&](size_t begin, size_t end) {
      std::vector<const PredictiveNodes*> nodes(members.size());
      for (size_t i = begin; i < end; ++i) {
        for (size_t m = 0; m < members.size(); ++m) nodes[m] = &members[m].nodes[i];
        for (uint32_t j = 0; j < d && !std::isnan(y[i * d]); ++j) {
          const double u = (y[i * d + j] - model_.target_mean[j]) / model_.target_scale[j];
          places[i * d + j] = place_of(u, LineDistribution::of(nodes, j, d, 0, 1));
        }
      }
    });
    for (size_t i = 0; i < places.size(); ++i)
      if (!std::isnan(y[i])) coordinates_[i % d].add(places[i]);
  }

  const Regressor& model_;
  const RegressionEvaluationOptions& options_;
  RegressionEvaluation out_;
  ErrorAuditor errors_;
  RunningVariance nll_, nll_b_;
  std::vector<CoordinateEvaluator> coordinates_;
};

void check(const Regressor& model, const InputRows& x, std::span<const double> y,
           const RegressionEvaluationOptions& options) {
  options.quadrature.validate();
  require_range(options.pit_bins >= 1, "pit_bins", options.pit_bins, ">= 1");
  if (x.rows() == 0) throw Error("the data has no rows; expected at least one");
  check_targets(model, x.rows(), y);
  if (!options.high.empty() && options.high.size() != x.rows())
    throw_error("found {} upper ends of targets for {} rows; expected one a row", options.high.size(),
                x.rows());
  for (size_t i = 0; i < y.size(); ++i)
    if (!std::isfinite(y[i]) && (options.high.empty() || !(y[i] < options.high[i])))
      throw_error("target {} of row {} (from 0) is {}, expected a finite number",
                  model.targets[i % model.dimension()], i / model.dimension(), y[i]);
}

constexpr double kLargestMiss = 0.05;  // of a share of targets inside central intervals
constexpr double kChance = 2.5;        // standard errors: several levels are looked at

double standard_error(const Coverage& coverage, uint64_t rows) {
  return std::sqrt(coverage.level * (1 - coverage.level) / static_cast<double>(rows));
}

// How far a share is off, where that is more than chance explains.
double miss(const Coverage& coverage, uint64_t rows) {
  const double off = std::abs(coverage.central - coverage.level);
  return off > kChance * standard_error(coverage, rows) ? off : 0;
}

}  // namespace

std::string coverage_doubt(const RegressionEvaluation& e, const std::vector<std::string>& targets) {
  const Coverage* worst = nullptr;
  size_t target = 0;
  const uint64_t rows = e.rows - e.intervals;
  if (rows == 0) return "";
  for (size_t j = 0; j < e.coordinates.size(); ++j)
    for (const Coverage& coverage : e.coordinates[j].coverage)
      if (miss(coverage, rows) > (worst == nullptr ? kLargestMiss + 1e-12 : miss(*worst, rows)))
        worst = &coverage, target = j;
  if (worst == nullptr) return "";
  return worded(
      "central {:.6g}% intervals of {} hold {:.1f}% of {} targets (standard error {:.1f} points), so "
      "predictions are too {}",
      100 * worst->level, targets.at(target), 100 * worst->central, rows, 100 * standard_error(*worst, rows),
      with_options(worst->central > worst->level
                       ? "wide; less noise in training may help (`input-noise 0`, a smaller `weight-decay`)"
                       : "narrow; `ensemble 5`, more rows or a larger `weight-decay` may help"));
}

RegressionEvaluation evaluate_regressor(const Regressor& model, const InputRows& x, std::span<const double> y,
                                        const RegressionEvaluationOptions& options,
                                        const std::function<void(uint64_t)>& progress) {
  check(model, x, y, options);
  Evaluator evaluator(model, options);
  const uint32_t d = model.dimension();
  const uint64_t block = rows_at_once(d);
  for (uint64_t begin = 0; begin < x.rows(); begin += block) {
    const uint64_t end = std::min(x.rows(), begin + block);
    evaluator.add(x.slice(begin, end), y.subspan(begin * d, (end - begin) * d),
                  options.high.empty() ? options.high : options.high.subspan(begin, end - begin));
    if (progress) progress(end);
  }
  return evaluator.finish();
}

NormalizerAudit audit_normalizer(const Regressor& model, const InputRows& x,
                                 const RegressionEvaluationOptions& options,
                                 const std::function<void(uint64_t)>& progress) {
  if (model.members.size() > 1)
    throw_error(
        "the error of b(x) of an ensemble of {} members depends on the target; expected data with it, or a "
        "model of one member",
        model.members.size());
  if (x.rows() == 0) throw Error("the data has no rows; expected at least one");
  ErrorAuditor errors(options.audit);
  NormalizerAudit out;
  const uint64_t block = rows_at_once(model.dimension());
  for (uint64_t begin = 0; begin < x.rows(); begin += block) {
    const uint64_t end = std::min(x.rows(), begin + block);
    const auto scores = prepare_scores(model, 0, x.slice(begin, end));
    ConditionalQuadratureOptions quadrature = options.quadrature;
    quadrature.first_row += begin;
    const std::vector<ConditionalLogZ> log_z = conditional_log_z(*scores, quadrature);
    for (uint64_t i = 0; i < log_z.size(); ++i) {
      errors.add(begin + i, log_z[i].value - scores->normalizer(i), log_z[i].error);
      out.quadrature_error = std::max(out.quadrature_error, log_z[i].error);
      out.imprecise += log_z[i].error > quadrature.precision ? 1 : 0;
    }
    if (progress) progress(end);
  }
  static_cast<ErrorAudit&>(out) = errors.finish();
  out.rows = x.rows();
  return out;
}

}  // namespace selfnorm
