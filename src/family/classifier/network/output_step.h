// The output layer in one minibatch: scores w_k . h + c_k of the states, their loss, its derivatives with
// respect to the states, and one step of the layer's own parameters. One implementation per way of treating
// the log-normalizer: computed (exact, penalty, sampled), sampled (nce, ranking-nce, is, snl), built in
// (hierarchical). The parameters are those of a model file, changed in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint.h"
#include "family/classifier/learned_normalizer.h"
#include "family/classifier/loop.h"
#include "family/classifier/noise_draw.h"
#include "family/classifier/options.h"
#include "math/parallel.h"
#include "model/class_shard.h"
#include "model/model_file.h"
#include "model/multiclass.h"
#include "objective/loss.h"
#include "optim/adaptive.h"
#include "selfnorm/error.h"

namespace selfnorm {

// A matrix of a network in training. AdaGrad's G0 is kInitialSquare: the loss is a sum over the examples of
// a minibatch, so a derivative of one score is of the order of 1.
class TrainedRows {
 public:
  static constexpr double kInitialSquare = 1e-4;

  // `values` has rows of `columns`; it is kept by reference.
  TrainedRows(std::vector<float>& values, size_t columns, double decay);

  const float* row(size_t r) const { return values_.data() + r * columns_; }
  size_t columns() const { return columns_; }
  void begin_step(double rate) { optimiser_.begin_step(rate); }
  void update(size_t row, const float* gradient) { optimiser_.update(values_.data(), row, gradient); }
  void settle() { optimiser_.settle(values_.data()); }

  // Of a shard: together, for all classes.
  void state(const std::string& name, CheckpointFields& fields, const ClassShard& shard = {});

 private:
  std::vector<float>& values_;
  size_t columns_;
  RowAdagrad optimiser_;
};

// Which positions of a list name which row: what a lazy update of rows goes by. Rows come in the order of
// their first position and positions in rising order, so sums over them have the same bits always. The cost
// is that of the list; memory is one number per row that can be named.
class Occurrences {
 public:
  // Rows are below `rows`.
  explicit Occurrences(size_t rows);

  // Replaces what was there.
  void group(std::span<const uint32_t> list);

  size_t size() const { return row_.size(); }  // distinct rows
  uint32_t row(size_t slot) const { return row_[slot]; }
  std::span<const uint32_t> positions(size_t slot) const;
  // The positions of a row, perhaps none.
  std::span<const uint32_t> positions_of(uint32_t row) const;

  // All rows, where the positions of each end in the list of all, and that list.
  std::span<const uint32_t> rows() const { return row_; }
  std::span<const uint32_t> ends() const { return end_; }
  std::span<const uint32_t> places() const { return position_; }

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  std::vector<uint32_t> slot_;  // of a row, or kNone
  std::vector<uint32_t> row_;
  std::vector<uint32_t> end_;  // of a slot's positions
  std::vector<uint32_t> position_;
};

// Rows of weights and biases with the optimiser of each.
class OutputLayer {
 public:
  // Of all classes of the model, or of the own ones of a shard, which are counted from the first of them.
  OutputLayer(ModelFile& model, double decay, const ClassShard& shard = {});

  uint32_t states() const { return static_cast<uint32_t>(weight_.columns()); }
  const float* weight(size_t k) const { return weight_.row(k); }
  // log h(k) + c_k
  float offset(size_t k) const { return *bias_.row(k) + (carrier_.empty() ? 0.0f : carrier_[k]); }
  double score(size_t k, const float* state) const;

  void begin_step(double rate);
  void update(size_t k, const float* gradient, float d_bias);
  // One step of every row used: add(position, gradient, d_bias) adds what one of its uses says.
  template <class Add>
  void update_used(const Occurrences& used, const Add& add) {
    parallel_ranges(used.size(), kUsedAtOnce, [&](size_t begin, size_t end) {
      std::vector<float> gradient(states());
      for (size_t slot = begin; slot < end; ++slot) {
        std::fill(gradient.begin(), gradient.end(), 0.0f);
        float d_bias = 0;
        for (const uint32_t p : used.positions(slot)) add(p, gradient.data(), d_bias);
        update(used.row(slot), gradient.data(), d_bias);
      }
    });
  }
  void settle() { weight_.settle(); }

  void state(CheckpointFields& fields);

 private:
  static constexpr size_t kUsedAtOnce = 32;  // rows of a unit of work

  TrainedRows weight_, bias_;
  std::span<const float> carrier_;
  ClassShard shard_;
};

// One example of a candidate objective: its terms, and what its derivatives are multiplied by to limit the
// push of its noise (kLargestPush).
class CandidateExample {
 public:
  explicit CandidateExample(const TrainOptions& options);
  struct Target {
    uint32_t label;
    double score, log_q, log_normalizer;
  };
  struct Terms : CandidateTerms {
    double limit = 1;
  };
  Terms operator()(const NoiseDraw& noise, const NoiseDraw::View& view, const Target& target,
                   std::span<const double> sample_score, std::vector<double>& d_sample) const;
  bool uses_estimate() const { return uses_estimate_; }

 private:
  std::unique_ptr<CandidateObjective> objective_;
  bool uses_estimate_;
};

struct StateBatch {
  const Features& state;  // dense, h of every example
  std::span<const uint32_t> target;
  std::span<const float> weight;  // or empty for all 1
  double scale = 1;               // the loss minimised is scale times the weighted sum over the examples
  uint64_t step = 0;              // the stream of randomness
};

// c of an output layer, fixed or learned by clipped steps of its own.
class LearnedCentre {
 public:
  explicit LearnedCentre(const TrainOptions& options);

  double value() const { return static_cast<double>(value_[0]); }
  // With the derivatives of the examples.
  void update(std::span<const double> derivative, double rate);
  void state(CheckpointFields& fields);

 private:
  bool is_learned_;
  std::vector<float> value_;
  RowAdagrad optimiser_;
};

// What a step writes of the examples of a minibatch, in their order: `begin(i)` is where, in bytes, that of
// example i begins, up to begin(n). Processes share the examples and exchange it.
struct ExampleArray {
  template <class T>
  static ExampleArray of(std::vector<T>& values, std::function<uint64_t(uint64_t example)> begin) {
    return {reinterpret_cast<std::byte*>(values.data()),
            [begin = std::move(begin)](uint64_t i) { return begin(i) * sizeof(T); }};
  }
  template <class T>
  static ExampleArray of(std::vector<T>& values, size_t each = 1) {
    return of(values, [each](uint64_t i) { return i * each; });
  }

  std::byte* data;
  std::function<uint64_t(uint64_t example)> begin;
};
// body(examples) for all n, at most `grain` at once.
void share_examples(uint64_t n, size_t grain, const std::function<void(Range)>& body,
                    const std::vector<ExampleArray>& arrays);

class OutputStep {
 public:
  virtual ~OutputStep() = default;

  // Keeps a reference until update().
  virtual void begin(const StateBatch& batch) = 0;
  // The terms of the loss of these examples, and d_state (rows x d, overwritten) = the derivative of the loss
  // minimised. Called once for every example, from several threads.
  virtual LossSum block(Range examples, float* d_state) = 0;
  // What block() writes for update(), besides d_state.
  virtual std::vector<ExampleArray> written() = 0;
  // A layer whose classes are split over processes (model/class_shard.h) takes all examples at once, in all
  // processes together, instead: whole() in the place of block().
  virtual bool is_split() const { return false; }
  virtual LossSum whole(float* /*d_state*/) { throw Bug("this layer takes blocks of examples"); }
  virtual void update(double rate) = 0;

  // c or b as it is now; the constant part when b is a function.
  virtual double centre() const { return 0; }
  virtual std::string device() const { return {}; }  // the GPU it runs on; empty: none
  // Of the default rate.
  virtual double rate_factor() const { return 1; }
  // What to do when the loss is not finite.
  virtual const char* remedy() const { return "a smaller `learning-rate`"; }
  // Brings the parameters up to date (decay of unused rows) and stores what the model needs besides them.
  virtual void finish(ModelFile& model) = 0;

  virtual void state(CheckpointFields& fields) = 0;
};

// Of candidate objectives. Of the default rate where Z_hat is part of the loss; and there the most that the
// derivatives of one example may push scores down in sum, which is about 1 near the optimum: where the scores
// of a few samples run away (snl) one example must not undo what the others taught.
inline constexpr double kOutputEstimateRate = 0.7, kLargestPush = 4;

// A layer in memory, and c beside it.
class CentredOutput : public OutputStep {
 public:
  double centre() const override { return centre_.value(); }
  void finish(ModelFile& model) override {
    layer_.settle();
    model.log_normalizer = centre();
  }
  void state(CheckpointFields& fields) override {
    layer_.state(fields);
    centre_.state(fields);
  }

 protected:
  CentredOutput(const TrainOptions& options, ModelFile& model, const ClassShard& shard = {})
      : layer_(model, options.l2, shard), centre_(options) {}

  OutputLayer layer_;
  LearnedCentre centre_;
};

// A layer in memory, and b beside it, learned against draws.
class NoiseOutput : public OutputStep {
 public:
  double centre() const override { return normalizer_.constant(); }
  double rate_factor() const override { return example_.uses_estimate() ? kOutputEstimateRate : 1; }
  const char* remedy() const override { return kCandidateRemedy; }
  void finish(ModelFile& model) override {
    layer_.settle();
    normalizer_.store(model);
  }
  void state(CheckpointFields& fields) override {
    layer_.state(fields);
    normalizer_.state(fields);
  }

 protected:
  NoiseOutput(const TrainOptions& options, ModelFile& model, std::span<const uint64_t> counts,
              const ClassShard& shard = {})
      : example_(options),
        layer_(model, options.l2, shard),
        noise_(options.objective, options.seed, counts),
        normalizer_(options.objective, model.features, 0, options.seed) {}

  CandidateExample example_;
  OutputLayer layer_;
  NoiseDraw noise_;
  LearnedNormalizer<float> normalizer_;
};

// `model` has its weights and biases; `counts` says how often each class is a target. Keep references.
std::unique_ptr<OutputStep> make_enumerated_output(const TrainOptions& options, ModelFile& model);
// That one or the next on the chosen device (gpu/device.h); none when that is the CPU, and by the choice
// "auto" also for small layers and other objectives. Throws Error for those when a GPU was asked for by name.
std::unique_ptr<OutputStep> make_device_output(const TrainOptions& options, ModelFile& model,
                                               std::span<const uint64_t> counts);
std::unique_ptr<OutputStep> make_device_candidates(const GpuDevice& device, const TrainOptions& options,
                                                   ModelFile& model, std::span<const uint64_t> counts);
std::unique_ptr<OutputStep> make_candidate_output(const TrainOptions& options, ModelFile& model,
                                                  std::span<const uint64_t> counts);
// Either, of a model that has the rows of these classes.
std::unique_ptr<OutputStep> make_split_output(const ClassShard& shard, const TrainOptions& options,
                                              ModelFile& model, std::span<const uint64_t> counts);
std::unique_ptr<OutputStep> make_hierarchical_output(const TrainOptions& options, ModelFile& model);

}  // namespace selfnorm
