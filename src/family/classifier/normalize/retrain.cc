#include "family/classifier/normalize/retrain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "engine/engine.h"
#include "engine/lbfgs_problem.h"
#include "engine/minibatches.h"
#include "family/classifier/normalize/retrain_problem.h"
#include "math/parallel.h"
#include "math/random.h"
#include "selfnorm/error.h"

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

// One solve for alpha, from `start`: minimises the penalised loss of the training examples, and keeps the
// best parameters by that of the held-out ones. Two ways to do it; one is the problem of each.
struct Solve {
  const RetrainProblem& problem;
  const RetrainOptions& options;
  uint64_t number;
  double alpha;
  std::vector<float> start;
  double start_loss;  // of the held-out examples

  double held_out(std::span<const float> theta) const { return problem.held_out(theta, alpha).mean_loss(); }
  void report(uint64_t pass, uint64_t passes, uint64_t done) const {
    if (options.on_progress) options.on_progress({number, alpha, pass, passes, done, problem.examples()});
  }
};

class FullPassSolve final : public LbfgsProblem<float> {
 public:
  explicit FullPassSolve(const Solve& solve)
      : LbfgsProblem({.history = kHistory, .tolerance = 1e-4}),
        solve_(solve),
        passes_(std::min(
            solve.options.passes,
            std::max<uint64_t>(kFewestPasses, static_cast<uint64_t>(kSolveFlops / solve.problem.flops())))) {
    plan_.checks = plan_.keeps_best = true;
    plan_.patience = kPatience;
  }

  Step begin() override {
    lbfgs_.start(solve_.start);
    return {};
  }
  Due due(uint64_t /*steps_taken*/) const override {
    return {.check = lbfgs_.state().iteration % kCheckEvery == 0};
  }
  Check check(Progress&) override {
    return {lbfgs_.state().iteration == 0 ? solve_.start_loss : solve_.held_out(point())};
  }
  using LbfgsProblem::point;

 private:
  size_t parameters() const override { return solve_.start.size(); }
  double evaluate(std::span<const float> x, std::span<float> gradient) override {
    ++pass_;
    return solve_.problem
        .full(x, solve_.alpha, gradient,
              [&](uint64_t done) { solve_.report(std::min(pass_, passes_), passes_, done); })
        .mean_loss();
  }
  std::string limit() override { return pass_ >= passes_ ? "all passes" : ""; }

  const Solve& solve_;
  uint64_t pass_ = 0, passes_;
};

class MinibatchSolve final : public Problem {
 public:
  explicit MinibatchSolve(const Solve& solve)
      : solve_(solve),
        minibatches_(solve.problem.examples(), kRetrainBatch,
                     RandomStream(solve.options.seed, solve.number).next()),
        adam_("adam", solve.start.size(), 0),
        theta_(solve.start),
        gradient_(theta_.size()) {
    plan_.epoch = plan_.check_every = minibatches_.per_epoch();
    plan_.steps = std::min(solve.options.passes, kEpochs) * plan_.epoch;
    plan_.schedule = "linear";
    plan_.checks = plan_.keeps_best = true;
  }

  const std::vector<float>& point() const { return theta_; }
  const Plan& plan() const override { return plan_; }
  Step move(uint64_t at, double factor) override {
    const std::span<const uint64_t> chosen = minibatches_.of(at);
    std::vector<uint64_t> examples(chosen.begin(), chosen.end());
    std::sort(examples.begin(), examples.end());
    solve_.problem.batch(examples, theta_, solve_.alpha, gradient_);
    adam_.begin_step();
    const double rate = kRetrainRate / solve_.problem.input_norm() * factor;
    parallel_ranges(theta_.size(), 1 << 16, [&](size_t begin, size_t end) {
      adam_.update(theta_, begin, std::span<const float>(gradient_).subspan(begin, end - begin), rate, 0);
    });
    solve_.report(at / plan_.epoch + 1, plan_.steps / plan_.epoch,
                  std::min(solve_.problem.examples(), (at % plan_.epoch + 1) * minibatches_.size()));
    taken_ = at + 1;
    return {};
  }
  Due due(uint64_t steps_taken) const override { return {.check = steps_taken % plan_.check_every == 0}; }
  Check check(Progress&) override { return {taken_ == 0 ? solve_.start_loss : solve_.held_out(theta_)}; }
  void take(Snapshot& out) const override { out.floats = theta_; }
  void put(const Snapshot& snapshot) override { theta_ = snapshot.floats; }

 private:
  const Solve& solve_;
  Minibatches minibatches_;
  Adaptive<float> adam_;
  std::vector<float> theta_, gradient_;
  Plan plan_;
  uint64_t taken_ = 0;
};

// The search for alpha.
class Search {
 public:
  Search(const RetrainProblem& problem, const RetrainOptions& options, double original_nll)
      : problem_(problem), options_(options), original_nll_(original_nll) {}

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
  // From theta to the best parameters for alpha by the held-out penalised loss.
  void solve(double alpha, std::vector<float>& theta) {
    Solve solve{problem_, options_, ++solves_, alpha, theta, 0};
    solve.start_loss = solve.held_out(theta);
    for (const double t : kPath) {
      std::vector<float> nearer = problem_.towards_uniform(theta, t);
      const double loss = solve.held_out(nearer);
      if (!(loss < solve.start_loss)) continue;
      solve.start = std::move(nearer);
      solve.start_loss = loss;
    }
    const bool in_full_passes =
        problem_.parameters() <= kFullPassParameters && problem_.flops() <= kFullPassFlops;
    theta = in_full_passes ? solution<FullPassSolve>(solve) : solution<MinibatchSolve>(solve);
  }
  template <class Way>
  static std::vector<float> solution(const Solve& solve) {
    Way way(solve);
    selfnorm::run(way);
    return way.point();
  }
  Candidate solved(double alpha, std::vector<float> theta) {
    solve(alpha, theta);
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
  Candidate best_;
  double smallest_rms_ = std::numeric_limits<double>::infinity();
  std::vector<TradePoint> trade_;
  uint64_t solves_ = 0;
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
