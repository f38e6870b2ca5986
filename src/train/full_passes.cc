// L-BFGS over all examples; for `constraint`, inside the search for the multiplier.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/base/interruption.h"
#include "selfnorm/math/vector.h"
#include "selfnorm/objective/loss.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/optim/dual.h"
#include "selfnorm/optim/lbfgs.h"
#include "selfnorm/train/lbfgs_checkpoint.h"
#include "selfnorm/train/loop.h"
#include "selfnorm/train/pace.h"
#include "selfnorm/train/validation.h"

namespace selfnorm {
namespace {

constexpr uint64_t kIterationsPerValidation = 5;
constexpr uint64_t kShortestSolve = 20;
constexpr double kRoughSlack = 0.1;
constexpr uint64_t kRoughUpdates = 30;
constexpr double kSlack = 0.01;
constexpr uint64_t kFineUpdates = 8;

template <class Real>
class FullPasses {
 public:
  FullPasses(const LoopProblem<Real>& problem, const ExactPass<Real>& pass, std::span<const float> weight)
      : problem_(problem),
        pass_(pass),
        weight_(weight),
        objective_options_(problem.options.objective),
        dual_(objective_options_.delta, kRoughSlack, kRoughUpdates),
        validation_(problem.validation),
        pace_(problem.checkpoint, problem.fingerprint, problem.observer),
        lbfgs_({.history = problem.options.history,
                .tolerance = problem.options.tolerance,
                .l1 = problem.options.l1,
                .l1_count = problem.penalised},
               [this](std::span<const Real> x, std::span<Real> gradient) { return evaluate(x, gradient); }) {}

  LoopOutput<Real> run() {
    Checkpoint checkpoint;
    if (pace_.resumes(checkpoint)) {
      restore(checkpoint);
    } else {
      use_multiplier();
      lbfgs_.start(problem_.start);
      if (!std::isfinite(lbfgs_.state().value))
        return finish("the loss is not finite at the start", Ending::diverged);
      report();
    }
    for (;;) {
      if (lbfgs_.state().iteration >= iteration_limit()) {
        stop_ = fmt::format("reached {} iterations", lbfgs_.state().iteration);
      } else if (const Step step = take_step(); step == Step::interrupted) {
        pace_.checkpoint(true, [this](Checkpoint& c) { save(c); });
        return finish("interrupted", Ending::interrupted);
      } else if (step == Step::none) {
        stop_ = lbfgs_.reason();
        if (lbfgs_.stuck() && lbfgs_.state().iteration == 0 && solves_ == 0) {
          problem_.observer.on_warning(
              "training could not take a single step; are the features extremely large or small?");
        }
      } else if (report()) {
        return finish(fmt::format("validation did not improve in {} checks", problem_.options.patience),
                      Ending::complete);
      }
      if (!stop_.empty() && !next_multiplier()) return finish(stop_, Ending::complete);
      stop_.clear();
      const bool interrupt = problem_.observer.stop_requested();
      pace_.checkpoint(interrupt, [this](Checkpoint& c) { save(c); });
      if (interrupt) return finish("interrupted", Ending::interrupted);
    }
  }

 private:
  enum class Step { taken, none, interrupted };

  // A pass over all examples may take minutes. Interrupted while the loss is evaluated, and not while the
  // result is taken over, the optimiser is where it was before the step (or, without its curvature, where the
  // second attempt at the step begins), and goes on from there to the same point.
  Step take_step() {
    try {
      return lbfgs_.step() ? Step::taken : Step::none;
    } catch (const Interrupted&) {
      if (!is_evaluating_ || !problem_.observer.stop_requested()) throw;
      return Step::interrupted;
    }
  }

  bool constrained() const { return objective_options_.name == "constraint"; }

  // The multiplier is first found roughly, with short solves, and then once more with full ones.
  uint64_t iteration_limit() const {
    const uint64_t full = problem_.options.iterations;
    return constrained() && !fine_ ? std::min(full, std::max(kShortestSolve, full / 5)) : full;
  }

  void use_multiplier() {
    if (constrained()) objective_options_.alpha = dual_.alpha();
    objective_ = make_objective(objective_options_);
  }

  double centre(std::span<const Real> x) const {
    return objective_options_.learn_centre ? static_cast<double>(x.back())
                                           : objective_options_.centre.value_or(0);
  }

  // mean loss + l2/2 |W|^2 and its gradient; L1 is the optimiser's.
  double evaluate(std::span<const Real> x, std::span<Real> gradient) {
    std::fill(gradient.begin(), gradient.end(), Real{0});
    double weight = static_cast<double>(problem_.examples);
    if (!weight_.empty()) {
      weight = 0;
      for (const float w : weight_) weight += static_cast<double>(w);
    }
    is_evaluating_ = true;
    sum_ = value_and_gradient<Real>(pass_, *objective_,
                                    {.weight = weight_, .centre = centre(x), .gradient_scale = 1 / weight},
                                    x.first(problem_.parameters), gradient.first(problem_.parameters));
    is_evaluating_ = false;
    if (objective_options_.learn_centre) gradient.back() = static_cast<Real>(sum_.d_centre / weight);
    const auto penalised = x.first(problem_.penalised);
    const double l2 = problem_.options.l2;
    if (l2 == 0) return sum_.mean_loss();
    add_multiple(l2, penalised, gradient.first(problem_.penalised));
    return sum_.mean_loss() + 0.5 * l2 * inner_product(penalised, penalised);
  }

  // The last evaluation is always at the accepted point.
  void measure() {
    const auto& state = lbfgs_.state();
    progress_ = {};
    progress_.step = earlier_steps_ + state.iteration;
    progress_.epoch = solves_;
    progress_.steps = earlier_steps_ + iteration_limit();
    progress_.loss = state.value;
    progress_.nll = sum_.mean_nll();
    progress_.penalty = sum_.penalty / sum_.weight;
    progress_.regulariser = state.value - sum_.mean_loss();
    progress_.log_z_rms = sum_.rms_log_z();
    progress_.gradient_norm = lbfgs_.gradient_norm();
    progress_.alpha = objective_options_.alpha;
    progress_.seconds = pace_.seconds();
  }

  // True when validation says stop.
  bool report() {
    measure();
    const auto& state = lbfgs_.state();
    bool stop = false;
    if (validation_.present() && state.iteration % kIterationsPerValidation == 0 && state.iteration > 0) {
      stop = validation_.check(parameters(), {centre(state.x), {}}, progress_);
    }
    problem_.observer.on_progress(progress_);
    return stop;
  }

  // Continues with another multiplier; false when the search is over, with the answer in the optimiser.
  bool next_multiplier() {
    if (!constrained()) return false;
    evaluate_here();
    (sum_.rms_log_z() <= objective_options_.delta ? feasible_ : infeasible_) = lbfgs_.state().x;
    const DualStep step = dual_.update(sum_.rms_log_z());
    if (step != DualStep::again && fine_) {
      if (step == DualStep::bracketed) interpolate();
      if (step == DualStep::inactive) {
        problem_.observer.on_warning("the constraint is not active: the optimum already satisfies it");
      }
      evaluate_here();
      stop_ += fmt::format("; rms log Z {:.4g} for delta {:.4g} at alpha {:.4g}", sum_.rms_log_z(),
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
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<Real>((1 - share) * static_cast<double>(feasible_[i]) +
                                 share * static_cast<double>(infeasible_[i]));
      }
      evaluate(x, gradient);
      return sum_.rms_log_z();
    };
    double low = 0, high = 1, rms = rms_at(0);
    if (rms > delta) {
      throw Error(fmt::format(
          "constraint: rms log Z = {:.4g} where the model is closest to normalised, wanted {:.4g}; use a "
          "larger --delta",
          rms, delta));
    }
    for (int i = 0; i < 50 && rms < delta * (1 - kSlack); ++i) {
      const double middle = 0.5 * (low + high), value = rms_at(middle);
      (value <= delta ? low : high) = middle;
      if (value <= delta) rms = value;
    }
    rms_at(low);
    earlier_steps_ += lbfgs_.state().iteration;
    lbfgs_.start_again(x);
    measure();
  }

  // From the latest feasible solution, or from the beginning: on that side the likelihood only gains. From an
  // infeasible one a larger alpha would first have to undo what breaks the constraint, at any cost in
  // likelihood.
  void solve_again() {
    ++solves_;
    earlier_steps_ += lbfgs_.state().iteration;
    lbfgs_.start_again(feasible_.empty() ? problem_.start : feasible_);
    report();
  }

  void evaluate_here() {
    std::vector<Real> gradient(lbfgs_.state().x.size());
    evaluate(lbfgs_.state().x, gradient);
  }

  std::span<const Real> parameters() const {
    return std::span<const Real>(lbfgs_.state().x).first(problem_.parameters);
  }

  LoopOutput<Real> finish(const std::string& reason, Ending ending) {
    LoopOutput<Real> out;
    out.reason = reason;
    out.ending = ending;
    const double trained = centre(lbfgs_.state().x);
    if (validation_.present() && ending == Ending::complete)
      validation_.check(parameters(), {trained, {}}, progress_);
    validation_.conclude(parameters(), {trained, {}}, out);
    out.last = progress_;
    return out;
  }

  void save(Checkpoint& c) const {
    save_state(lbfgs_.state(), c);
    c.set("dual", dual_.save());
    c.set("dual.fine", uint64_t{fine_});
    c.set("dual.solves", solves_);
    c.set("dual.earlier_steps", earlier_steps_);
    c.set("dual.feasible", feasible_);
    c.set("dual.infeasible", infeasible_);
    validation_.save(c);
  }

  void restore(const Checkpoint& c) {
    lbfgs_.restore(restored_state<Real>(c, problem_.start.size()));
    dual_.restore(c.text("dual"));
    fine_ = c.integer("dual.fine") != 0;
    solves_ = c.integer("dual.solves");
    earlier_steps_ = c.integer("dual.earlier_steps");
    c.get("dual.feasible", feasible_, problem_.start.size());
    c.get("dual.infeasible", infeasible_, problem_.start.size());
    validation_.restore(c, problem_.parameters, {});
    use_multiplier();
    evaluate_here();
    measure();
  }

  const LoopProblem<Real>& problem_;
  const ExactPass<Real>& pass_;
  std::span<const float> weight_;
  ObjectiveOptions objective_options_;
  std::unique_ptr<Objective> objective_;
  DualSearch dual_;
  bool fine_ = false;
  uint64_t solves_ = 0;
  uint64_t earlier_steps_ = 0;               // of the solves before this one
  std::vector<Real> feasible_, infeasible_;  // constraint: the latest solutions on either side
  Validation<Real>& validation_;
  Pace pace_;
  LossSum sum_;
  bool is_evaluating_ = false;
  Progress progress_;
  std::string stop_;
  Lbfgs<Real> lbfgs_;
};

}  // namespace

template <class Real>
LoopOutput<Real> train_in_full_passes(const LoopProblem<Real>& problem, const ExactPass<Real>& pass,
                                      std::span<const float> weight) {
  return FullPasses<Real>(problem, pass, weight).run();
}

template <class Real>
LoopOutput<Real> train_in_full_passes(const LoopInput& input) {
  const auto pass =
      make_exact_pass<Real>(input.train, input.features, input.classes, input.options.log_carrier);
  Validation<Real> validation(input.options, validation_measure<Real>(input));
  return train_in_full_passes<Real>(loop_problem<Real>(input, validation), *pass, input.train.weight);
}

template LoopOutput<float> train_in_full_passes(const LoopProblem<float>&, const ExactPass<float>&,
                                                std::span<const float>);
template LoopOutput<double> train_in_full_passes(const LoopProblem<double>&, const ExactPass<double>&,
                                                 std::span<const float>);
template LoopOutput<float> train_in_full_passes(const LoopInput&);
template LoopOutput<double> train_in_full_passes(const LoopInput&);

}  // namespace selfnorm
