#include "family/classifier/normalize/likelihood_gap.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/failure.h"
#include "engine/engine.h"
#include "engine/lbfgs_problem.h"
#include "math/parallel.h"
#include "math/vector.h"
#include "normalizer/problem.h"
#include "objective/loss.h"
#include "objective/registry.h"
#include "optim/dual.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

using Vector = std::vector<double>;

constexpr uint64_t kWindow = 10;      // iterations that must gain `gain`
constexpr uint64_t kGapHistory = 20;  // L-BFGS pairs
constexpr double kGradient = 1e-10;   // relative gradient norm that ends a solve
constexpr double kRoughGain = 100;    // times `gain`, while the multiplier is only roughly known
constexpr double kGapRoughSlack = 0.1;
constexpr uint64_t kGapRoughUpdates = 30;
constexpr double kGapSlack = 1e-3;
constexpr uint64_t kGapFineUpdates = 40;
constexpr double kSeparated = 1e-4;
constexpr int kBisections = 60;

double total_weight(const Dataset& data) {
  if (data.weight.empty()) return static_cast<double>(data.examples());
  return std::accumulate(data.weight.begin(), data.weight.end(), 0.0);
}

void check(const Dataset& data, const LikelihoodGapOptions& options) {
  if (data.examples() == 0) throw Error("likelihood gap: the data has no rows; expected at least one");
  if (data.target.size() != data.examples())
    throw_error("likelihood gap: the data has {} targets for {} examples", data.target.size(),
                data.examples());
  if (!data.is_joint() && data.classes() < 2)
    throw_error("likelihood gap: the data has {} class(es); expected at least two", data.classes());
  for (uint64_t i = 0; i < data.examples(); ++i) {
    const uint64_t outputs =
        data.is_joint() ? data.group_begin[i + 1] - data.group_begin[i] : uint64_t{data.classes()};
    if (data.target[i] >= outputs)
      throw_error("likelihood gap: example {} (counted from 0) has no label; expected one on every example",
                  i);
  }
  const double weight = total_weight(data);
  if (!(weight > 0) || !std::isfinite(weight))
    throw_error("likelihood gap: the weights sum to {}; expected a positive number", weight);
  if (!options.log_carrier.empty() && options.log_carrier.size() != data.classes())
    throw_error("likelihood gap: the carrier has {} values for {} classes", options.log_carrier.size(),
                data.classes());
}

// log sum_y h(y); over groups of different size its mean.
double log_measure(const Dataset& data, std::span<const float> log_carrier) {
  if (!data.is_joint()) {
    LogSumExp sum;
    for (uint32_t k = 0; k < data.classes(); ++k)
      sum.add(log_carrier.empty() ? 0.0 : static_cast<double>(log_carrier[k]));
    return sum.value();
  }
  double sum = 0;
  for (uint64_t g = 0; g < data.examples(); ++g) {
    const double w = data.weight.empty() ? 1.0 : static_cast<double>(data.weight[g]);
    sum += w * std::log(static_cast<double>(data.group_begin[g + 1] - data.group_begin[g]));
  }
  return sum / total_weight(data);
}

std::vector<size_t> ascending(const Vector& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  return order;
}

// Until kWindow iterations gain less than `gain`.
class WindowedMinimisation final : public Minimisation<double> {
 public:
  struct Limits {
    uint64_t iterations;
    double gain;
  };
  WindowedMinimisation(const Limits& limits, Vector start, Lbfgs<double>::Function f)
      : Minimisation({.history = kGapHistory, .tolerance = kGradient}, std::move(start), std::move(f)),
        limits_(limits) {}

  bool is_converged() const { return is_converged_; }

 private:
  std::string limit() override {
    const uint64_t iteration = lbfgs_.state().iteration;
    const double value = lbfgs_.state().value;
    if (iteration % kWindow == 0 && std::exchange(before_, value) - value < limits_.gain) {
      is_converged_ = true;
      return fmt::format("converged: {} iterations gained less than {:.1g} nats", kWindow, limits_.gain);
    }
    return iteration >= limits_.iterations ? fmt::format("reached {} iterations", limits_.iterations) : "";
  }

  Step stop(std::string reason) override {
    if (reason == lbfgs_.reason()) is_converged_ = std::isfinite(lbfgs_.state().value);
    return Step::finished(std::move(reason));
  }

  Limits limits_;
  double before_ = INFINITY;  // the value a window ago
  bool is_converged_ = false;
};

class GapSearch {
 public:
  GapSearch(const Dataset& data, const LikelihoodGapOptions& options)
      : data_(data),
        options_(options),
        centre_(options.centre.value_or(log_measure(data, options.log_carrier))),
        weight_(total_weight(data)),
        pass_(make_exact_pass<double>(data, data.features.columns(), data.classes(), options.log_carrier)) {}

  LikelihoodGap run() {
    LikelihoodGap out;
    out.centre = centre_;
    out.maximum = maximise(Vector(pass_->parameters()));
    out.constrained.resize(options_.deltas.size());
    Vector start(pass_->parameters());
    for (const size_t i : ascending(options_.deltas)) {
      const double delta = options_.deltas[i];
      out.constrained[i] = {.delta = delta, .gap = 0, .optimum = constrain(delta, out.maximum, start)};
      start = out.constrained[i].optimum.theta;
    }
    out.penalised.resize(options_.multipliers.size());
    start.assign(pass_->parameters(), 0.0);
    const std::vector<size_t> rising = ascending(options_.multipliers);
    for (size_t place = rising.size(); place-- > 0;) {
      ConstrainedOptimum& found = out.penalised[rising[place]];
      found.optimum = describe(minimise(options_.multipliers[rising[place]], start, options_.gain));
      found.delta = found.optimum.rms;
      start = found.optimum.theta;
    }
    // A solution that is better than the maximum (at infinity, or where a solve stopped early) continues it.
    const std::vector<ConstrainedOptimum>* const lists[] = {&out.constrained, &out.penalised};
    for (const auto* list : lists) {
      for (const ConstrainedOptimum& c : *list)
        if (c.optimum.nll < out.maximum.nll) out.maximum = maximise(c.optimum.theta);
    }
    for (ConstrainedOptimum& c : out.constrained) c.gap = std::max(0.0, c.optimum.nll - out.maximum.nll);
    for (ConstrainedOptimum& c : out.penalised) c.gap = std::max(0.0, c.optimum.nll - out.maximum.nll);
    out.separated = out.maximum.nll < kSeparated;
    return out;
  }

 private:
  struct Solve {
    Vector theta;
    LossSum sum;
    double multiplier = 0;
    bool converged = false;
    std::string reason;
  };

  LossSum measure(const Objective& objective, std::span<const double> theta,
                  std::span<double> gradient) const {
    return value_and_gradient<double>(
        *pass_, objective, {.weight = data_.weight, .centre = centre_, .gradient_scale = 1 / weight_}, theta,
        gradient);
  }
  LossSum measure(std::span<const double> theta) const {
    return measure(*make_objective({.name = "exact"}), theta, {});
  }

  // Minimises mean loss + l2/2 |theta|^2 for the penalty alpha (V_m)  (0: the likelihood alone).
  Solve minimise(double alpha, const Vector& start, double gain) const {
    const auto objective = make_objective({.name = alpha > 0 ? "penalty" : "exact", .alpha = alpha});
    WindowedMinimisation problem({options_.iterations, gain}, start,
                                 [&](std::span<const double> theta, std::span<double> gradient) {
                                   std::fill(gradient.begin(), gradient.end(), 0.0);
                                   const double loss = measure(*objective, theta, gradient).mean_loss();
                                   if (options_.l2 == 0) return loss;
                                   add_multiple(options_.l2, theta, gradient);
                                   return loss + 0.5 * options_.l2 * inner_product(theta, theta);
                                 });
    Solve out;
    out.multiplier = alpha;
    out.reason = selfnorm::run(problem).reason;
    out.converged = problem.is_converged();
    out.theta = problem.point();
    out.sum = measure(out.theta);
    return out;
  }

  LikelihoodOptimum describe(Solve solve) const {
    LikelihoodOptimum out;
    out.nll = solve.sum.mean_nll();
    out.rms = solve.sum.rms_log_z();
    out.multiplier = solve.multiplier;
    out.converged = solve.converged;
    out.reason = std::move(solve.reason);
    out.theta = std::move(solve.theta);
    Vector kl(pass_->examples());
    pass_->summarise(out.theta, [&](uint64_t i, const OutputSummary& row) {
      kl[i] = std::log(static_cast<double>(row.outputs)) - row.entropy;
    });
    for (uint64_t i = 0; i < kl.size(); ++i)
      out.kl_uniform += kl[i] * (data_.weight.empty() ? 1.0 : static_cast<double>(data_.weight[i])) / weight_;
    if (!std::isfinite(out.nll) || !std::isfinite(out.rms))
      throw Error("likelihood gap: the likelihood is not finite; the features are too large, scale them");
    return out;
  }

  LikelihoodOptimum maximise(const Vector& start) const {
    return describe(minimise(0, start, options_.gain));
  }

  // The point of the segment from `inside` (feasible) to `outside` (not) where the constraint is tight.
  Vector tight_point(const Vector& inside, const Vector& outside, double delta) const {
    Vector point(inside.size());
    const auto rms_at = [&](double share) {
      for (size_t i = 0; i < point.size(); ++i) point[i] = (1 - share) * inside[i] + share * outside[i];
      return measure(point).rms_log_z();
    };
    double low = 0, high = 1;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = 0.5 * (low + high), rms = rms_at(middle);
      (rms <= delta ? low : high) = middle;
      if (rms <= delta && rms >= delta * (1 - 1e-9)) break;
    }
    rms_at(low);
    return point;
  }

  LikelihoodOptimum constrain(double delta, const LikelihoodOptimum& maximum, const Vector& previous) const {
    if (maximum.rms <= delta) return maximum;
    const LossSum at_previous = measure(previous);
    if (at_previous.rms_log_z() > delta)
      throw_error(
          "likelihood gap: rms(A - m) = {:.4g} where the model is closest to normalised, wanted {:.4g}; use "
          "a larger delta",
          at_previous.rms_log_z(), delta);
    Solve best;
    const auto consider = [&](Vector theta, double multiplier) {
      Solve candidate;
      candidate.theta = std::move(theta);
      candidate.sum = measure(candidate.theta);
      candidate.multiplier = multiplier;
      const bool feasible = candidate.sum.rms_log_z() <= delta;
      if (feasible && (best.theta.empty() || candidate.sum.nll < best.sum.nll)) best = std::move(candidate);
    };
    consider(previous, 0);
    consider(tight_point(Vector(previous.size()), maximum.theta, delta), 0);

    DualSearch dual(delta, kGapRoughSlack, kGapRoughUpdates);
    Vector inside = best.theta, outside = maximum.theta;
    double inside_multiplier = 0;
    bool fine = false;
    Solve last;
    for (;;) {
      last = minimise(dual.alpha(), inside, fine ? options_.gain : kRoughGain * options_.gain);
      if (last.sum.rms_log_z() <= delta) {
        inside = last.theta;
        inside_multiplier = last.multiplier;
        consider(inside, inside_multiplier);
      } else {
        outside = last.theta;
      }
      if (dual.update(last.sum.rms_log_z()) == DualStep::again) continue;
      if (fine) break;
      fine = true;
      if (dual.alpha() == 0) break;
      dual.refine(kGapSlack, kGapFineUpdates);
    }
    // Both ends solve neighbouring problems, and the likelihood is concave between them.
    if (last.multiplier > 0 || last.sum.rms_log_z() > delta)
      consider(tight_point(inside, outside, delta), inside_multiplier);
    best.converged =
        last.converged && (best.multiplier == 0 || best.sum.rms_log_z() >= delta * (1 - kGapSlack));
    best.reason = last.reason;
    return describe(std::move(best));
  }

  const Dataset& data_;
  const LikelihoodGapOptions& options_;
  double centre_, weight_;
  std::unique_ptr<ExactPass<double>> pass_;
};

}  // namespace

void LikelihoodGapOptions::validate() const {
  for (const double delta : deltas) require_range(delta > 0, "delta", delta, "a finite number > 0");
  for (const double alpha : multipliers) require_range(alpha > 0, "multiplier", alpha, "a finite number > 0");
  if (centre) require_range(true, "centre", *centre, "a finite number");
  require_range(l2 >= 0, "l2", l2, "a finite number >= 0");
  require_range(gain > 0, "gain", gain, "a finite number > 0");
  require_range(iterations >= 1, "iterations", static_cast<double>(iterations), "at least 1");
  require_range(threads >= 0, "threads", threads, "0 (all cores) or more");
}

LikelihoodGap likelihood_gap(const Dataset& data, const LikelihoodGapOptions& options) {
  options.validate();
  check(data, options);
  const ThreadLimit limit(options.threads);
  return GapSearch(data, options).run();
}

}  // namespace selfnorm
