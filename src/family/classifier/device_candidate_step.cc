// Minibatches of a log-linear model of dense rows that never see a log-normalizer, on a GPU: parameters
// (class-major, as in candidate_cells.h) and optimiser stay there. With 1 as the last input a row of theta is
// the weights of a class, bias included. The numbers of the CPU's step, but for rounding.
#include <cmath>

#include "family/classifier/candidate_cells.h"
#include "family/classifier/device_optimiser.h"
#include "family/classifier/device_sampling.h"
#include "family/classifier/learned_normalizer.h"
#include "family/classifier/loop.h"

namespace selfnorm {
namespace {

class DeviceCandidateStep final : public MinibatchStep<float> {
 public:
  DeviceCandidateStep(const GpuDevice& device, const LoopInput& input, uint64_t batch)
      : device_(device),
        input_(input),
        options_(input.options),
        columns_(size_t{input.features} + 1),
        normalizer_(options_.objective, input.features, starting_log_z<float>(input), options_.seed),
        maker_(input.train),
        mean_weight_(mean_weight(input.train)),
        theta_(device, input.shape().size() * sizeof(float)),
        often_(device, input.classes * sizeof(float)),
        optimiser_(device, input.optimiser == "adam", input.shape().size()),
        sampling_(device, options_.objective, options_.seed, class_counts(input.train),
                  {.classes = input.classes,
                   .columns = columns_,
                   .weight = theta_.get<float>(),
                   .bias = nullptr,
                   .log_carrier = options_.log_carrier},
                  {.rows = batch, .wants_states = false}) {
    std::vector<float> often(input.classes, 1);
    if (options_.l1 > 0 || options_.l2 > 0)
      for (uint32_t k = 0; k < input.classes; ++k)
        often[k] = static_cast<float>(sampling_.noise().use_probability(k, batch));
    device.must(device.module().selfnorm_cuda_upload(device.context(), often_.get(), SELFNORM_F32,
                                                     often.data(), often.size()));
  }

  std::vector<float> own_order(std::vector<float> theta) const override {
    return transposed<float>(theta, columns_, input_.classes);
  }
  std::span<const float> feature_major(std::span<const float> theta,
                                       std::vector<float>& buffer) const override {
    buffer = transposed<float>(theta, input_.classes, columns_);
    return buffer;
  }

  LossSum gradient(std::span<const uint64_t> examples, uint64_t step, std::span<const float>) override {
    batch_ = maker_.make(examples);
    drop_inputs(options_.encoder.dropout, RandomStream(options_.seed, kDropoutStream + step),
                batch_.data.features);
    const size_t n = examples.size();
    const std::vector<double> b = normalizer_.values(batch_.data.features, &batch_.map);
    std::vector<double> factor(n);
    for (size_t i = 0; i < n; ++i) factor[i] = weight(i) / static_cast<double>(n);
    states_.clear();
    for (size_t i = 0; i < n; ++i) {
      const std::span<const float> row = batch_.data.features.dense.row(i);
      states_.insert(states_.end(), row.begin(), row.end());
      states_.push_back(1);
    }
    sampling_.run(step, {.states = states_, .target = batch_.data.target, .b = b, .factor = factor});
    d_normalizer_.resize(n);
    LossSum sum;
    for (size_t i = 0; i < n; ++i) {
      const CandidateTerms t = sampling_.terms(i);
      sum.add(sampling_.noise().view(i).size() > 0 ? t : CandidateTerms{}, weight(i) * mean_weight_, b[i]);
      d_normalizer_[i] = weight(i) * t.d_log_normalizer;
    }
    return sum;
  }

  double gradient_norm() const override { return optimiser_.gradient_norm(step()); }

  void update(std::span<float>, Adaptive<float>& optimiser, double rate) override {
    optimiser_.update(step(), rate, optimiser.state().step);
    normalizer_.update(batch_.data.features, &batch_.map, d_normalizer_, rate);
  }

  void pull(std::span<float> theta, Adaptive<float>& optimiser) override {
    if (!optimiser_.is_ahead()) return;
    device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), theta.data(), theta_.get(),
                                                        theta.size_bytes()));
    optimiser_.pull(optimiser);
  }
  void push(std::span<const float> theta, Adaptive<float>& optimiser) override {
    device_.must(device_.module().selfnorm_cuda_upload(device_.context(), theta_.get(), SELFNORM_F32,
                                                       theta.data(), theta.size()));
    optimiser_.push(optimiser);
  }

  Subtracted subtracted(std::span<const float>) const override {
    return {normalizer_.constant(), normalizer_.function()};
  }
  double centre(std::span<const float>) const override { return normalizer_.constant(); }
  double rate_factor() const override { return rate_of_candidates(options_.objective); }
  bool is_lazy() const override { return true; }
  const char* remedy() const override { return kCandidateRemedy; }
  std::string device() const override { return device_.name(); }

  std::span<float> more_parameters() override { return normalizer_.parameters(); }
  std::vector<double> numbers() const override { return normalizer_.numbers(); }
  void set_numbers(std::span<const double> numbers) override { normalizer_.set_numbers(numbers); }
  void state(CheckpointFields& fields) override { normalizer_.state(fields); }

 private:
  // Over their mean.
  double weight(size_t i) const {
    return (batch_.data.weight.empty() ? 1 : static_cast<double>(batch_.data.weight[i])) / mean_weight_;
  }
  selfnorm_adaptive_step step() const {
    selfnorm_adaptive_step s = {};
    s.rows = static_cast<int64_t>(sampling_.used());
    s.columns = static_cast<int64_t>(columns_);
    s.bias_row = -1;
    s.bias_column = static_cast<int64_t>(columns_) - 1;
    s.feature = sampling_.used_there();
    s.often = often_.get<float>();
    s.gradient = sampling_.d_used();
    s.theta = theta_.get<float>();
    s.l1 = options_.l1;
    s.l2 = options_.l2;
    return s;
  }

  const GpuDevice& device_;
  const LoopInput& input_;
  const TrainOptions& options_;
  size_t columns_;
  LearnedNormalizer<float> normalizer_;
  MinibatchMaker maker_;
  double mean_weight_;
  GpuMemory theta_, often_;
  DeviceOptimiser optimiser_;
  DeviceSampling sampling_;

  // Of the current step.
  Minibatch batch_;
  std::vector<float> states_;
  std::vector<double> d_normalizer_;
};

}  // namespace

std::unique_ptr<MinibatchStep<float>> make_device_candidate_step(const GpuDevice& device,
                                                                 const LoopInput& input, uint64_t batch) {
  return std::make_unique<DeviceCandidateStep>(device, input, batch);
}

}  // namespace selfnorm
