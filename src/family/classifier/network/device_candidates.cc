// The output layer without a log-normalizer on a GPU (gpu/module_classes.h): weights, biases and their
// AdaGrad stay there; draws, their lists and the states go up in each step, derivatives of the states come
// down. The draws are those of CandidateOutput, and the numbers, but for rounding.
#include <cmath>

#include "family/classifier/device_sampling.h"
#include "family/classifier/learned_normalizer.h"
#include "family/classifier/network/output_step.h"
#include "gpu/device.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Rows of a matrix on the device with their AdaGrad (optim/adaptive.h).
class DeviceRows {
 public:
  DeviceRows(const GpuDevice& device, std::vector<float>& values, size_t columns, double decay)
      : device_(device),
        values_(values),
        columns_(columns),
        decay_(decay),
        square_(values.size() / columns, static_cast<float>(TrainedRows::kInitialSquare)),
        decayed_(decay > 0 ? square_.size() : 0),
        values_there_(device, values.size() * sizeof(float)),
        square_there_(device, square_.size() * sizeof(float)),
        decayed_there_(device, std::max<size_t>(1, decayed_.size()) * sizeof(double)) {
    push();
  }

  const float* there() const { return values_there_.get<float>(); }

  void update(const uint32_t* index, size_t rows, const float* gradient, double rate) {
    if (decay_ > 0) log_decay_ += std::log1p(-std::min(0.5, rate * decay_));
    step(index, rows, gradient, rate);
  }
  // Brings rows up to date that were not used; the bits of what follows depend on it, so checkpoints do not.
  void settle() const {
    if (decay_ > 0) step(nullptr, square_.size(), nullptr, 0);
  }
  void pull() {
    copy(values_, values_there_);
    copy(square_, square_there_);
    if (decay_ > 0) copy(decayed_, decayed_there_);
  }
  void state(const std::string& name, CheckpointFields& fields) {
    if (!fields.reads()) pull();
    fields(name, values_);
    fields(name + ".square", square_);
    fields(name + ".decayed", decayed_);
    fields(name + ".log_decay", log_decay_);
    if (fields.reads()) push();
  }

 private:
  void step(const uint32_t* index, size_t rows, const float* gradient, double rate) const {
    device_.must(device_.module().selfnorm_row_adagrad_at(
        device_.context(), values_there_.get<float>(), square_there_.get<float>(),
        decay_ > 0 ? decayed_there_.get<double>() : nullptr, gradient, index, static_cast<int64_t>(rows),
        static_cast<int64_t>(columns_), rate, log_decay_, nullptr));
  }
  void push() const {
    const auto send = [&](const GpuMemory& to, const auto& from) {
      device_.must(device_.module().selfnorm_cuda_to_device(device_.context(), to.get(), from.data(),
                                                            from.size() * sizeof(from[0])));
    };
    send(values_there_, values_);
    send(square_there_, square_);
    if (decay_ > 0) send(decayed_there_, decayed_);
  }
  template <class Values>
  void copy(Values& to, const GpuMemory& from) const {
    device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), to.data(), from.get(),
                                                        to.size() * sizeof(to[0])));
  }

  const GpuDevice& device_;
  std::vector<float>& values_;
  size_t columns_;
  double decay_, log_decay_ = 0;
  std::vector<float> square_;  // as of the last copy, like values_
  std::vector<double> decayed_;
  GpuMemory values_there_, square_there_, decayed_there_;
};

class DeviceCandidates final : public OutputStep {
 public:
  DeviceCandidates(const GpuDevice& device, const TrainOptions& options, ModelFile& model,
                   std::span<const uint64_t> counts)
      : device_(device),
        uses_estimate_(objective_entry(options.objective.name).uses_estimate),
        model_(model),
        normalizer_(options.objective, model.features, 0, options.seed),
        weight_(device, model.weight, model.features, options.l2),
        bias_(device, model.bias, 1, 0),
        sampling_(device, options.objective, options.seed, counts,
                  {.classes = model.classes,
                   .columns = model.features,
                   .weight = weight_.there(),
                   .bias = bias_.there(),
                   .log_carrier = model.log_carrier},
                  {.rows = options.batch, .most_push = uses_estimate_ ? kLargestPush : 0}) {}

  void begin(const StateBatch& batch) override {
    batch_ = &batch;
    const size_t n = batch.target.size();
    b_ = normalizer_.values(batch.state, nullptr);
    d_normalizer_.assign(n, 0.0);
    std::vector<double> factor(n);
    for (size_t i = 0; i < n; ++i) factor[i] = batch.scale * weight_of(i);
    sampling_.run(batch.step,
                  {.states = batch.state.dense.values, .target = batch.target, .b = b_, .factor = factor});
  }

  LossSum block(Range examples, float* d_state) override {
    const size_t m = model_.features;
    const std::span<const float> found =
        sampling_.d_states().subspan(examples.begin * m, examples.size() * m);
    std::copy(found.begin(), found.end(), d_state);
    LossSum sum;
    for (uint64_t i = examples.begin; i < examples.end; ++i) {
      if (sampling_.noise().view(i).size() == 0) continue;
      const CandidateTerms t = sampling_.terms(i);
      sum.add(t, weight_of(i), b_[i]);
      d_normalizer_[i] = weight_of(i) * batch_->scale * t.d_log_normalizer;
    }
    return sum;
  }

  std::vector<ExampleArray> written() override { return {}; }  // of one process: jobs of several have no GPU

  void update(double rate) override {
    weight_.update(sampling_.used_there(), sampling_.used(), sampling_.d_used(), rate);
    bias_.update(sampling_.used_there(), sampling_.used(), sampling_.d_used_bias(), rate);
    normalizer_.update(batch_->state, nullptr, d_normalizer_, rate);
  }

  double centre() const override { return normalizer_.constant(); }
  std::string device() const override { return device_.name(); }
  double rate_factor() const override { return uses_estimate_ ? kOutputEstimateRate : 1; }
  const char* remedy() const override { return kCandidateRemedy; }
  void finish(ModelFile& model) override {
    SELFNORM_CHECK(&model == &model_);
    weight_.settle();
    weight_.pull();
    bias_.pull();
    normalizer_.store(model);
  }

  void state(CheckpointFields& fields) override {
    weight_.state("weight", fields);
    bias_.state("bias", fields);
    normalizer_.state(fields);
  }

 private:
  double weight_of(uint64_t i) const {
    return batch_->weight.empty() ? 1 : static_cast<double>(batch_->weight[i]);
  }

  const GpuDevice& device_;
  bool uses_estimate_;
  ModelFile& model_;
  LearnedNormalizer<float> normalizer_;
  DeviceRows weight_, bias_;
  DeviceSampling sampling_;

  // Of the current step.
  const StateBatch* batch_ = nullptr;
  std::vector<double> b_, d_normalizer_;
};

}  // namespace

std::unique_ptr<OutputStep> make_device_candidates(const GpuDevice& device, const TrainOptions& options,
                                                   ModelFile& model, std::span<const uint64_t> counts) {
  return std::make_unique<DeviceCandidates>(device, options, model, counts);
}

}  // namespace selfnorm
