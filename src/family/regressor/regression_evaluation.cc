#include "family/regressor/regression_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/range.h"
#include "family/regressor/coordinate_evaluator.h"
#include "family/regressor/regressor_block.h"
#include "math/parallel.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

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

  void add(const InputRows& x, std::span<const double> y) {
    const BlockTargets targets(model_, y);
    ConditionalQuadratureOptions quadrature = options_.quadrature;
    quadrature.first_row += out_.rows;
    const std::vector<MemberBlock> members = member_blocks(model_, x, targets, quadrature);
    add_densities(members, targets.reach);
    add_places(members, y);
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
  void add_densities(const std::vector<MemberBlock>& members, const std::vector<TargetReach>& reach) {
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
        for (uint32_t j = 0; j < d; ++j) {
          const double u = (y[i * d + j] - model_.target_mean[j]) / model_.target_scale[j];
          places[i * d + j] = place_of(u, LineDistribution::of(nodes, j, d, 0, 1));
        }
      }
    });
    for (size_t i = 0; i < places.size(); ++i) coordinates_[i % d].add(places[i]);
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
  for (size_t i = 0; i < y.size(); ++i)
    if (!std::isfinite(y[i]))
      throw Error(fmt::format("target {} of row {} (from 0) is {}, expected a finite number",
                              model.targets[i % model.dimension()], i / model.dimension(), y[i]));
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
  for (size_t j = 0; j < e.coordinates.size(); ++j)
    for (const Coverage& coverage : e.coordinates[j].coverage)
      if (miss(coverage, e.rows) > (worst == nullptr ? kLargestMiss + 1e-12 : miss(*worst, e.rows)))
        worst = &coverage, target = j;
  if (worst == nullptr) return "";
  return fmt::format(
      "central {:.6g}% intervals of {} hold {:.1f}% of {} targets (standard error {:.1f} points), so "
      "predictions are too {}",
      100 * worst->level, targets.at(target), 100 * worst->central, e.rows,
      100 * standard_error(*worst, e.rows),
      worst->central > worst->level
          ? "wide; less noise in training may help (--input-noise 0, a smaller --weight-decay)"
          : "narrow; --ensemble 5, more rows or a larger --weight-decay may help");
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
    evaluator.add(x.slice(begin, end), y.subspan(begin * d, (end - begin) * d));
    if (progress) progress(end);
  }
  return evaluator.finish();
}

}  // namespace selfnorm
