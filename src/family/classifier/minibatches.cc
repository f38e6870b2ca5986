// AdaGrad or Adam over shuffled minibatches.
#include "engine/minibatches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "family/classifier/learned_normalizer.h"
#include "family/classifier/loop.h"
#include "family/classifier/minibatch.h"
#include "family/classifier/minibatch_step.h"
#include "math/vector.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

// AdaGrad's G0 = (kInitialScale / batch)^2: a label's gradient is about x / batch, those of unlikely classes
// far below.
constexpr double kInitialScale = 0.3;

template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_step(const LoopInput& input, uint64_t batch) {
  return is_candidate_objective(input.options.objective.name) ? make_candidate_step<Real>(input, batch)
                                                              : make_exact_step<Real>(input, batch);
}

template <class Real>
class MinibatchProblem final : public Problem {
 public:
  MinibatchProblem(const LoopProblem<Real>& problem, MinibatchStep<Real>& step, uint64_t batch,
                   double row_norm)
      : problem_(problem),
        options_(problem.options),
        batch_step_(step),
        minibatches_(problem.examples, batch, options_.seed),
        theta_(batch_step_.own_order(problem.start)),
        optimiser_(problem.optimiser, theta_.size(), std::pow(kInitialScale / static_cast<double>(batch), 2)),
        rate_(options_.learning_rate > 0
                  ? options_.learning_rate
                  : batch_step_.rate_factor() * Adaptive<Real>::default_rate(problem.optimiser) / row_norm),
        validation_(options_, problem.held_out != nullptr) {}

  const Plan& plan() const override { return plan_; }

  Step gradient(uint64_t at) override {
    sum_ = batch_step_.gradient(minibatches_.of(at), at, theta_);
    return std::isfinite(sum_.likelihood + sum_.penalty) ? Step{} : Step::diverged();
  }

  Step move(uint64_t at, double factor) override {
    if (at % plan_.epoch == 0) epoch_sum_ = {};
    epoch_sum_ += sum_;
    gradient_norm_ = batch_step_.gradient_norm();
    optimiser_.begin_step();
    batch_step_.update(theta_, optimiser_, rate_ * factor);
    validation_.forget_level();
    taken_ = at + 1;
    return {};
  }

  void measure(Progress& progress) override {
    // What a lazy step must not make at every report.
    if (progress.step % plan_.epoch == 0 || !batch_step_.is_lazy()) measure_regulariser();
    progress.regulariser = regulariser_;
    progress.loss = regulariser_;
    report_sum(epoch_sum_, progress);
    if (learns_normalizer(options_.objective)) progress.log_normalizer = batch_step_.centre(theta_);
    progress.gradient_norm = gradient_norm_;
    progress.alpha = options_.objective.alpha;
  }

  Check check(Progress& progress) override {
    std::vector<Real> buffer;
    return validation_.judge(problem_.held_out(feature_major(buffer), batch_step_.subtracted(theta_)),
                             progress);
  }

  bool is_usable() override { return gradient(taken_ - 1).kind == Step::Kind::moved; }
  std::string remedy() const override { return batch_step_.remedy(); }

  void take(Snapshot& out) const override {
    const std::span<const Real> more = batch_step_.more_parameters();
    std::vector<Real>& values = out.values<Real>();
    values.resize(theta_.size() + more.size());
    std::copy(more.begin(), more.end(), std::copy(theta_.begin(), theta_.end(), values.begin()));
    out.numbers = batch_step_.numbers();
    validation_.take(out);
  }
  void put(const Snapshot& snapshot) override {
    const std::span<const Real> values = snapshot.values<Real>();
    std::copy_n(values.begin(), theta_.size(), theta_.begin());
    std::copy(values.begin() + static_cast<std::ptrdiff_t>(theta_.size()), values.end(),
              batch_step_.more_parameters().begin());
    batch_step_.set_numbers(snapshot.numbers);
    validation_.put(snapshot);
  }

  void save(Checkpoint& c) const override {
    c.set("theta", theta_);
    save_adaptive(optimiser_, "optimiser", c);
    c.set("gradient_norm", gradient_norm_);
    c.set("regulariser", regulariser_);
    save_sum(epoch_sum_, c);
    batch_step_.save(c);
    validation_.save(c);
  }
  void restore(const Checkpoint& c) override {
    taken_ = c.integer("step");
    c.get("theta", theta_);
    restore_adaptive(c, "optimiser", optimiser_);
    gradient_norm_ = c.number("gradient_norm");
    regulariser_ = c.number("regulariser");
    epoch_sum_ = restored_sum(c);
    batch_step_.restore(c);
    validation_.restore(c);
  }

  LoopOutput<Real> output(RunOutcome outcome) const {
    std::vector<Real> buffer;
    const std::span<const Real> parameters = feature_major(buffer);
    const auto level = validation_.level();
    LoopOutput<Real> out{{parameters.begin(), parameters.end()},
                         batch_step_.subtracted(theta_),
                         level.has_value(),
                         std::move(outcome)};
    out.subtracted.constant = level.value_or(out.subtracted.constant);
    return out;
  }

 private:
  void measure_regulariser() {
    if (!(options_.l1 > 0 || options_.l2 > 0)) return;
    std::vector<Real> buffer;
    const auto penalised = feature_major(buffer).first(problem_.penalised);
    regulariser_ = options_.l1 > 0 ? options_.l1 * absolute_sum(penalised) : 0;
    if (options_.l2 > 0) regulariser_ += 0.5 * options_.l2 * inner_product(penalised, penalised);
  }

  // Feature-major, without the centre.
  std::span<const Real> feature_major(std::vector<Real>& buffer) const {
    return batch_step_.feature_major(theta_, buffer).first(problem_.parameters);
  }

  const LoopProblem<Real>& problem_;
  const TrainOptions& options_;
  MinibatchStep<Real>& batch_step_;
  Minibatches minibatches_;
  std::vector<Real> theta_;
  Adaptive<Real> optimiser_;
  double rate_;
  Validation validation_;
  Plan plan_ = validation_.plan_of_epochs(options_, minibatches_.per_epoch());
  uint64_t taken_ = 0;  // steps
  LossSum sum_, epoch_sum_;
  double gradient_norm_ = 0;
  double regulariser_ = 0;
};

}  // namespace

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopProblem<Real>& problem, MinibatchStep<Real>& step,
                                      uint64_t batch, double row_norm) {
  MinibatchProblem<Real> minibatches(problem, step, batch, row_norm);
  RunOutcome outcome = run(minibatches, problem.checkpoint, problem.fingerprint, problem.observer);
  return minibatches.output(std::move(outcome));
}

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopInput& input) {
  const uint64_t batch = std::min(input.options.batch, input.train.examples());
  const auto step = make_step<Real>(input, batch);
  return train_in_minibatches<Real>(loop_problem<Real>(input), *step, batch, row_norm(input.train.features));
}

template LoopOutput<float> train_in_minibatches(const LoopProblem<float>&, MinibatchStep<float>&, uint64_t,
                                                double);
template LoopOutput<double> train_in_minibatches(const LoopProblem<double>&, MinibatchStep<double>&, uint64_t,
                                                 double);
template LoopOutput<float> train_in_minibatches(const LoopInput&);
template LoopOutput<double> train_in_minibatches(const LoopInput&);

}  // namespace selfnorm
