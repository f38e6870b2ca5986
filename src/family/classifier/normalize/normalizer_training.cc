#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/memory.h"
#include "engine/engine.h"
#include "engine/minibatches.h"
#include "family/classifier/minibatch.h"
#include "family/classifier/normalize/amortise.h"
#include "math/parallel.h"
#include "math/random.h"
#include "model/normalizer_network.h"
#include "model/parameters.h"

namespace selfnorm {
namespace {

constexpr uint64_t kHeldOutRows = 1024;        // measured at once
constexpr uint64_t kScalingSample = 4096;      // examples that say how inputs are scaled
constexpr size_t kTrainingUpdateGrain = 4096;  // parameters
constexpr uint64_t kHiddenStartStream = 1, kScalingStream = 2;

class InputScaling {
 public:
  explicit InputScaling(Features sample) {
    if (sample.is_sparse) {
      const SparseMatrix& x = sample.sparse;
      std::vector<double> largest(x.columns);
      for (size_t p = 0; p < x.column.size(); ++p)
        largest[x.column[p]] = std::max(largest[x.column[p]], std::abs(static_cast<double>(x.value[p])));
      scaling_.mean.assign(x.columns, 0);
      for (const double l : largest) scaling_.inverse.push_back(l > 0 ? 1 / l : 1);
    } else {
      scaling_ = fit_scaling(sample.dense);
    }
    apply(sample);
    row_norm_ = row_norm(sample);
  }

  const Scaling& scaling() const { return scaling_; }
  double norm() const { return row_norm_; }  // rms |z| of the sample

  void apply(Features& x) const {
    if (!x.is_sparse) return scaling_.apply(x.dense);
    std::vector<float>& values = x.sparse.value.own();
    for (size_t p = 0; p < x.sparse.column.size(); ++p) {
      float& value = values[p];
      value = static_cast<float>(static_cast<double>(value) * scaling_.inverse[x.sparse.column[p]]);
    }
  }

 private:
  Scaling scaling_;
  double row_norm_ = 1;
};

InputScaling scaling_of(const NormalizerExamples& examples, uint64_t seed) {
  std::vector<uint64_t> sample(examples.training.begin(), examples.training.end());
  if (sample.size() > kScalingSample) {
    RandomStream(seed, kScalingStream).shuffle(sample);
    sample.resize(kScalingSample);
    std::sort(sample.begin(), sample.end());
  }
  return InputScaling(examples.source.gather(sample).features);
}

double unit_of(const NormalizerExamples& examples) {
  double squares = 0;
  for (const uint64_t i : examples.training) squares += examples.value[i] * examples.value[i];
  return std::sqrt(squares / static_cast<double>(examples.training.size()));
}

class NormalizerProblem final : public Problem {
 public:
  NormalizerProblem(const NormalizerExamples& examples, const NormalizerTraining& training,
                    const EpochObserver& observer)
      : examples_(examples),
        training_(training),
        observer_(observer),
        minibatches_(examples.training.size(), training.batch, training.seed),
        unit_(unit_of(examples)),
        scaling_(scaling_of(examples, training.seed)),
        network_(examples.source.columns(), training.hidden),
        optimiser_("adam", network_.parameters(), 0),
        theta_(network_.parameters()) {
    RandomStream random(training.seed, kHiddenStartStream);
    const size_t columns = examples.source.columns();
    for (size_t j = 0; j <= columns; ++j) {
      const double size = j < columns ? 1 / scaling_.norm() : 1;
      for (size_t k = 0; k < training.hidden; ++k)
        theta_[j * network_.width() + k] = static_cast<float>(size * random.normal());
    }
    plan_.epoch = plan_.check_every = minibatches_.per_epoch();
    plan_.steps = training.epochs * plan_.epoch;
    plan_.schedule = training.schedule;
    plan_.checks = plan_.keeps_best = true;
    plan_.patience = training.patience;
  }

  const Plan& plan() const override { return plan_; }

  Step gradient(uint64_t at) override {
    const std::span<const uint64_t> places = minibatches_.of(at);
    std::vector<uint64_t> chosen(places.size());
    for (size_t i = 0; i < places.size(); ++i) chosen[i] = examples_.training[places[i]];
    batch_ = gathered(chosen);
    const Features& x = batch_.examples.data.features;
    gradient_.assign(network_.gradient_size(x), 0);
    const double error = network_.squared_error({x, batch_.value, &batch_.examples.map}, theta_,
                                                1 / static_cast<double>(chosen.size()), gradient_);
    return std::isfinite(error) ? Step{} : Step::diverged();
  }

  Step move(uint64_t at, double factor) override {
    update(batch_.examples.map, gradient_, factor);
    observer_(batch_.value.size(), std::nullopt);
    taken_ = at + 1;
    return {};
  }

  // b = 0, where it starts, may stay the best.
  Due due(uint64_t steps_taken) const override { return {.check = steps_taken % plan_.epoch == 0}; }

  Check check(Progress&) override {
    const double error = held_out_error();
    if (taken_ > 0) observer_(0, unit_ * error);
    return {error};
  }

  void take(Snapshot& out) const override { out.floats = theta_; }
  void put(const Snapshot& snapshot) override { theta_ = snapshot.floats; }

  TrainedNormalizer result(const RunOutcome& outcome) const {
    TrainedNormalizer out;
    out.epochs = outcome.steps / plan_.epoch;
    out.reason = outcome.ending == Ending::diverged
                     ? fmt::format("epoch {} diverged; a smaller learning rate may help", out.epochs + 1)
                 : outcome.ran_out_of_patience
                     ? fmt::format("no improvement in {} epochs", training_.patience)
                     : "completed all epochs";
    if (outcome.best && *outcome.kept > 0) out.normalizer = folded(theta_);
    return out;
  }

 private:
  struct Batch {
    Minibatch examples;
    std::vector<double> value;
  };

  Batch gathered(std::span<const uint64_t> listed) const {
    Dataset data = examples_.source.gather(listed);
    scaling_.apply(data.features);
    std::vector<uint64_t> all(listed.size());
    std::iota(all.begin(), all.end(), uint64_t{0});
    Batch batch{data.features.is_sparse ? MinibatchMaker(data).make(all) : Minibatch{std::move(data), {}},
                {}};
    for (const uint64_t i : listed) batch.value.push_back(examples_.value[i] / unit_);
    return batch;
  }

  // The gradient has a row for every column of the minibatch, then the biases, then u.
  void update(const FeatureMap& map, std::span<const float> gradient, double factor) {
    const double rate = factor * training_.learning_rate;
    const size_t width = network_.width(), hidden = training_.hidden;
    const auto weights = gradient.first(gradient.size() - hidden);
    const std::span<float> theta(theta_);
    optimiser_.begin_step();
    if (map.feature.empty()) {
      parallel_ranges(weights.size(), kTrainingUpdateGrain, [&](size_t begin, size_t end) {
        optimiser_.update(theta, begin, weights.subspan(begin, end - begin), rate / scaling_.norm(), 0);
      });
    } else {
      const size_t rows = map.feature.size();
      parallel_ranges(rows + 1, kTrainingUpdateGrain / width + 1, [&](size_t begin, size_t end) {
        for (size_t r = begin; r < end; ++r) {
          const size_t row = r < rows ? map.feature[r] : examples_.source.columns();
          optimiser_.update(theta, row * width, weights.subspan(r * width, width), rate / scaling_.norm(), 0);
        }
      });
    }
    if (hidden > 0)
      optimiser_.update(theta, network_.output(), gradient.last(hidden),
                        rate / std::sqrt(static_cast<double>(hidden)), 0);
  }

  // Root mean square, in units.
  double held_out_error() const {
    double squares = 0;
    const auto& listed = examples_.held_out;
    for (size_t begin = 0; begin < listed.size(); begin += kHeldOutRows) {
      const Batch batch =
          gathered(listed.subspan(begin, std::min<size_t>(kHeldOutRows, listed.size() - begin)));
      squares += network_.squared_error({batch.examples.data.features, batch.value, &batch.examples.map},
                                        theta_, 1, {});
    }
    return std::sqrt(squares / static_cast<double>(listed.size()));
  }

  AmortisedNormalizer folded(std::span<const float> theta) const {
    AmortisedNormalizer b = network_.amortised(theta, scaling_.scaling());
    b.intercept *= unit_;
    for (float& v : b.slope) v = static_cast<float>(unit_ * static_cast<double>(v));
    for (float& u : b.output) u = static_cast<float>(unit_ * static_cast<double>(u));
    return b;
  }

  const NormalizerExamples& examples_;
  const NormalizerTraining& training_;
  const EpochObserver& observer_;
  Minibatches minibatches_;
  double unit_;
  InputScaling scaling_;
  NormalizerNetwork<float> network_;
  Adaptive<float> optimiser_;
  std::vector<float> theta_;
  Plan plan_;
  Batch batch_;  // of the last step
  std::vector<float> gradient_;
  uint64_t taken_ = 0;  // steps
};

}  // namespace

TrainedNormalizer train_normalizer(const NormalizerExamples& examples, const NormalizerTraining& training,
                                   const EpochObserver& observer) {
  if (unit_of(examples) == 0) return {{}, 0, "there is nothing to learn"};
  const double parameters = (double(examples.source.columns()) + 1) * (training.hidden + 1.0);
  require_memory(5 * sizeof(float) * parameters, "the amortised normalizer and its training",
                 "use fewer hidden units");
  NormalizerProblem problem(examples, training, observer);
  return problem.result(run(problem));
}

}  // namespace selfnorm
