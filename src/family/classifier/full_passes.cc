// L-BFGS over all examples; for `constraint`, inside the search for the multiplier. With l2-from and held-out
// data l2 is a path: it starts there and becomes a quarter whenever their NLL stops falling or the optimiser
// converges, until patience runs out, l2 is reached or a weaker one changes nothing, so one run from simple
// to complicated models ends at the best of them. Every part of the path is judged at its end.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/failure.h"
#include "engine/lbfgs_problem.h"
#include "family/classifier/loop.h"
#include "math/vector.h"
#include "objective/loss.h"
#include "objective/penalty.h"
#include "objective/registry.h"
#include "optim/dual.h"

namespace selfnorm {
namespace {

constexpr uint64_t kIterationsPerValidation = 5;
constexpr uint64_t kShortestSolve = 20;
constexpr double kRoughSlack = 0.1;
constexpr uint64_t kRoughUpdates = 30;
constexpr double kSlack = 0.01;
constexpr uint64_t kFineUpdates = 8;
constexpr double kPathFactor = 0.25;  // of l2, from one part of its path to the next
constexpr double kPathGain = 1e-3;    // the share by which the criterion falls at a check for l2 to stay

template <class Real>
class FullPasses final : public LbfgsProblem<Real> {
 public:
  FullPasses(const LoopProblem<Real>& problem, const TrainingPass<Real>& training)
      : LbfgsProblem<Real>({.history = problem.options.history,
                            .tolerance = problem.options.tolerance,
                            .l1 = problem.options.l1,
                            .l1_count = problem.penalised}),
        problem_(problem),
        training_(training),
        objective_options_(problem.options.objective),
        dual_(objective_options_.delta, kRoughSlack, kRoughUpdates),
        l2_(has_path() ? problem.options.l2_from : problem.options.l2),
        validation_(problem.options, problem.held_out != nullptr) {
    validation_.plan(plan_);
  }

  Step begin() override {
    use_multiplier();
    lbfgs_.start(problem_.start);
    arrive();
    return std::isfinite(lbfgs_.state().value) ? Step{}
                                               : Step::diverged("the loss is not finite at the start");
  }

  Due due(uint64_t /*steps_taken*/) const override {
    const uint64_t iteration = lbfgs_.state().iteration;
    return {
        .report = true,
        .check = plan_.checks && iteration > 0 && (iteration % kIterationsPerValidation == 0 || ends_part_)};
  }

  Step move(uint64_t at, double factor) override {
    if (std::exchange(ends_part_, false)) weaken();
    return LbfgsProblem<Real>::move(at, factor);
  }

  void measure(Progress& progress) override {
    const auto& state = lbfgs_.state();
    progress.step = earlier_steps_ + state.iteration;
    progress.epoch = solves_;
    progress.steps = (has_path() ? 0 : earlier_steps_) + iteration_limit();
    progress.loss = state.value;
    progress.nll = accepted_.mean_nll();
    const double unlabelled = accepted_unlabelled_.weight > 0 ? accepted_unlabelled_.mean_loss() : 0;
    progress.penalty = accepted_.penalty / accepted_.weight + unlabelled;
    progress.regulariser = state.value - accepted_.mean_loss() - unlabelled;
    progress.log_z_rms = accepted_.rms_log_z();
    progress.gradient_norm = lbfgs_.gradient_norm();
    progress.alpha = objective_options_.alpha;
  }

  Check check(Progress& progress) override {
    const Check found = validation_.judge(problem_.held_out(theta(), {centre(point()), {}}), progress);
    is_stalled_ = !(*found.criterion < criterion_ - kPathGain * std::abs(criterion_));
    criterion_ = std::min(criterion_, *found.criterion);
    path_[l2_] = *found.criterion;
    return found;
  }

  void take(Snapshot& out) const override {
    LbfgsProblem<Real>::take(out);
    out.numbers = {l2_};
    validation_.take(out);
  }
  void put(const Snapshot& snapshot) override {
    LbfgsProblem<Real>::put(snapshot);
    l2_ = snapshot.numbers[0];
    validation_.put(snapshot);
  }

  void state(CheckpointFields& fields, uint64_t steps_taken) override {
    LbfgsProblem<Real>::state(fields, steps_taken);
    std::string dual = dual_.save();
    fields("dual", dual);
    fields("dual.fine", fine_);
    fields("dual.solves", solves_);
    fields("dual.earlier_steps", earlier_steps_);
    fields("dual.feasible", feasible_, problem_.start.size());
    fields("dual.infeasible", infeasible_, problem_.start.size());
    fields("l2", l2_);
    fields("l2.criterion", criterion_);
    fields("l2.stalled", is_stalled_);
    fields("l2.ends_part", ends_part_);
    validation_.state(fields);
    if (!fields.reads()) return;
    dual_.restore(dual);
    use_multiplier();
    evaluate_here();
    accepted_ = sum_;
    accepted_unlabelled_ = unlabelled_;
  }

  LoopOutput<Real> output(RunOutcome outcome) const {
    const auto level = validation_.level();
    const std::span<const Real> found = theta();
    return {{found.begin(), found.end()},
            {level.value_or(centre(point())), {}},
            level.has_value(),
            std::move(outcome),
            l2_,
            path_,
            training_.pass.device()};
  }

 private:
  using LbfgsProblem<Real>::lbfgs_;
  using LbfgsProblem<Real>::plan_;
  using LbfgsProblem<Real>::point;

  size_t parameters() const override { return problem_.start.size(); }
  std::span<const Real> theta() const { return std::span<const Real>(point()).first(problem_.parameters); }

  std::string limit() override {
    const uint64_t iteration = lbfgs_.state().iteration + (has_path() ? earlier_steps_ : 0);
    if (iteration >= iteration_limit()) return "reached the limit";
    return is_stalled_ && l2_ > problem_.options.l2 ? "a weaker l2 is tried" : "";
  }

  Step stop(std::string reason) override {
    const uint64_t iteration = lbfgs_.state().iteration;
    if (lbfgs_.stuck() && iteration == 0 && earlier_steps_ == 0 && solves_ == 0)
      problem_.observer.on_warning(
          "training could not take a single step; are the features extremely large or small?");
    if (l2_ > problem_.options.l2 && iteration > 0 && earlier_steps_ + iteration < iteration_limit()) {
      const bool is_judged = is_stalled_ || iteration % kIterationsPerValidation == 0;
      if (is_judged)
        weaken();
      else
        ends_part_ = true;
      return {};
    }
    return next_multiplier(reason) ? Step{} : Step::finished(std::move(reason));
  }

  void arrive() override {
    accepted_ = sum_;
    accepted_unlabelled_ = unlabelled_;
    validation_.forget_level();
  }

  bool has_path() const { return has_l2_path(problem_.options, problem_.held_out != nullptr); }

  void weaken() {
    l2_ = std::max(problem_.options.l2, kPathFactor * l2_);
    is_stalled_ = false;
    earlier_steps_ += lbfgs_.state().iteration;
    lbfgs_.start_again(std::vector<Real>(lbfgs_.state().x));
    arrive();
  }

  bool constrained() const { return objective_entry(objective_options_.name).is_constraint; }

  // The multiplier is first found roughly, with short solves, and then once more with full ones.
  uint64_t iteration_limit() const {
    const uint64_t full = problem_.options.iterations;
    return constrained() && !fine_ ? std::min(full, std::max(kShortestSolve, full / 5)) : full;
  }

  void use_multiplier() {
    if (constrained()) objective_options_.alpha = dual_.alpha();
    ObjectiveOptions own = objective_options_;
    own.alpha *= 1 - unlabelled_share();
    objective_ = make_objective(own);
  }

  double centre(std::span<const Real> x) const {
    return objective_options_.learn_centre ? static_cast<double>(x.back())
                                           : objective_options_.centre.value_or(0);
  }

  // Of all inputs.
  double unlabelled_share() const {
    if (training_.unlabelled == nullptr) return 0;
    const auto m = static_cast<double>(training_.unlabelled->examples());
    return m / (m + static_cast<double>(problem_.examples));
  }

  // mean loss + l2/2 |W|^2 and its gradient; L1 is the optimiser's. The penalty is the mean over all inputs,
  // with and without a label.
  double evaluate(std::span<const Real> x, std::span<Real> gradient) override {
    std::fill(gradient.begin(), gradient.end(), Real{0});
    double weight = static_cast<double>(problem_.examples);
    if (!training_.weight.empty()) {
      weight = 0;
      for (const float w : training_.weight) weight += static_cast<double>(w);
    }
    const auto theta = x.first(problem_.parameters);
    const auto d_theta = gradient.first(problem_.parameters);
    sum_ = value_and_gradient<Real>(
        training_.pass, *objective_,
        {.weight = training_.weight, .centre = centre(x), .gradient_scale = 1 / weight}, theta, d_theta);
    double d_centre = sum_.d_centre / weight, unlabelled = 0;
    if (training_.unlabelled != nullptr) {
      const double scale = 1 / static_cast<double>(training_.unlabelled->examples());
      unlabelled_ = value_and_gradient<Real>(*training_.unlabelled,
                                             LevelPenalty(objective_options_.alpha * unlabelled_share()),
                                             {.centre = centre(x), .gradient_scale = scale}, theta, d_theta);
      d_centre += unlabelled_.d_centre * scale;
      unlabelled = unlabelled_.mean_loss();
    }
    if (objective_options_.learn_centre) gradient.back() = static_cast<Real>(d_centre);
    const auto penalised = x.first(problem_.penalised);
    const double loss = sum_.mean_loss() + unlabelled;
    if (l2_ == 0) return loss;
    add_multiple(l2_, penalised, gradient.first(problem_.penalised));
    return loss + 0.5 * l2_ * inner_product(penalised, penalised);
  }

  // Continues with another multiplier; false when the search is over, with the answer in the optimiser.
  bool next_multiplier(std::string& reason) {
    if (!constrained()) return false;
    evaluate_here();
    (sum_.rms_log_z() <= objective_options_.delta ? feasible_ : infeasible_) = lbfgs_.state().x;
    const DualStep step = dual_.update(sum_.rms_log_z());
    if (step != DualStep::again && fine_) {
      if (step == DualStep::bracketed) interpolate();
      if (step == DualStep::inactive)
        problem_.observer.on_warning("the constraint is not active: the optimum already satisfies it");
      evaluate_here();
      reason += fmt::format("; rms log Z {:.4g} for delta {:.4g} at alpha {:.4g}", sum_.rms_log_z(),
                            objective_options_.delta, objective_options_.alpha);
      return false;
    }
    if (step != DualStep::again) {
      fine_ = true;
      dual_.refine(kSlack, kFineUpdates);
    }
    use_multiplier();
    solve_again();
    return true;
  }

  // The point of the segment from the feasible to the infeasible solution where the constraint is tight. The
  // likelihood is concave, so this is no worse than the feasible end. The starting point, where A = c, is
  // feasible when nothing else is (the argument of theory.md 2.1).
  void interpolate() {
    if (feasible_.empty()) feasible_ = problem_.start;
    const double delta = objective_options_.delta;
    std::vector<Real> x(feasible_.size()), gradient(feasible_.size());
    const auto rms_at = [&](double share) {
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<Real>((1 - share) * static_cast<double>(feasible_[i]) +
                                 share * static_cast<double>(infeasible_[i]));
      evaluate(x, gradient);
      return sum_.rms_log_z();
    };
    double low = 0, high = 1, rms = rms_at(0);
    if (rms > delta)
      throw_error(
          "constraint: rms log Z = {:.4g} where the model is closest to normalised, wanted {:.4g}; use a "
          "larger `delta`",
          rms, delta);
    for (int i = 0; i < 50 && rms < delta * (1 - kSlack); ++i) {
      const double middle = 0.5 * (low + high), value = rms_at(middle);
      (value <= delta ? low : high) = middle;
      if (value <= delta) rms = value;
    }
    rms_at(low);
    earlier_steps_ += lbfgs_.state().iteration;
    lbfgs_.start_again(x);
    arrive();
  }

  // From the latest feasible solution, or from the beginning: on that side the likelihood only gains. From an
  // infeasible one a larger alpha would first have to undo what breaks the constraint, at any cost in
  // likelihood.
  void solve_again() {
    ++solves_;
    earlier_steps_ += lbfgs_.state().iteration;
    lbfgs_.start_again(feasible_.empty() ? problem_.start : feasible_);
    arrive();
  }

  void evaluate_here() {
    std::vector<Real> gradient(lbfgs_.state().x.size());
    evaluate(lbfgs_.state().x, gradient);
  }

  const LoopProblem<Real>& problem_;
  TrainingPass<Real> training_;
  ObjectiveOptions objective_options_;
  std::unique_ptr<Objective> objective_;
  DualSearch dual_;
  bool fine_ = false;
  uint64_t solves_ = 0;
  uint64_t earlier_steps_ = 0;               // of the solves before this one
  std::vector<Real> feasible_, infeasible_;  // constraint: the latest solutions on either side
  double l2_;  // of the part of its path that the optimiser is on; of the result
  double criterion_ = std::numeric_limits<double>::infinity();  // the least at a check
  bool is_stalled_ = false;                                     // the last check did not lower it
  bool ends_part_ = false;                                      // of the path, which is still to be judged
  std::map<double, double> path_;                               // of this session
  Validation validation_;
  LossSum sum_, accepted_;  // of the last evaluation, and of where the optimiser is
  LossSum unlabelled_, accepted_unlabelled_;
};

}  // namespace

template <class Real>
LoopOutput<Real> train_in_full_passes(const LoopProblem<Real>& problem, const TrainingPass<Real>& training) {
  FullPasses<Real> passes(problem, training);
  RunOutcome outcome = run(passes, problem.checkpoint, problem.fingerprint, problem.observer);
  return passes.output(std::move(outcome));
}

template LoopOutput<float> train_in_full_passes(const LoopProblem<float>&, const TrainingPass<float>&);
template LoopOutput<double> train_in_full_passes(const LoopProblem<double>&, const TrainingPass<double>&);

}  // namespace selfnorm
