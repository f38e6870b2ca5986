#include "selfnorm/train/retrain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "retrain_problem.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/math/random.h"
#include "selfnorm/optim/adaptive.h"
#include "selfnorm/optim/lbfgs.h"
#include "selfnorm/optim/schedule.h"

namespace selfnorm {
namespace {

constexpr double kFirstAlpha = 0.01, kLargestAlpha = 1e5, kSmallestAlpha = 1e-5, kGrowth = 4;
// Beyond these a pass is long and 2 history + 5 copies of the head are many: minibatches instead.
constexpr size_t kFullPassParameters = 20'000'000;
constexpr double kFullPassFlops = 2e11;
constexpr double kSolveFlops = 8e12;    // beyond which a solve gets fewer passes than asked for ...
constexpr uint64_t kFewestPasses = 40;  // ... down to these
constexpr int kHalvings = 7;
constexpr uint64_t kCheckEvery = 10;  // iterations of L-BFGS between looks at the held-out examples
constexpr uint64_t kPatience = 4;     // of those looks without improvement
constexpr uint64_t kHistory = 7;
// Where each solve may start on the way from the last parameters to the uniform model (theory.md 2.2).
constexpr std::array<double, 6> kPath = {0.9, 0.75, 0.6, 0.4, 0.2, 0.1};
constexpr uint64_t kEpochs = 5;  // of minibatches, for each alpha
constexpr uint64_t kRetrainBatch = 256;
constexpr double kRetrainRate = 0.05;  // Adam moves scores by about this much a step

class Retraining {
 public:
  Retraining(const RetrainProblem& problem, const RetrainOptions& options)
      : problem_(problem),
        options_(options),
        in_full_passes_(problem.parameters() <= kFullPassParameters && problem.flops() <= kFullPassFlops) {}

  // From theta to the best parameters for alpha by the held-out penalised loss.
  void solve(double alpha, std::vector<float>& theta) {
    ++solves_;
    best_ = theta;
    best_loss_ = problem_.held_out(theta, alpha).mean_loss();
    for (const double t : kPath) keep_if_better(problem_.towards_uniform(theta, t), alpha);
    theta = best_;
    if (in_full_passes_)
      full_passes(alpha, theta);
    else
      minibatches(alpha, theta);
    theta = best_;
  }

 private:
  // False when the held-out examples did not get better.
  bool keep_if_better(const std::vector<float>& theta, double alpha) {
    const double loss = problem_.held_out(theta, alpha).mean_loss();
    if (!(loss < best_loss_)) return false;
    best_loss_ = loss;
    best_ = theta;
    return true;
  }

  void full_passes(double alpha, const std::vector<float>& start) {
    const uint64_t passes =
        std::min(options_.passes,
                 std::max<uint64_t>(kFewestPasses, static_cast<uint64_t>(kSolveFlops / problem_.flops())));
    uint64_t pass = 0, misses = 0;
    Lbfgs<float> lbfgs(
        {.history = kHistory, .tolerance = 1e-4}, [&](std::span<const float> x, std::span<float> gradient) {
          ++pass;
          return problem_
              .full(x, alpha, gradient,
                    [&](uint64_t done) { report(alpha, std::min(pass, passes), passes, done); })
              .mean_loss();
        });
    lbfgs.start(start);
    while (pass < passes) {
      const bool more = lbfgs.step();
      const uint64_t iteration = lbfgs.state().iteration;
      const bool last = !more || pass >= passes;
      if (!last && iteration % kCheckEvery != 0) continue;
      misses = keep_if_better(lbfgs.state().x, alpha) ? 0 : misses + 1;
      if (last || misses == kPatience) return;
    }
  }

  void minibatches(double alpha, std::vector<float> theta) {
    const uint64_t n = problem_.examples(), batch = std::min(kRetrainBatch, n),
                   steps = (n + batch - 1) / batch;
    const uint64_t epochs = std::min(options_.passes, kEpochs);
    Adaptive<float> adam("adam", theta.size(), 0);
    const Schedule schedule{"linear", epochs * steps, steps};
    std::vector<float> gradient(theta.size());
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const std::vector<uint64_t> order =
          random_permutation(n, RandomStream(options_.seed, (solves_ << 32) + epoch));
      for (uint64_t step = 0; step < steps; ++step) {
        std::vector<uint64_t> examples(
            order.begin() + static_cast<std::ptrdiff_t>(step * batch),
            order.begin() + static_cast<std::ptrdiff_t>(std::min(n, (step + 1) * batch)));
        std::sort(examples.begin(), examples.end());
        problem_.batch(examples, theta, alpha, gradient);
        adam.begin_step();
        const double rate = kRetrainRate / problem_.input_norm() * schedule.factor(epoch * steps + step);
        parallel_ranges(theta.size(), 1 << 16, [&](size_t begin, size_t end) {
          adam.update(theta, begin, std::span<const float>(gradient).subspan(begin, end - begin), rate, 0);
        });
        report(alpha, epoch + 1, epochs, std::min(n, (step + 1) * batch));
      }
      keep_if_better(theta, alpha);
    }
  }

  void report(double alpha, uint64_t pass, uint64_t passes, uint64_t done) const {
    if (options_.on_progress) options_.on_progress({solves_, alpha, pass, passes, done, problem_.examples()});
  }

  const RetrainProblem& problem_;
  const RetrainOptions& options_;
  bool in_full_passes_;
  uint64_t solves_ = 0;
  std::vector<float> best_;
  double best_loss_ = 0;
};

// The search for alpha.
class Search {
 public:
  Search(const RetrainProblem& problem, const RetrainOptions& options, double original_nll)
      : problem_(problem), options_(options), original_nll_(original_nll), retraining_(problem, options) {}

  void run(const std::vector<float>& start, RetrainResult& result) {
    result.start = measure(start, 0);
    Candidate good{start, result.start};
    best_ = good;
    if (is_small_enough(result.start)) {
      finish(result, "the lossless gauge is enough");
      return;
    }
    std::optional<Candidate> crossed;
    double alpha = kFirstAlpha;
    while (!crossed && alpha <= kLargestAlpha && alpha >= kSmallestAlpha) {
      Candidate next = solved(alpha, good.theta);
      if (!is_crossed(next.point)) {
        good = std::move(next);
        alpha *= kGrowth;
      } else if (good.point.alpha == 0 && is_too_dear(next.point) && alpha / kGrowth >= kSmallestAlpha) {
        alpha /= kGrowth;  // the very first is beyond the budget
      } else {
        crossed = std::move(next);
      }
    }
    for (uint64_t i = 0; crossed && i < options_.refinements; ++i) {
      const double low = std::max(good.point.alpha, crossed->point.alpha / kGrowth);
      Candidate middle = solved(std::sqrt(low * crossed->point.alpha), good.theta);
      (is_crossed(middle.point) ? *crossed : good) = std::move(middle);
    }
    if (crossed) narrow(good, *crossed);
    const TradePoint& p = best_.point;
    finish(result, is_small_enough(p) ? fmt::format("rms log Z {:.4g} <= {:.4g}", p.rms, *options_.delta)
                   : options_.budget
                       ? fmt::format("as small as {:.4g} of {:.4g} nats buy", p.loss, *options_.budget)
                       : fmt::format("the smallest rms log Z found is {:.4g}; the head is left as the "
                                     "lossless step made it",
                                     smallest_rms_));
  }

 private:
  struct Candidate {
    std::vector<float> theta;
    TradePoint point;
  };

  void finish(RetrainResult& result, std::string reason) {
    result.chosen = best_.point;
    result.model = problem_.model_of(best_.theta);
    result.trade = std::move(trade_);
    std::sort(result.trade.begin(), result.trade.end(),
              [](const auto& a, const auto& b) { return a.alpha < b.alpha; });
    result.reached = options_.delta ? is_small_enough(best_.point) : true;
    result.reason = std::move(reason);
  }
  TradePoint measure(const std::vector<float>& theta, double alpha) const {
    const LossSum sum = problem_.held_out(theta, alpha);
    return {alpha, sum.rms_log_z(), sum.mean_nll() - original_nll_};
  }
  Candidate solved(double alpha, std::vector<float> theta) {
    retraining_.solve(alpha, theta);
    problem_.apply_gauge(theta);
    Candidate out{std::move(theta), {}};
    out.point = measure(out.theta, alpha);
    trade_.push_back(out.point);
    consider(out);
    return out;
  }
  // Keeps the cheapest that is small enough, or else the smallest within the budget, or else what it started
  // with.
  void consider(const Candidate& candidate) {
    const TradePoint &p = candidate.point, &best = best_.point;
    smallest_rms_ = std::min(smallest_rms_, p.rms);
    const bool is_better =
        is_small_enough(p) ? !is_small_enough(best) || p.loss < best.loss
                           : !is_small_enough(best) && options_.budget && !is_too_dear(p) && p.rms < best.rms;
    if (is_better) best_ = candidate;
  }
  // On the segment between the two rms is continuous and the likelihood concave, so the crossing itself is
  // there and costs less than the way straight between what the ends cost.
  void narrow(Candidate& good, Candidate& crossed) {
    for (int i = 0; i < kHalvings; ++i) {
      Candidate middle{good.theta, {}};
      for (size_t j = 0; j < middle.theta.size(); ++j)
        middle.theta[j] = (good.theta[j] + crossed.theta[j]) / 2;
      middle.point =
          measure(middle.theta,
                  std::sqrt(std::max(good.point.alpha, crossed.point.alpha / kGrowth) * crossed.point.alpha));
      middle.point.is_interpolated = true;
      consider(middle);
      (is_crossed(middle.point) ? crossed : good) = std::move(middle);
    }
  }
  bool is_too_dear(const TradePoint& p) const { return options_.budget && p.loss > *options_.budget; }
  bool is_small_enough(const TradePoint& p) const {
    return options_.delta && p.rms <= *options_.delta && !is_too_dear(p);
  }
  bool is_crossed(const TradePoint& p) const { return is_too_dear(p) || is_small_enough(p); }

  const RetrainProblem& problem_;
  const RetrainOptions& options_;
  double original_nll_;
  Retraining retraining_;
  Candidate best_;
  double smallest_rms_ = std::numeric_limits<double>::infinity();
  std::vector<TradePoint> trade_;
};

}  // namespace

void RetrainOptions::validate() const {
  if (!delta && !budget) throw Error("retraining needs a delta or a budget");
  if (delta) require_range(*delta > 0, "delta", *delta, "> 0");
  if (budget) require_range(*budget > 0, "budget", *budget, "> 0");
  require_range(passes >= 1, "passes", static_cast<double>(passes), ">= 1");
}

RetrainResult retrain(const ModelFile& original, const ModelFile& start, const ExampleSource& training,
                      const ExampleSource& held_out, const RetrainOptions& options) {
  options.validate();
  if (original.family != Family::Multiclass)
    throw Error(
        "only multiclass models can be retrained here; train a model of alternatives with 'selfnorm train "
        "classifier'");
  SELFNORM_CHECK(start.log_normalizer == 0);
  const ThreadLimit limit(options.threads);
  const RetrainProblem problem(original, training, held_out, options.use_labels);
  RetrainResult result;
  result.used_labels = problem.uses_labels();
  const double original_nll = problem.held_out(problem.theta_of(original), 0).mean_nll();
  Search(problem, options, original_nll).run(problem.theta_of(start), result);
  return result;
}

}  // namespace selfnorm
