// AdaGrad or Adam over shuffled minibatches. The order of epoch e is the random permutation of stream e, so
// the position (epoch, minibatch) is all a checkpoint needs of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/math/random.h"
#include "selfnorm/math/vector.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/optim/schedule.h"
#include "selfnorm/train/adaptive_checkpoint.h"
#include "selfnorm/train/epoch_sum.h"
#include "selfnorm/train/learned_normalizer.h"
#include "selfnorm/train/loop.h"
#include "selfnorm/train/minibatch.h"
#include "selfnorm/train/minibatch_step.h"
#include "selfnorm/train/pace.h"
#include "selfnorm/train/validation.h"

namespace selfnorm {
namespace {

constexpr uint64_t kReportsPerEpoch = 20;
// AdaGrad's G0 = (kInitialScale / batch)^2: a label's gradient is about x / batch, those of unlikely classes
// far below.
constexpr double kInitialScale = 0.3;

template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_step(const LoopInput& input, uint64_t batch) {
  return is_candidate_objective(input.options.objective.name) ? make_candidate_step<Real>(input, batch)
                                                              : make_exact_step<Real>(input, batch);
}

template <class Real>
class Minibatches {
 public:
  Minibatches(const LoopProblem<Real>& problem, MinibatchStep<Real>& step, uint64_t batch, double row_norm)
      : problem_(problem),
        options_(problem.options),
        batch_(batch),
        batch_step_(step),
        theta_(batch_step_.own_order(problem.start)),
        batches_((problem.examples + batch_ - 1) / batch_),
        optimiser_(problem.optimiser, theta_.size(),
                   std::pow(kInitialScale / static_cast<double>(batch_), 2)),
        rate_(options_.learning_rate > 0
                  ? options_.learning_rate
                  : batch_step_.rate_factor() * Adaptive<Real>::default_rate(problem.optimiser) / row_norm),
        schedule_{options_.schedule, options_.epochs * batches_, batches_},
        validation_(problem.validation),
        pace_(problem.checkpoint, problem.fingerprint, problem.observer),
        good_(theta_),
        good_subtracted_(batch_step_.subtracted(theta_)) {}

  LoopOutput<Real> run() {
    Checkpoint checkpoint;
    if (pace_.resumes(checkpoint)) restore(checkpoint);
    for (; step_ < options_.epochs * batches_;) {
      if (step_ % batches_ == 0) epoch_sum_ = {};
      if (!take_step()) return diverge();
      ++step_;
      if (report()) return end(fmt::format("validation did not improve in {} epochs", options_.patience));
      const bool interrupt = problem_.observer.stop_requested();
      pace_.checkpoint(interrupt, [this](Checkpoint& c) { save(c); });
      if (interrupt) return finish("interrupted", Ending::interrupted);
    }
    return end(fmt::format("completed {} epochs", options_.epochs));
  }

 private:
  static bool is_finite(const LossSum& sum) { return std::isfinite(sum.likelihood + sum.penalty); }

  // Over the examples of that step, with the parameters as they are.
  LossSum gradient(uint64_t step) {
    if (step % batches_ == 0 || order_.empty())
      order_ = random_permutation(problem_.examples, RandomStream(options_.seed, step / batches_));
    const uint64_t first = step % batches_ * batch_;
    const uint64_t count = std::min(batch_, problem_.examples - first);
    return batch_step_.gradient(std::span<const uint64_t>(order_).subspan(first, count), step, theta_);
  }

  // The last step has no loss after it.
  LoopOutput<Real> end(const std::string& reason) {
    return is_finite(gradient(step_ - 1)) ? finish(reason, Ending::complete) : diverge();
  }

  LoopOutput<Real> diverge() {
    if (!good_.empty()) theta_ = good_;
    return finish(
        fmt::format("the loss became infinite or NaN at step {}; try {}", step_, batch_step_.remedy()),
        Ending::diverged);
  }

  // False when the loss is not finite.
  bool take_step() {
    const LossSum sum = gradient(step_);
    if (!is_finite(sum)) return false;
    if (step_ % batches_ == 0) {
      good_ = validation_.keeps() ? std::vector<Real>() : theta_;
      good_subtracted_ = batch_step_.subtracted(theta_);
    }
    epoch_sum_ += sum;
    gradient_norm_ = batch_step_.gradient_norm();
    optimiser_.begin_step();
    batch_step_.update(theta_, optimiser_, rate_ * schedule_.factor(step_));
    return true;
  }

  // True when validation says stop.
  bool report() {
    const bool epoch_end = step_ % batches_ == 0;
    const uint64_t every = std::max<uint64_t>(1, batches_ / kReportsPerEpoch);
    if (!epoch_end && step_ % every != 0) return false;
    std::vector<Real> buffer;
    std::span<const Real> parameters;  // what a lazy step must not make at every report
    if (epoch_end || !batch_step_.is_lazy()) parameters = feature_major(buffer);
    measure_regulariser(parameters);
    measure();
    bool stop = false;
    if (epoch_end && validation_.present())
      stop = validation_.check(parameters, batch_step_.subtracted(theta_), progress_);
    problem_.observer.on_progress(progress_);
    return stop;
  }

  // Unchanged when there are no parameters to measure.
  void measure_regulariser(std::span<const Real> parameters) {
    if (parameters.empty() || !(options_.l1 > 0 || options_.l2 > 0)) return;
    const auto penalised = parameters.first(problem_.penalised);
    regulariser_ = options_.l1 > 0 ? options_.l1 * absolute_sum(penalised) : 0;
    if (options_.l2 > 0) regulariser_ += 0.5 * options_.l2 * inner_product(penalised, penalised);
  }

  void measure() {
    progress_ = {};
    progress_.step = step_;
    progress_.steps = options_.epochs * batches_;
    progress_.epoch = (step_ - 1) / batches_;
    progress_.regulariser = regulariser_;
    progress_.loss = regulariser_;
    report_sum(epoch_sum_, progress_);
    if (learns_normalizer(options_.objective)) progress_.log_normalizer = batch_step_.centre(theta_);
    progress_.gradient_norm = gradient_norm_;
    progress_.alpha = options_.objective.alpha;
    progress_.seconds = pace_.seconds();
  }

  // Feature-major, without the centre.
  std::span<const Real> feature_major(std::vector<Real>& buffer) const {
    return batch_step_.feature_major(theta_, buffer).first(problem_.parameters);
  }

  LoopOutput<Real> finish(const std::string& reason, Ending ending) {
    LoopOutput<Real> out;
    std::vector<Real> buffer;
    const std::span<const Real> parameters = feature_major(buffer);
    const bool is_back = ending == Ending::diverged;  // at good_, or at what validation keeps
    if (step_ > 0) {
      if (!is_back || !good_.empty()) measure_regulariser(parameters);
      measure();
    }
    out.reason = reason;
    out.ending = ending;
    validation_.conclude(parameters, is_back ? good_subtracted_ : batch_step_.subtracted(theta_), out);
    out.last = progress_;
    return out;
  }

  void save(Checkpoint& c) const {
    c.set("step", step_);
    c.set("theta", theta_);
    c.set("good", good_);
    save_adaptive(optimiser_, "optimiser", c);
    c.set("gradient_norm", gradient_norm_);
    c.set("regulariser", regulariser_);
    save_sum(epoch_sum_, c);
    good_subtracted_.save("good_subtracted", c);
    batch_step_.save(c);
    validation_.save(c);
  }

  void restore(const Checkpoint& c) {
    step_ = c.integer("step");
    c.get("theta", theta_);
    c.get("good", good_, theta_.size());
    restore_adaptive(c, "optimiser", optimiser_);
    gradient_norm_ = c.number("gradient_norm");
    regulariser_ = c.number("regulariser");
    epoch_sum_ = restored_sum(c);
    good_subtracted_.restore("good_subtracted", c, good_subtracted_);
    batch_step_.restore(c);
    validation_.restore(c, problem_.parameters, good_subtracted_);
  }

  const LoopProblem<Real>& problem_;
  const TrainOptions& options_;
  uint64_t batch_;  // examples per step
  MinibatchStep<Real>& batch_step_;
  std::vector<Real> theta_;
  uint64_t batches_;  // per epoch
  Adaptive<Real> optimiser_;
  double rate_;
  Schedule schedule_;
  Validation<Real>& validation_;
  Pace pace_;
  // The parameters at the end of the last epoch, where to return when the next one diverges; none, which is a
  // quarter less memory and checkpoint, once validation keeps some.
  std::vector<Real> good_;
  Subtracted good_subtracted_;  // by them
  uint64_t step_ = 0;
  std::vector<uint64_t> order_;
  LossSum epoch_sum_;
  double gradient_norm_ = 0;
  double regulariser_ = 0;
  Progress progress_;
};

}  // namespace

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopProblem<Real>& problem, MinibatchStep<Real>& step,
                                      uint64_t batch, double row_norm) {
  return Minibatches<Real>(problem, step, batch, row_norm).run();
}

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopInput& input) {
  const uint64_t batch = std::min(input.options.batch, input.train.examples());
  const auto step = make_step<Real>(input, batch);
  Validation<Real> validation(input.options, validation_measure<Real>(input));
  return train_in_minibatches<Real>(loop_problem<Real>(input, validation), *step, batch,
                                    row_norm(input.train.features));
}

template LoopOutput<float> train_in_minibatches(const LoopProblem<float>&, MinibatchStep<float>&, uint64_t,
                                                double);
template LoopOutput<double> train_in_minibatches(const LoopProblem<double>&, MinibatchStep<double>&, uint64_t,
                                                 double);
template LoopOutput<float> train_in_minibatches(const LoopInput&);
template LoopOutput<double> train_in_minibatches(const LoopInput&);

}  // namespace selfnorm
