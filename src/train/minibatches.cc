// AdaGrad or Adam over shuffled minibatches. The order of epoch e is the random permutation of stream e, so
// the position (epoch, minibatch) is all a checkpoint needs of it. The normalised fraction H of `sampled` is
// the head of the batch.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/math/parallel.h"
#include "selfnorm/math/random.h"
#include "selfnorm/math/vector.h"
#include "selfnorm/objective/loss.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/optim/adaptive.h"
#include "selfnorm/optim/schedule.h"
#include "selfnorm/train/loop.h"
#include "selfnorm/train/minibatch.h"
#include "selfnorm/train/pace.h"
#include "selfnorm/train/validation.h"

namespace selfnorm {
namespace {

constexpr uint64_t kReportsPerEpoch = 20;
// AdaGrad's G0 = (kInitialScale / batch)^2: a label's gradient is about x / batch, those of unlikely classes
// far below.
constexpr double kInitialScale = 0.3;
constexpr double kUnnormalisedRate = 0.15;

template <class Real>
class Minibatches {
 public:
  explicit Minibatches(const LoopInput& input)
      : input_(input),
        options_(input.options),
        shape_(input.shape()),
        objective_(make_objective(options_.objective)),
        maker_(input.train),
        batch_(std::min(options_.batch, input.train.examples())),
        touch_(touch_probability(input.train, batch_)),
        theta_(starting_point<Real>(input)),
        batches_((input.train.examples() + batch_ - 1) / batch_),
        optimiser_(input.optimiser, theta_.size(), std::pow(kInitialScale / static_cast<double>(batch_), 2)),
        rate_(options_.learning_rate > 0 ? options_.learning_rate : default_rate()),
        schedule_{options_.schedule, options_.epochs * batches_, batches_},
        validation_(input),
        pace_(input.checkpoint, input.fingerprint),
        good_(theta_) {
    for (const float w : input.train.weight) mean_weight_ += static_cast<double>(w);
    mean_weight_ =
        input.train.weight.empty() ? 1 : mean_weight_ / static_cast<double>(input.train.examples());
  }

  LoopOutput<Real> run() {
    Checkpoint checkpoint;
    if (pace_.resumes(checkpoint)) restore(checkpoint);
    for (; step_ < options_.epochs * batches_;) {
      if (step_ % batches_ == 0 || order_.empty()) {
        order_ = random_permutation(input_.train.examples(), RandomStream(options_.seed, step_ / batches_));
      }
      if (step_ % batches_ == 0) epoch_sum_ = {};
      if (!take_step()) {
        theta_ = good_;
        return finish(
            fmt::format(
                "the loss became infinite or NaN at step {}; try a smaller --learning-rate or a larger "
                "--alpha",
                step_),
            Ending::diverged);
      }
      ++step_;
      if (report()) {
        return finish(fmt::format("validation did not improve in {} epochs", options_.patience),
                      Ending::complete);
      }
      const bool interrupt = input_.observer.stop_requested();
      pace_.checkpoint(interrupt, [this](Checkpoint& c) { save(c); });
      if (interrupt) return finish("interrupted", Ending::interrupted);
    }
    return finish(fmt::format("completed {} epochs", options_.epochs), Ending::complete);
  }

 private:
  // A likelihood that is not normalised has far noisier gradients.
  double default_rate() const {
    const double noise = objective_->normalised_fraction() < 1 ? kUnnormalisedRate : 1;
    return noise * Adaptive<Real>::default_rate(input_.optimiser) / row_norm(input_.train.features);
  }

  double centre() const {
    return options_.objective.learn_centre ? static_cast<double>(theta_.back())
                                           : options_.objective.centre.value_or(0);
  }

  // False when the loss is not finite.
  bool take_step() {
    const uint64_t first = step_ % batches_ * batch_;
    const uint64_t count = std::min(batch_, input_.train.examples() - first);
    const Minibatch batch = maker_.make(std::span<const uint64_t>(order_).subspan(first, count));
    const auto pass =
        make_exact_pass<Real>(batch.data, input_.features, input_.classes, options_.log_carrier, &batch.map);
    const double fraction = objective_->normalised_fraction();
    const uint64_t normalised =
        fraction > 0 ? std::max<uint64_t>(
                           1, static_cast<uint64_t>(std::llround(fraction * static_cast<double>(count))))
                     : 0;
    const double scale = 1 / (static_cast<double>(count) * mean_weight_);
    gradient_.assign(pass->gradient_size(), Real{0});
    const LossSum sum = value_and_gradient<Real>(
        *pass, *objective_,
        {.weight = batch.data.weight, .centre = centre(), .normalised = normalised, .gradient_scale = scale},
        std::span<const Real>(theta_).first(shape_.size()), gradient_);
    if (!std::isfinite(sum.likelihood + sum.penalty)) return false;
    epoch_sum_ += sum;
    const std::span<const Real> gradient(gradient_);
    gradient_norm_ = std::sqrt(inner_product(gradient, gradient));
    update(batch, sum.d_centre * scale);
    return true;
  }

  // L2 is added on touched rows only, divided by the probability of being touched: its expectation is the
  // full gradient.
  void update(const Minibatch& batch, double d_centre) {
    const double rate = rate_ * schedule_.factor(step_);
    const size_t width = shape_.width;
    const size_t rows = gradient_.size() / width;
    optimiser_.begin_step();
    parallel_units(rows, [&](size_t r) {
      const bool bias = r >= rows - (shape_.rows - shape_.penalised_rows);
      const size_t row = bias                        ? shape_.rows - (rows - r)
                         : batch.map.feature.empty() ? r
                                                     : batch.map.feature[r];
      const std::span<Real> gradient = std::span<Real>(gradient_).subspan(r * width, width);
      const double often = bias || touch_.empty() ? 1 : touch_[row];
      if (!bias && options_.l2 > 0) {
        for (size_t k = 0; k < width; ++k) {
          gradient[k] += static_cast<Real>(options_.l2 / often) * theta_[row * width + k];
        }
      }
      optimiser_.update(theta_, row * width, gradient, rate, bias ? 0 : options_.l1 / often);
    });
    if (options_.objective.learn_centre) {
      const Real d = static_cast<Real>(d_centre);
      optimiser_.update(theta_, theta_.size() - 1, std::span<const Real>(&d, 1), rate, 0);
    }
  }

  // True when validation says stop.
  bool report() {
    const bool epoch_end = step_ % batches_ == 0;
    const uint64_t every = std::max<uint64_t>(1, batches_ / kReportsPerEpoch);
    if (!epoch_end && step_ % every != 0) return false;
    measure();
    bool stop = false;
    if (epoch_end) {
      good_ = theta_;
      if (validation_.present()) stop = validation_.check(parameters(), centre(), progress_);
    }
    input_.observer.on_progress(progress_);
    return stop;
  }

  void measure() {
    const auto penalised = parameters().first(shape_.penalised());
    progress_ = {};
    progress_.step = step_;
    progress_.steps = options_.epochs * batches_;
    progress_.epoch = (step_ - 1) / batches_;
    progress_.regulariser = options_.l1 > 0 ? options_.l1 * absolute_sum(penalised) : 0;
    if (options_.l2 > 0) progress_.regulariser += 0.5 * options_.l2 * inner_product(penalised, penalised);
    progress_.loss = progress_.regulariser;
    if (epoch_sum_.weight > 0) {
      progress_.loss += epoch_sum_.mean_loss();
      progress_.penalty = epoch_sum_.penalty / epoch_sum_.weight;
    }
    if (epoch_sum_.normalised_weight > 0) {
      progress_.nll = epoch_sum_.mean_nll();
      progress_.log_z_rms = epoch_sum_.rms_log_z();
    }
    progress_.gradient_norm = gradient_norm_;
    progress_.alpha = options_.objective.alpha;
    progress_.seconds = pace_.seconds();
  }

  std::span<const Real> parameters() const { return std::span<const Real>(theta_).first(shape_.size()); }

  LoopOutput<Real> finish(const std::string& reason, Ending ending) {
    LoopOutput<Real> out;
    if (step_ > 0) measure();
    out.reason = reason;
    out.ending = ending;
    validation_.conclude(parameters(), centre(), out);
    out.last = progress_;
    return out;
  }

  void save(Checkpoint& c) const {
    c.set("step", step_);
    c.set("theta", theta_);
    c.set("good", good_);
    c.set("optimiser.step", optimiser_.state().step);
    c.set("optimiser.square", optimiser_.state().square);
    c.set("optimiser.mean", optimiser_.state().mean);
    c.set("gradient_norm", gradient_norm_);
    const LossSum& s = epoch_sum_;
    c.set("epoch_sum", std::vector<double>{s.weight, s.likelihood, s.penalty, s.normalised_weight, s.nll,
                                           s.log_z, s.log_z_square, s.d_centre});
    validation_.save(c);
  }

  void restore(const Checkpoint& c) {
    step_ = c.integer("step");
    c.get("theta", theta_);
    c.get("good", good_);
    AdaptiveState<Real> state;
    state.step = c.integer("optimiser.step");
    c.get("optimiser.square", state.square);
    c.get("optimiser.mean", state.mean);
    optimiser_.restore(std::move(state));
    gradient_norm_ = c.number("gradient_norm");
    std::vector<double> s;
    c.get("epoch_sum", s);
    epoch_sum_ = {s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), s.at(5), s.at(6), s.at(7)};
    validation_.restore(c);
  }

  const LoopInput& input_;
  const TrainOptions& options_;
  ParameterShape shape_;
  std::unique_ptr<Objective> objective_;
  MinibatchMaker maker_;
  uint64_t batch_;  // examples per step
  std::vector<double> touch_;
  std::vector<Real> theta_, gradient_;
  uint64_t batches_;  // per epoch
  Adaptive<Real> optimiser_;
  double rate_;
  Schedule schedule_;
  Validation<Real> validation_;
  Pace pace_;
  std::vector<Real>
      good_;  // the parameters at the end of the last epoch: where to return when the next one diverges
  double mean_weight_ = 0;
  uint64_t step_ = 0;
  std::vector<uint64_t> order_;
  LossSum epoch_sum_;
  double gradient_norm_ = 0;
  Progress progress_;
};

}  // namespace

template <class Real>
LoopOutput<Real> train_in_minibatches(const LoopInput& input) {
  return Minibatches<Real>(input).run();
}

template LoopOutput<float> train_in_minibatches(const LoopInput&);
template LoopOutput<double> train_in_minibatches(const LoopInput&);

}  // namespace selfnorm
