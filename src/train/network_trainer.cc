#include "selfnorm/train/network_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/optim/schedule.h"
#include "selfnorm/train/encoder_step.h"
#include "selfnorm/train/epoch_sum.h"
#include "selfnorm/train/learned_normalizer.h"
#include "selfnorm/train/network_start.h"
#include "selfnorm/train/network_validation.h"
#include "selfnorm/train/output_step.h"
#include "selfnorm/train/pace.h"
#include "selfnorm/train/run_description.h"
#include "selfnorm/train/shuffled_order.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNetworkReportsPerEpoch = 20;
constexpr uint64_t kNetworkRowsAtOnce = 64;  // examples of a unit of work
constexpr uint64_t kLastExamples = 8;
constexpr double kLargestLoss = 1e30;  // of a minibatch: derivatives beyond are not finite as floats
constexpr double kDefaultRate = 0.1;

std::unique_ptr<OutputStep> make_output(const TrainOptions& options, ModelFile& model,
                                        std::span<const uint64_t> counts) {
  const std::string& name = options.objective.name;
  if (name == "hierarchical") return make_hierarchical_output(options, model);
  return is_candidate_objective(name) ? make_candidate_output(options, model, counts)
                                      : make_enumerated_output(options, model);
}

// What the model needs of the training data besides its loss: log Z of `sampled`, ranking-nce and is settles
// at a constant of its own.
double settled_constant(const ModelFile& model, const ExampleFeed& train, uint64_t seed) {
  ShuffledOrder order(train.examples(), seed);
  std::vector<uint64_t> chosen;
  order.slice(0, 0, std::min(train.examples(), kValidationExamples), chosen);
  ExampleBatch batch;
  train.gather(chosen, batch);
  return network_quality(model, batch).log_z;
}

class NetworkRun {
 public:
  NetworkRun(const ExampleFeed& train, const ExampleFeed* valid, ModelFile start, const TrainOptions& options,
             const CheckpointOptions& checkpoint, TrainObserver& observer, const std::string& mark)
      : train_(train),
        options_(options),
        observer_(observer),
        model_(std::move(start)),
        counts_(train.class_counts()),
        encoder_(options, model_.encoder),
        output_(make_output(options, model_, counts_)),
        batch_(std::min(options.batch, train.examples())),
        batches_((train.examples() + batch_ - 1) / batch_),
        rate_(options.learning_rate > 0 ? options.learning_rate : output_->rate_factor() * kDefaultRate),
        schedule_{options.schedule, options.epochs * batches_, batches_},
        order_(train.examples(), options.seed),
        validation_(valid, options),
        pace_(checkpoint, mark, observer) {}

  TrainResult run() {
    if (Checkpoint checkpoint; pace_.resumes(checkpoint)) restore(checkpoint);
    while (step_ < options_.epochs * batches_) {
      if (step_ % batches_ == 0) epoch_sum_ = {};
      if (!take_step()) return finish("", Ending::diverged);
      ++step_;
      if (report())
        return finish(fmt::format("validation did not improve in {} epochs", options_.patience),
                      Ending::complete);
      const bool interrupt = observer_.stop_requested();
      pace_.checkpoint(interrupt, [this](Checkpoint& c) { save(c); });
      if (interrupt) return finish("interrupted", Ending::interrupted);
    }
    return finish(fmt::format("completed {} epochs", options_.epochs), Ending::complete);
  }

 private:
  enum class Ending { complete, interrupted, diverged };

  // False when the loss is not finite; then the parameters are as they were.
  bool take_step() {
    const uint64_t epoch = step_ / batches_, first = step_ % batches_ * batch_;
    order_.slice(epoch, first, std::min(batch_, train_.examples() - first), chosen_);
    train_.gather(chosen_, examples_);
    const size_t n = chosen_.size(), m = model_.features;
    encoder_.begin(examples_.rows, step_);
    parallel_ranges(n, kNetworkRowsAtOnce, [&](size_t begin, size_t end) { encoder_.forward({begin, end}); });
    const StateBatch batch{.state = encoder_.states(),
                           .target = examples_.target,
                           .weight = examples_.weight,
                           .scale = 1 / train_.mean_weight(),
                           .step = step_};
    output_->begin(batch);
    std::vector<LossSum> parts((n + kNetworkRowsAtOnce - 1) / kNetworkRowsAtOnce);
    parallel_ranges(n, kNetworkRowsAtOnce, [&](size_t begin, size_t end) {
      std::vector<float> d_state((end - begin) * m);
      parts[begin / kNetworkRowsAtOnce] = output_->block({begin, end}, d_state.data());
      encoder_.backward({begin, end}, d_state.data());
    });
    LossSum sum;
    for (const LossSum& part : parts) sum += part;
    if (!(std::abs(sum.likelihood + sum.penalty) < kLargestLoss)) return false;
    // Settled at the end of the last epoch, and the loss is finite with them.
    if (step_ % batches_ == 0) good_ = validation_.has_kept() ? ModelFile{} : model_;
    epoch_sum_ += sum;
    const double rate = rate_ * schedule_.factor(step_);
    encoder_.update(rate);
    output_->update(rate);
    return true;
  }

  // True when validation says stop.
  bool report() {
    const bool epoch_end = step_ % batches_ == 0;
    const uint64_t every = std::max<uint64_t>(1, batches_ / kNetworkReportsPerEpoch);
    if (!epoch_end && step_ % every != 0) return false;
    measure();
    bool stop = false;
    if (epoch_end) {
      settle();
      if (validation_.present()) stop = validation_.check(model_, good_, progress_);
    }
    observer_.on_progress(progress_);
    return stop;
  }

  void settle() {
    encoder_.settle();
    output_->finish(model_);
  }

  void measure() {
    progress_ = {};
    progress_.step = step_;
    progress_.steps = options_.epochs * batches_;
    progress_.epoch = (step_ - 1) / batches_;
    report_sum(epoch_sum_, progress_);
    if (options_.objective.learn_centre || learns_normalizer(options_.objective))
      progress_.log_normalizer = output_->centre();
    progress_.alpha = options_.objective.alpha;
    progress_.seconds = pace_.seconds();
  }

  // The last step has no loss after it: that of a few of its examples.
  bool is_finite() {
    const uint64_t epoch = (step_ - 1) / batches_, first = (step_ - 1) % batches_ * batch_;
    order_.slice(epoch, first, std::min({kLastExamples, batch_, train_.examples() - first}), chosen_);
    train_.gather(chosen_, examples_);
    examples_.weight.clear();
    return network_quality(model_, examples_).nll * static_cast<double>(batch_) < kLargestLoss;
  }

  TrainResult finish(std::string reason, Ending ending) {
    if (step_ > 0 && progress_.step != step_) measure();
    TrainResult result;
    settle();
    if (ending == Ending::complete && !is_finite()) ending = Ending::diverged;
    if (ending == Ending::diverged) {
      reason = fmt::format("the loss became infinite or NaN at step {}; try {}", step_, output_->remedy());
      if (good_.classes > 0) model_ = good_;
    }
    if (ending == Ending::complete && validation_.is_worse_than_frequencies(counts_))
      observer_.on_warning(
          fmt::format("the model is worse than the frequencies of the classes, where training started; "
                      "try {} or more --epochs",
                      output_->remedy()));
    const bool is_calibrated = validation_.conclude(model_, ending == Ending::complete);
    if (!is_calibrated && needs_constant(options_.objective) && ending != Ending::interrupted)
      model_.log_normalizer = settled_constant(model_, train_, options_.seed);
    model_.objective_json = objective_record(options_.objective, progress_.alpha);
    model_.training_json = training_record(options_, "adagrad", reason, train_.examples(), progress_);
    result.model = std::move(model_);
    result.reason = reason;
    result.interrupted = ending == Ending::interrupted;
    result.diverged = ending == Ending::diverged;
    result.last = progress_;
    result.optimiser = "adagrad";
    return result;
  }

  void save(Checkpoint& c) const {
    c.set("step", step_);
    encoder_.save(c);
    output_->save(c);
    save_sum(epoch_sum_, c);
    validation_.save(c);
    c.set("good", uint64_t{good_.classes > 0});
    if (good_.classes > 0) save_parameters("good.", good_, c);
  }

  void restore(const Checkpoint& c) {
    step_ = c.integer("step");
    encoder_.restore(c);
    output_->restore(c);
    epoch_sum_ = restored_sum(c);
    validation_.restore(c, model_);
    if (c.integer("good") == 0) return;
    good_ = model_;
    restore_parameters("good.", c, good_);
  }

  const ExampleFeed& train_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  ModelFile model_;
  std::vector<uint64_t> counts_;
  EncoderStep encoder_;
  std::unique_ptr<OutputStep> output_;
  uint64_t batch_;    // examples per step
  uint64_t batches_;  // per epoch
  double rate_;
  Schedule schedule_;
  ShuffledOrder order_;
  NetworkValidation validation_;
  Pace pace_;
  ModelFile good_;  // until validation keeps one: from before this epoch, where to return when it diverges

  uint64_t step_ = 0;
  std::vector<uint64_t> chosen_;
  ExampleBatch examples_;
  LossSum epoch_sum_;
  Progress progress_;
};

// What the draws of a minibatch take, in numbers of 4 bytes.
double noise_floats(const ObjectiveOptions& o, double batch) {
  const double samples = static_cast<double>(o.samples);
  if (o.noise == "in-batch") return batch * batch;
  return o.noise_sharing == "example" ? 6 * samples * batch : samples * batch;
}

void check_options(const TrainOptions& options) {
  if (options.objective.name == "constraint")
    throw Error(
        "the constraint objective needs full passes over a linear model; use penalty with an encoder");
  if (options.optimiser != "auto" && options.optimiser != "adagrad")
    throw Error(
        fmt::format("--optimiser {}: a model with an encoder is trained by adagrad", options.optimiser));
  if (options.precision != "float")
    throw Error(
        fmt::format("--precision {}: a model with an encoder is trained in float", options.precision));
  if (options.scale == "standard")
    throw Error(
        "--scale standard needs dense features; a model with an encoder takes sparse ones as they are");
  if (options.l1 > 0) throw Error("--l1: a model with an encoder has no L1 term; use --l2");
  if (options.objective.name == "hierarchical" && !options.log_carrier.empty())
    throw Error(
        "a carrier belongs to classes, and the hierarchical objective scores nodes of a tree; use exact");
}

}  // namespace

double network_parameters(const NetworkPlan& plan, const TrainOptions& options) {
  const double p = static_cast<double>(options.encoder.dimension) * plan.positions,
               m = options.encoder.hidden;
  return static_cast<double>(plan.inputs) * options.encoder.dimension + m * (p + 1) +
         plan.classes * ((m > 0 ? m : p) + 1);
}

double network_bytes(const NetworkPlan& plan, const TrainOptions& options) {
  const double p = static_cast<double>(options.encoder.dimension) * plan.positions,
               m = options.encoder.hidden;
  const double states = m > 0 ? m : p;
  const double parameters = network_parameters(plan, options);
  const bool draws = is_candidate_objective(options.objective.name);
  // By row: AdaGrad's accumulators, decays, lists of uses; by class also its counts, and tables of the noise.
  const double decays = options.l2 > 0 ? 2 : 0;
  const double rows = (2 + decays) * plan.inputs + (7 + decays + (draws ? 10 : 0)) * plan.classes;
  const bool enumerates = !draws && options.objective.name != "hierarchical";
  const double fraction = options.objective.name == "sampled" ? options.objective.gamma : 1;
  const double batch =
      static_cast<double>(plan.examples > 0 ? std::min(options.batch, plan.examples) : options.batch);
  const double noise = noise_floats(options.objective, batch);
  const double scores = enumerates ? fraction * batch * plan.classes : draws ? noise : 0;
  const double validation = static_cast<double>(kValidationExamples) * states;
  const double layers = batch * (2 * p + 2 * m + states);
  return sizeof(float) * (2 * parameters + rows + scores + layers + validation);
}

TrainResult train_network(const ExampleFeed& train, const ExampleFeed* valid, NetworkPlan plan,
                          const TrainOptions& given, const CheckpointOptions& checkpoint,
                          TrainObserver& observer) {
  TrainOptions options = given;
  options.validate();
  check_options(options);
  if (train.examples() == 0) throw Error("the training data has no examples; expected at least one");
  if (plan.classes < 2)
    throw Error(fmt::format("the training data has {} class; expected at least two", plan.classes));
  if (!options.log_carrier.empty() && options.log_carrier.size() != plan.classes)
    throw Error(
        fmt::format("the carrier has {} values for {} classes", options.log_carrier.size(), plan.classes));
  if (!(train.mean_weight() > 0))
    throw Error("the weights of the training data sum to 0; expected a positive number");
  if (valid != nullptr && !(valid->mean_weight() > 0))
    throw Error("the weights of the validation data sum to 0; expected a positive number");
  resolve_centre(false, options.objective);
  warn_about_gamma(options.objective, observer);
  check_noise(options.objective, std::min(options.batch, train.examples()));
  const ThreadLimit limit(options.threads);
  const std::string mark =
      train.fingerprint() + options_text(options, "network") + (valid ? valid->fingerprint() : "");
  const std::vector<uint64_t> counts = train.class_counts();
  ModelFile start = starting_network(std::move(plan), options, counts);
  return NetworkRun(train, valid, std::move(start), options, checkpoint, observer, mark).run();
}

}  // namespace selfnorm
