// AdaGrad or Adam over shuffled minibatches.
#include "engine/minibatches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "family/classifier/learned_normalizer.h"
#include "family/classifier/loop.h"
#include "family/classifier/minibatch.h"
#include "math/parallel.h"
#include "math/vector.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

// AdaGrad's G0 = (kInitialScale / batch)^2: a label's gradient is about x / batch, those of unlikely classes
// far below.
constexpr double kInitialScale = 0.3;

// The sum over classes of what `of` says of a row of a part of them: rows have a value for every own class.
template <class Real, class Of>
double split_sum(const ClassShard& shard, std::span<const Real> values, size_t rows, const Of& of) {
  const size_t width = shard.own().size();
  return shard.sum([&](size_t b) {
    const Range classes = shard.own_block(b);
    double sum = 0;
    for (size_t j = 0; j < rows; ++j) sum += of(values.subspan(j * width + classes.begin, classes.size()));
    return sum;
  });
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
        optimiser_(problem.optimiser, theta_.size(), initial_square(batch)),
        rate_(options_.learning_rate > 0
                  ? options_.learning_rate
                  : batch_step_.rate_factor() * Adaptive<Real>::default_rate(problem.optimiser) / row_norm),
        validation_(options_, problem.held_out != nullptr) {
    batch_step_.push(theta_, optimiser_);
  }

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
    bring();
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
    batch_step_.push(theta_, optimiser_);
  }

  bool is_split() const override { return problem_.shard.exists(); }
  void snapshot_state(const std::string& name, CheckpointFields& fields, Snapshot& snapshot) override {
    fields.split(name + ".floats", snapshot.floats, problem_.shard, {.rows = problem_.rows});
    fields.split(name + ".doubles", snapshot.doubles, problem_.shard, {.rows = problem_.rows});
    fields(name + ".numbers", snapshot.numbers);
  }
  void state(CheckpointFields& fields, uint64_t steps_taken) override {
    taken_ = steps_taken;
    bring();
    const auto split = [&](const char* name, std::vector<Real>& values) {
      fields.split(name, values, problem_.shard, {.rows = problem_.rows});
    };
    split("theta", theta_);
    fields("optimiser.step", optimiser_.state().step);
    split("optimiser.square", optimiser_.state().square);
    split("optimiser.mean", optimiser_.state().mean);
    fields("gradient_norm", gradient_norm_);
    fields("regulariser", regulariser_);
    sum_state(epoch_sum_, fields);
    batch_step_.state(fields);
    validation_.state(fields);
    if (fields.reads()) batch_step_.push(theta_, optimiser_);
  }

  LoopOutput<Real> output(RunOutcome outcome) const {
    std::vector<Real> buffer;
    const std::span<const Real> parameters = feature_major(buffer);
    const auto level = validation_.level();
    LoopOutput<Real> out{{parameters.begin(), parameters.end()},
                         batch_step_.subtracted(theta_),
                         level.has_value(),
                         std::move(outcome),
                         options_.l2};
    out.subtracted.constant = level.value_or(out.subtracted.constant);
    out.device = batch_step_.device();
    return out;
  }

 private:
  void measure_regulariser() {
    if (!(options_.l1 > 0 || options_.l2 > 0)) return;
    std::vector<Real> buffer;
    const auto penalised = feature_major(buffer).first(problem_.penalised);
    if (problem_.shard.exists()) {
      regulariser_ = split_sum(problem_.shard, penalised,
                               problem_.penalised / std::max<size_t>(1, problem_.shard.own().size()),
                               [&](std::span<const Real> x) {
                                 return (options_.l1 > 0 ? options_.l1 * absolute_sum(x) : 0) +
                                        0.5 * options_.l2 * inner_product(x, x);
                               });
      return;
    }
    regulariser_ = options_.l1 > 0 ? options_.l1 * absolute_sum(penalised) : 0;
    if (options_.l2 > 0) regulariser_ += 0.5 * options_.l2 * inner_product(penalised, penalised);
  }

  void bring() const { batch_step_.pull(theta_, optimiser_); }

  // Feature-major, without the centre.
  std::span<const Real> feature_major(std::vector<Real>& buffer) const {
    bring();
    return batch_step_.feature_major(theta_, buffer).first(problem_.parameters);
  }

  const LoopProblem<Real>& problem_;
  const TrainOptions& options_;
  MinibatchStep<Real>& batch_step_;
  Minibatches minibatches_;
  mutable std::vector<Real> theta_;  // where a step keeps them elsewhere, as of bring()
  mutable Adaptive<Real> optimiser_;
  double rate_;
  Validation validation_;
  Plan plan_ = validation_.plan_of_epochs(options_, minibatches_.per_epoch(), problem_.check_epochs);
  uint64_t taken_ = 0;  // steps
  LossSum sum_, epoch_sum_;
  double gradient_norm_ = 0;
  double regulariser_ = 0;
};

// Minibatches whose log-normalizers are computed. The normalised fraction H of `sampled` is the head of the
// batch.

constexpr double kUnnormalisedRate = 0.15;

template <class Real>
class ExactStep final : public MinibatchStep<Real> {
 public:
  ExactStep(const LoopInput& input, uint64_t batch)
      : input_(input),
        options_(input.options),
        shape_(input.shape()),
        objective_(make_objective(options_.objective)),
        maker_(input.train),
        touch_(touch_probability(input.train, batch)),
        mean_weight_(mean_weight(input.train)) {}

  LossSum gradient(std::span<const uint64_t> examples, uint64_t step, std::span<const Real> theta) override {
    batch_ = maker_.make(examples);
    drop_inputs(options_.encoder.dropout, RandomStream(options_.seed, kDropoutStream + step),
                batch_.data.features);
    const auto count = static_cast<double>(examples.size());
    const auto pass = input_.pass_over<Real>(batch_.data, &batch_.map);
    const double scale = 1 / (count * mean_weight_);
    gradient_.assign(pass->gradient_size(), Real{0});
    const LossSum sum = value_and_gradient<Real>(*pass, *objective_,
                                                 {.weight = batch_.data.weight,
                                                  .centre = this->centre(theta),
                                                  .normalised = objective_->normalised(examples.size()),
                                                  .gradient_scale = scale},
                                                 theta.first(shape_.size()), gradient_);
    d_centre_ = sum.d_centre * scale;
    return sum;
  }

  double gradient_norm() const override {
    const std::span<const Real> gradient(gradient_);
    if (input_.shard.exists())
      return std::sqrt(split_sum(input_.shard, gradient, batch_rows(),
                                 [](std::span<const Real> x) { return inner_product(x, x); }));
    return std::sqrt(inner_product(gradient, gradient));
  }

  // L2 is added on touched rows only, divided by the probability of being touched: its expectation is the
  // full gradient.
  void update(std::span<Real> theta, Adaptive<Real>& optimiser, double rate) override {
    const size_t width = shape_.width;
    const size_t rows = batch_rows();
    parallel_units(rows, [&](size_t r) {
      const bool bias = r >= rows - (shape_.rows - shape_.penalised_rows);
      const size_t row = bias                         ? shape_.rows - (rows - r)
                         : batch_.map.feature.empty() ? r
                                                      : batch_.map.feature[r];
      const std::span<Real> gradient = std::span<Real>(gradient_).subspan(r * width, width);
      const double often = bias || touch_.empty() ? 1 : touch_[row];
      if (!bias && options_.l2 > 0)
        for (size_t k = 0; k < width; ++k)
          gradient[k] += static_cast<Real>(options_.l2 / often) * theta[row * width + k];
      optimiser.update(theta, row * width, gradient, rate, bias ? 0 : options_.l1 / often);
    });
    if (options_.objective.learn_centre) {
      const Real d = static_cast<Real>(d_centre_);
      optimiser.update(theta, theta.size() - 1, std::span<const Real>(&d, 1), rate, 0);
    }
  }

  Subtracted subtracted(std::span<const Real> theta) const override {
    return constant_of(options_.objective, theta);
  }

  double rate_factor() const override { return rate_of_objective(*objective_); }
  const char* remedy() const override { return kExactRemedy; }

 private:
  // Of the gradient; none where a process has no classes.
  size_t batch_rows() const { return shape_.width == 0 ? 0 : gradient_.size() / shape_.width; }

  const LoopInput& input_;
  const TrainOptions& options_;
  ParameterShape shape_;
  std::unique_ptr<Objective> objective_;
  MinibatchMaker maker_;
  std::vector<double> touch_;
  double mean_weight_;
  Minibatch batch_;
  std::vector<Real> gradient_;
  double d_centre_ = 0;
};

}  // namespace

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopProblem<Real>& problem, MinibatchStep<Real>& step,
                                      uint64_t batch, double row_norm) {
  MinibatchProblem<Real> minibatches(problem, step, batch, row_norm);
  RunOutcome outcome = run(minibatches, problem.checkpoint, problem.fingerprint, problem.observer);
  return minibatches.output(std::move(outcome));
}

template LoopOutput<float> train_in_minibatches(const LoopProblem<float>&, MinibatchStep<float>&, uint64_t,
                                                double);
template LoopOutput<double> train_in_minibatches(const LoopProblem<double>&, MinibatchStep<double>&, uint64_t,
                                                 double);

double initial_square(uint64_t batch) { return std::pow(kInitialScale / static_cast<double>(batch), 2); }

double rate_of_objective(const Objective& objective) {
  return objective.normalised_fraction() < 1 ? kUnnormalisedRate : 1;
}

template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_exact_step(const LoopInput& input, uint64_t batch) {
  return std::make_unique<ExactStep<Real>>(input, batch);
}

template std::unique_ptr<MinibatchStep<float>> make_exact_step(const LoopInput&, uint64_t);
template std::unique_ptr<MinibatchStep<double>> make_exact_step(const LoopInput&, uint64_t);

}  // namespace selfnorm
