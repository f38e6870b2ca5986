#include "family/classifier/network/network_trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/failure.h"
#include "engine/minibatches.h"
#include "family/classifier/learned_normalizer.h"
#include "family/classifier/minibatch.h"
#include "family/classifier/network/encoder_step.h"
#include "family/classifier/network/output_step.h"
#include "family/classifier/options.h"
#include "math/parallel.h"
#include "normalizer/shard_softmax.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNetworkRowsAtOnce = 64;  // examples of a unit of work
constexpr uint64_t kLastExamples = 8;
constexpr double kLargestLoss = 1e30;  // of a minibatch: derivatives beyond are not finite as floats
constexpr double kDefaultRate = 0.1;

std::unique_ptr<OutputStep> make_output(const ClassShard& shard, const TrainOptions& options,
                                        ModelFile& model, std::span<const uint64_t> counts) {
  if (shard.exists()) return make_split_output(shard, options, model, counts);
  if (auto output = make_device_output(options, model, counts)) return output;
  const ObjectiveSeam seam = objective_entry(options.objective.name).seam;
  if (seam == ObjectiveSeam::tree) return make_hierarchical_output(options, model);
  return seam == ObjectiveSeam::candidates ? make_candidate_output(options, model, counts)
                                           : make_enumerated_output(options, model);
}

// What the model needs of the training data besides its loss: log Z of `sampled`, ranking-nce and is settles
// at a constant of its own.
double settled_constant(const ModelFile& model, const ClassShard& shard, const ExampleFeed& train,
                        uint64_t seed, uint64_t rows) {
  ShuffledOrder order(train.examples(), seed);
  std::vector<uint64_t> chosen;
  order.slice(0, 0, std::min(train.examples(), rows), chosen);
  ExampleBatch batch;
  train.gather(chosen, batch);
  return network_quality(model, batch, shard).log_z;
}

// Of training and of a check: products with the hidden layer and the output rows, a step's three times
// (scores, derivatives of states, derivatives of rows).
ValidationEffort network_effort(const ModelFile& model, const TrainOptions& options, uint64_t examples,
                                uint64_t held_out) {
  const ObjectiveEntry& objective = objective_entry(options.objective.name);
  const double all = model.classes, path = std::log2(std::max(2.0, all));
  const double draws =
      static_cast<double>(options.objective.noise == "in-batch" ? options.batch : options.objective.samples);
  const bool has_tree = objective.seam == ObjectiveSeam::tree;
  const double scored = has_tree                                      ? path
                        : objective.seam == ObjectiveSeam::candidates ? std::min(all, draws)
                        : objective.is_subsampled                     ? all * options.objective.gamma
                                                                      : all;
  const double states = model.features, inner = static_cast<double>(model.encoder.hidden_weight.size());
  return validation_effort(static_cast<double>(examples) * 3 * (scored * states + inner),
                           (has_tree ? path : all) * states + inner, held_out);
}

// The parameters of a network as a snapshot: one vector, then the numbers.
template <class Model>
auto parameter_blocks(Model& model) {
  auto& e = model.encoder;
  auto& b = model.normalizer;
  return std::array{&e.embedding, &e.hidden_weight, &e.hidden_bias, &model.weight, &model.bias,
                    &b.slope,     &b.hidden_weight, &b.hidden_bias, &b.output};
}

class NetworkProblem final : public Problem {
 public:
  NetworkProblem(const ExampleFeed& train, const ExampleFeed* valid, ModelFile start,
                 const TrainOptions& options, const ClassShard& shard, std::vector<uint64_t> counts,
                 const std::string& checkpoint)
      : train_(train),
        options_(options),
        shard_(shard),
        folder_(std::filesystem::path(checkpoint).parent_path().string()),
        model_(std::move(start)),
        counts_(std::move(counts)),
        encoder_(options, model_.encoder),
        output_(make_output(shard_, options, model_, counts_)),
        minibatches_(train.examples(), options.batch, options.seed),
        rate_(options.learning_rate > 0 ? options.learning_rate : output_->rate_factor() * kDefaultRate),
        effort_(network_effort(model_, options, train.examples(),
                               valid != nullptr ? valid->examples() : ValidationEffort::kMostRows)),
        held_out_(validation_examples(valid, options.seed, effort_.rows)),
        validation_(options, held_out_.rows.rows() > 0) {
    output_->finish(model_);
  }

  const Plan& plan() const override { return plan_; }
  std::string device() const { return output_->device(); }

  Step gradient(uint64_t at) override {
    const std::span<const uint64_t> chosen = minibatches_.of(at);
    train_.gather(chosen, examples_);
    const size_t n = chosen.size(), m = model_.features;
    encoder_.begin(examples_.rows, at);
    share_examples(
        n, kNetworkRowsAtOnce, [&](Range examples) { encoder_.forward(examples); },
        encoder_.written_forward());
    batch_.emplace(StateBatch{.state = encoder_.states(),
                              .target = examples_.target,
                              .weight = examples_.weight,
                              .scale = 1 / train_.mean_weight(),
                              .step = at});
    output_->begin(*batch_);
    if (output_->is_split()) {
      std::vector<float> d_state(n * m);
      sum_ = output_->whole(d_state.data());
      share_examples(
          n, kNetworkRowsAtOnce,
          [&](Range examples) { encoder_.backward(examples, d_state.data() + examples.begin * m); },
          encoder_.written_backward());
      return step_of_loss();
    }
    std::vector<LossSum> parts((n + kNetworkRowsAtOnce - 1) / kNetworkRowsAtOnce);
    std::vector<ExampleArray> written = output_->written();
    for (ExampleArray& array : encoder_.written_backward()) written.push_back(std::move(array));
    written.push_back(ExampleArray::of(
        parts, [](uint64_t i) { return (i + kNetworkRowsAtOnce - 1) / kNetworkRowsAtOnce; }));
    share_examples(
        n, kNetworkRowsAtOnce,
        [&](Range examples) {
          std::vector<float> d_state(examples.size() * m);
          parts[examples.begin / kNetworkRowsAtOnce] = output_->block(examples, d_state.data());
          encoder_.backward(examples, d_state.data());
        },
        written);
    sum_ = {};
    for (const LossSum& part : parts) sum_ += part;
    return step_of_loss();
  }

  Step move(uint64_t at, double factor) override {
    if (at % plan_.epoch == 0) epoch_sum_ = {};
    epoch_sum_ += sum_;
    encoder_.update(rate_ * factor);
    output_->update(rate_ * factor);
    validation_.forget_level();
    taken_ = at + 1;
    if (taken_ % plan_.epoch == 0) settle();
    return {};
  }

  void settle() override {
    encoder_.settle();
    output_->finish(model_);
  }

  void measure(Progress& progress) override {
    report_sum(epoch_sum_, progress);
    if (options_.objective.learn_centre || learns_normalizer(options_.objective))
      progress.log_normalizer = output_->centre();
    progress.alpha = options_.objective.alpha;
  }

  Check check(Progress& progress) override {
    return validation_.judge(network_quality(model_, held_out_, shard_).about(model_.log_normalizer),
                             progress);
  }

  // By a few examples of the last step.
  bool is_usable() override {
    std::span<const uint64_t> last = minibatches_.of(taken_ - 1);
    train_.gather(last.first(std::min<size_t>(kLastExamples, last.size())), examples_);
    examples_.weight.clear();
    return network_quality(model_, examples_, shard_).nll * static_cast<double>(minibatches_.size()) <
           kLargestLoss;
  }
  std::string remedy() const override { return output_->remedy(); }

  bool is_split() const override { return shard_.exists(); }
  void snapshot_state(const std::string& name, CheckpointFields& fields, Snapshot& snapshot) override {
    fields(name + ".floats", snapshot.floats);
    if (shard_.exists()) {
      fields.split(name + ".weight", *snapshot.aside[0], shard_, model_.features);
      fields.split(name + ".bias", *snapshot.aside[1], shard_, 1);
    }
    fields(name + ".numbers", snapshot.numbers);
  }
  // Settled at the end of the last epoch. The rows of a shard may be half of what a process has room for.
  void take(Snapshot& out) const override {
    size_t size = 0;
    for (const auto* block : parameter_blocks(model_)) size += is_aside(block) ? 0 : block->size();
    out.floats.resize(size);
    auto place = out.floats.begin();
    for (const auto* block : parameter_blocks(model_))
      if (!is_aside(block)) place = std::copy(block->begin(), block->end(), place);
    if (shard_.exists()) {
      while (out.aside.size() < 2) out.aside.push_back(std::make_shared<SetAside>(folder_));
      out.aside[0]->put(model_.weight);
      out.aside[1]->put(model_.bias);
    }
    out.numbers = {model_.log_normalizer, model_.normalizer.intercept};
    validation_.take(out);
  }
  void put(const Snapshot& snapshot) override {
    auto place = snapshot.floats.begin();
    for (auto* block : parameter_blocks(model_)) {
      if (is_aside(block)) continue;
      std::copy_n(place, block->size(), block->begin());
      place += static_cast<std::ptrdiff_t>(block->size());
    }
    if (shard_.exists()) {
      snapshot.aside[0]->get(model_.weight);
      snapshot.aside[1]->get(model_.bias);
    }
    model_.log_normalizer = snapshot.numbers[0];
    model_.normalizer.intercept = snapshot.numbers[1];
    validation_.put(snapshot);
  }

  void state(CheckpointFields& fields, uint64_t steps_taken) override {
    taken_ = steps_taken;
    encoder_.state(fields);
    output_->state(fields);
    sum_state(epoch_sum_, fields);
    validation_.state(fields);
  }

  TrainResult result(RunOutcome outcome, TrainObserver& observer) {
    if (outcome.ending == Ending::complete && outcome.best &&
        *outcome.best > frequency_nll(held_out_, counts_))
      observer.on_warning(
          worded("the model is worse than the frequencies of the classes, where training started; "
                 "try {} or more `epochs`",
                 with_options(output_->remedy())));
    if (const auto level = validation_.level())
      model_.log_normalizer = *level;
    else if (needs_constant(options_.objective) && outcome.ending != Ending::interrupted)
      model_.log_normalizer = settled_constant(model_, shard_, train_, options_.seed,
                                               std::max(effort_.rows, ValidationEffort::kFewestRows));
    model_.objective_json = objective_record(options_.objective, options_.objective.alpha);
    model_.training_json =
        training_record(options_, "adagrad", outcome.reason, train_.examples(), outcome.last);
    note_training_device(output_->device(), model_);
    TrainResult result;
    result.model = std::move(model_);
    result.shard = shard_;
    result.optimiser = "adagrad";
    result.take(std::move(outcome));
    return result;
  }

 private:
  bool is_aside(const std::vector<float>* block) const {
    return shard_.exists() && (block == &model_.weight || block == &model_.bias);
  }
  Step step_of_loss() const {
    return std::abs(sum_.likelihood + sum_.penalty) < kLargestLoss ? Step{} : Step::diverged();
  }

  const ExampleFeed& train_;
  const TrainOptions& options_;
  ClassShard shard_;
  std::string folder_;  // of what is set aside; empty: memory
  ModelFile model_;
  std::vector<uint64_t> counts_;  // of the classes in the training data
  EncoderStep encoder_;
  std::unique_ptr<OutputStep> output_;
  Minibatches minibatches_;
  double rate_;
  ValidationEffort effort_;
  ExampleBatch held_out_;
  Validation validation_;
  Plan plan_ = validation_.plan_of_epochs(options_, minibatches_.per_epoch(), effort_.epochs);
  uint64_t taken_ = 0;  // steps
  ExampleBatch examples_;
  std::optional<StateBatch> batch_;
  LossSum sum_, epoch_sum_;
};

// What the draws of a minibatch take, in numbers of 4 bytes.
double noise_floats(const ObjectiveOptions& o, double batch) {
  const double samples = static_cast<double>(o.samples);
  if (o.noise == "in-batch") return batch * batch;
  return o.noise_sharing == "example" ? 6 * samples * batch : samples * batch;
}

void check_options(const TrainOptions& options) {
  if (objective_entry(options.objective.name).is_constraint)
    throw Error(
        "the constraint objective needs full passes over a linear model; use penalty with an encoder");
  if (options.optimiser != "auto" && options.optimiser != "adagrad")
    throw_error("`optimiser {}`: a model with an encoder is trained by adagrad", options.optimiser);
  if (options.precision != "float")
    throw_error("`arithmetic {}`: a model with an encoder is trained in float", options.precision);
  if (options.scale == "standard")
    throw_error(
        "`scale standard` needs dense features; a model with an encoder takes sparse ones as they are");
  if (options.l1 > 0) throw_error("`l1`: a model with an encoder has no L1 term; use `l2`");
  if (options.l2_from > 0) throw_error("`l2-from`: a model with an encoder has no path of l2; use `l2`");
  check_shard(options);
  if (objective_entry(options.objective.name).seam == ObjectiveSeam::tree && !options.log_carrier.empty())
    throw Error(
        "a carrier belongs to classes, and the hierarchical objective scores nodes of a tree; use exact");
}

}  // namespace

double network_parameters(const EncoderPlan& plan, const TrainOptions& options) {
  const double p = static_cast<double>(options.encoder.dimension) * plan.positions,
               m = options.encoder.hidden;
  return static_cast<double>(plan.inputs) * options.encoder.dimension + m * (p + 1) +
         plan.classes * ((m > 0 ? m : p) + 1);
}

double network_bytes(const EncoderPlan& plan, const TrainOptions& options) {
  const double p = static_cast<double>(options.encoder.dimension) * plan.positions,
               m = options.encoder.hidden;
  const double states = m > 0 ? m : p;
  // With `shard classes` those of the process with most of them, whose copy is on disk.
  const bool is_split = options.shard == "classes";
  const double classes = static_cast<double>(is_split ? ClassShard(plan.classes).most_own() : plan.classes);
  EncoderPlan own = plan;
  own.classes = static_cast<uint32_t>(classes);
  const double parameters = network_parameters(own, options);
  const double kept = parameters - (is_split ? classes * (states + 1) : 0);
  const ObjectiveEntry& objective = objective_entry(options.objective.name);
  const bool draws = objective.seam == ObjectiveSeam::candidates;
  // By row: AdaGrad's accumulators, decays, lists of uses; by class also its counts, and tables of the noise.
  const double decays = options.l2 > 0 ? 2 : 0;
  const double rows =
      (2 + decays) * plan.inputs + (7 + decays) * classes + (draws ? 9.0 : 2.0) * plan.classes;
  const bool enumerates = objective.seam == ObjectiveSeam::log_z;
  const double fraction = objective.is_subsampled ? options.objective.gamma : 1;
  const double batch =
      static_cast<double>(plan.examples > 0 ? std::min(options.batch, plan.examples) : options.batch);
  const double noise = noise_floats(options.objective, batch);
  const double scores = enumerates ? fraction * (is_split ? double{kShardStrip} : batch) * classes
                        : draws    ? noise
                                   : 0;
  const double validation = double{ValidationEffort::kMostRows} * states;
  const double layers = batch * (2 * p + 2 * m + states);
  return sizeof(float) * (parameters + kept + rows + scores + layers + validation);
}

TrainResult train_network(const ExampleFeed& train, const ExampleFeed* valid, EncoderPlan plan,
                          const TrainOptions& given, const CheckpointOptions& checkpoint,
                          TrainObserver& observer) {
  TrainOptions options = given;
  options.validate();
  check_options(options);
  if (train.examples() == 0) throw Error("the training data has no examples; expected at least one");
  if (plan.classes < 2) throw_error("the training data has {} class; expected at least two", plan.classes);
  if (!options.log_carrier.empty() && options.log_carrier.size() != plan.classes)
    throw_error("the carrier has {} values for {} classes", options.log_carrier.size(), plan.classes);
  if (!(train.mean_weight() > 0))
    throw Error("the weights of the training data sum to 0; expected a positive number");
  if (valid != nullptr && !(valid->mean_weight() > 0))
    throw Error("the weights of the validation data sum to 0; expected a positive number");
  resolve_centre(false, options.objective);
  warn_about_gamma(options.objective, observer);
  check_noise(options.objective, std::min(options.batch, train.examples()));
  const ThreadLimit limit(options.threads);
  std::vector<uint64_t> counts = train.class_counts();
  const ClassShard shard = options.shard == "classes" ? ClassShard(plan.classes) : ClassShard();
  ModelFile start = starting_network(std::move(plan), options, counts, shard);
  NetworkProblem problem(train, valid, std::move(start), options, shard, std::move(counts), checkpoint.path);
  const std::string mark = train.fingerprint() + options_text(options, "network") +
                           (valid ? valid->fingerprint() : "") + problem.device();
  return problem.result(run(problem, checkpoint, mark, observer), observer);
}

}  // namespace selfnorm
