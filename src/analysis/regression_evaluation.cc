#include "selfnorm/analysis/regression_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "coordinate_evaluator.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kRows = 16;  // a unit of parallel work

// One member on a block of rows.
struct MemberBlock {
  std::vector<PredictiveNodes> nodes;
  std::vector<double> s;     // at the targets; -inf outside the support
  std::vector<double> a, b;  // A(x), b(x)
  double error = 0;          // largest error of A
};

struct BlockTargets {
  Points y;                   // in the units of the data
  std::vector<uint32_t> row;  // those inside the support
  std::vector<float> u;       // of those, standardised
};

BlockTargets targets_of(const Regressor& model, const Points& y) {
  BlockTargets out{y, {}, {}};
  std::array<float, 3> u;
  for (uint32_t i = 0; i < y.rows; ++i) {
    if (!model.standardise(y.row(i), u)) continue;
    out.row.push_back(i);
    out.u.insert(out.u.end(), u.begin(), u.begin() + y.columns);
  }
  return out;
}

class Evaluator {
 public:
  Evaluator(const Regressor& model, const RegressionEvaluationOptions& options)
      : model_(model),
        options_(options),
        errors_(options.audit),
        coordinates_(model.dimension(), CoordinateEvaluator(options.pit_bins)) {}

  void add(const InputRows& x, const Points& y) {
    const BlockTargets targets = targets_of(model_, y);
    std::vector<MemberBlock> members;
    for (size_t m = 0; m < model_.members.size(); ++m) members.push_back(run(m, x, targets));
    for (const MemberBlock& member : members)
      out_.quadrature_error = std::max(out_.quadrature_error, member.error);
    add_densities(members, y.rows);
    add_places(members, y);
    out_.rows += y.rows;
  }

  RegressionEvaluation finish() {
    static_cast<ErrorAudit&>(out_) = errors_.finish();
    const bool is_possible = out_.outside == 0;
    out_.nll = is_possible ? nll_.mean : kInfinity;
    out_.nll_b = is_possible ? nll_b_.mean : kInfinity;
    out_.nll_error = nll_.standard_error();
    for (const CoordinateEvaluator& coordinate : coordinates_)
      out_.coordinates.push_back(coordinate.finish());
    out_.pit = coordinates_.front().pit();
    return std::move(out_);
  }

 private:
  MemberBlock run(size_t m, const InputRows& x, const BlockTargets& targets) const {
    const auto scores = prepare_scores(model_, m, x);
    ConditionalQuadratureOptions quadrature = options_.quadrature;
    quadrature.first_row = out_.rows;
    MemberBlock out;
    out.nodes = conditional_quadrature(*scores, quadrature);
    std::vector<double> s(targets.row.size());
    scores->score({targets.u.data(), targets.row.size(), model_.dimension()}, targets.row, s);
    out.s.assign(x.rows(), -kInfinity);
    for (size_t i = 0; i < s.size(); ++i) out.s[targets.row[i]] = s[i];
    for (uint64_t i = 0; i < x.rows(); ++i) {
      out.b.push_back(scores->normalizer(i));
      out.a.push_back(scores->is_normalised() ? 0 : out.nodes[i].log_normalizer);
      if (!scores->is_normalised()) out.error = std::max(out.error, out.nodes[i].error);
      if (std::isfinite(out.b[i]) && !std::isnan(out.s[i]) && out.s[i] < kInfinity) continue;
      throw Error(
          fmt::format("row {} (from 0): b(x) is {} and the score of the target {}, expected finite "
                      "numbers; the input is beyond what the model can take",
                      out_.rows + i, out.b[i], out.s[i]));
    }
    return out;
  }

  void add_densities(const std::vector<MemberBlock>& members, uint64_t rows) {
    const double volume = model_.log_volume(), count = std::log(static_cast<double>(members.size()));
    for (uint64_t i = 0; i < rows; ++i) {
      LogSumExp exact, raw, mass;
      for (const MemberBlock& member : members) {
        exact.add(member.s[i] - member.a[i]);
        raw.add(member.s[i] - member.b[i]);
        mass.add(member.a[i] - member.b[i]);
      }
      const bool has_density = std::isfinite(exact.value());
      const bool is_one = members.size() == 1;
      errors_.add(out_.rows + i, is_one || !has_density ? mass.value() - count : raw.value() - exact.value());
      out_.a.push_back(members[0].a[i]);
      out_.b.push_back(members[0].b[i]);
      if (!has_density) {
        ++out_.outside;
        continue;
      }
      nll_.add(volume + count - exact.value());
      nll_b_.add(volume + count - raw.value());
    }
  }

  void add_places(const std::vector<MemberBlock>& members, const Points& y) {
    const uint32_t d = model_.dimension();
    std::vector<TargetPlace> places(y.size());
    parallel_ranges(y.rows, kRows, [&](size_t begin, size_t end) {
      std::vector<const PredictiveNodes*> nodes(members.size());
      for (size_t i = begin; i < end; ++i) {
        for (size_t m = 0; m < members.size(); ++m) nodes[m] = &members[m].nodes[i];
        for (uint32_t j = 0; j < d; ++j) {
          const auto line = LineDistribution::of(nodes, j, d, model_.target_mean[j], model_.target_scale[j]);
          places[i * d + j] = place_of(static_cast<double>(y.row(i)[j]), line);
        }
      }
    });
    for (size_t i = 0; i < places.size(); ++i) coordinates_[i % d].add(places[i]);
    for (const MemberBlock& member : members)
      for (const PredictiveNodes& nodes : member.nodes) out_.tail = std::max(out_.tail, nodes.tail);
  }

  const Regressor& model_;
  const RegressionEvaluationOptions& options_;
  RegressionEvaluation out_;
  ErrorAuditor errors_;
  RunningVariance nll_, nll_b_;
  std::vector<CoordinateEvaluator> coordinates_;
};

void check(const Regressor& model, const InputRows& x, const Points& y,
           const RegressionEvaluationOptions& options) {
  options.quadrature.validate();
  require_range(options.pit_bins >= 1, "pit_bins", options.pit_bins, ">= 1");
  if (x.rows() == 0) throw Error("the data has no rows; expected at least one");
  if (y.rows != x.rows() || y.columns != model.dimension())
    throw Error(fmt::format("targets of {} rows and {} columns, expected {} and {}", y.rows, y.columns,
                            x.rows(), model.dimension()));
  for (size_t i = 0; i < y.size(); ++i)
    if (!std::isfinite(y.data[i]))
      throw Error(fmt::format("target {} of row {} (from 0) is {}, expected a finite number",
                              model.targets[i % y.columns], i / y.columns, y.data[i]));
}

}  // namespace

RegressionEvaluation evaluate_regressor(const Regressor& model, const InputRows& x, const Points& y,
                                        const RegressionEvaluationOptions& options,
                                        const std::function<void(uint64_t)>& progress) {
  check(model, x, y, options);
  Evaluator evaluator(model, options);
  const uint64_t block = rows_at_once(model.dimension());
  for (uint64_t begin = 0; begin < x.rows(); begin += block) {
    const uint64_t end = std::min(x.rows(), begin + block);
    evaluator.add(x.slice(begin, end), y.slice(begin, end));
    if (progress) progress(end);
  }
  return evaluator.finish();
}

}  // namespace selfnorm
