// The output layer without a log-normalizer on a GPU (gpu/module_classes.h): weights, biases and their
// AdaGrad stay there; draws, their lists and the states go up in each step, derivatives of the states come
// down. The draws are those of CandidateOutput, and the numbers, but for rounding.
#include <bit>
#include <cmath>

#include "family/classifier/learned_normalizer.h"
#include "family/classifier/network/output_step.h"
#include "family/classifier/noise_draw.h"
#include "gpu/device.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Words of 4 bytes that go up at once: lists of classes and of numbers, one behind the other.
class WordBlock {
 public:
  void clear() { words_.clear(); }
  template <class Values>
  size_t add(const Values& values) {  // where they begin
    const size_t at = words_.size();
    for (const auto v : values) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, uint32_t>)
        words_.push_back(v);
      else
        words_.push_back(std::bit_cast<uint32_t>(static_cast<float>(v)));
    }
    return at;
  }
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  std::vector<uint32_t> words_;
};

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
        entry_(objective_entry(options.objective.name)),
        model_(model),
        columns_(model.features),
        rows_(options.batch),
        noise_(options.objective, options.seed, counts),
        in_batch_(options.objective.noise == "in-batch"),
        draws_(in_batch_ ? rows_ : options.objective.samples),
        all_draws_(noise_.is_shared() ? draws_ : draws_ * rows_),
        normalizer_(options.objective, model.features, 0, options.seed),
        used_(model.classes),
        weight_(device, model.weight, columns_, options.l2),
        bias_(device, model.bias, 1, 0),
        carrier_(device, std::max<size_t>(1, model.log_carrier.size()) * sizeof(float)),
        words_there_(device, most_words() * sizeof(uint32_t)),
        states_(device, rows_ * columns_ * sizeof(float)),
        found_(device, rows_ * (kTerms + columns_) * sizeof(float)),
        gradient_(device, most_used() * (columns_ + 1) * sizeof(float)),
        workspace_size_(device.module().selfnorm_sampled_workspace(&(step_ = planned(rows_)))),
        workspace_(device, workspace_size_) {
    device.must(device.module().selfnorm_cuda_upload(device.context(), carrier_.get(), SELFNORM_F32,
                                                     model.log_carrier.data(), model.log_carrier.size()));
    note_use(device);
  }

  void begin(const StateBatch& batch) override {
    batch_ = &batch;
    const size_t n = batch.target.size();
    SELFNORM_CHECK(n <= rows_);
    noise_.draw(batch.step, batch.target);
    b_ = normalizer_.values(batch.state, nullptr);
    d_normalizer_.assign(n, 0.0);
    list_.assign(noise_.classes().begin(), noise_.classes().end());
    list_.insert(list_.end(), batch.target.begin(), batch.target.end());
    used_.group(list_);
    send(n);
    const GpuModule& module = device_.module();
    device_.must(module.selfnorm_cuda_upload(device_.context(), states_.get(), SELFNORM_F32,
                                             batch.state.dense.values.data(), n * columns_));
    device_.must(module.selfnorm_sampled_run(device_.context(), &step_));
    host_found_.resize(n * (kTerms + columns_));
    device_.must(module.selfnorm_cuda_to_host(device_.context(), host_found_.data(), found_.get(),
                                              host_found_.size() * sizeof(float)));
  }

  LossSum block(Range examples, float* d_state) override {
    const size_t n = batch_->target.size();
    std::copy_n(host_found_.data() + n * kTerms + examples.begin * columns_, examples.size() * columns_,
                d_state);
    LossSum sum;
    for (uint64_t i = examples.begin; i < examples.end; ++i) {
      if (noise_.view(i).size() == 0) continue;
      const float* const found = host_found_.data() + i * kTerms;
      const double w = weight_of(i);
      CandidateTerms t{.likelihood = found[0], .d_log_normalizer = found[1]};
      if (entry_.uses_estimate) t.estimate = ImportanceEstimate{.log_z = found[2], .effective = found[3]};
      sum.add(t, w, b_[i]);
      d_normalizer_[i] = w * batch_->scale * t.d_log_normalizer;
    }
    return sum;
  }

  void update(double rate) override {
    weight_.update(step_.used, used_.size(), step_.d_used, rate);
    bias_.update(step_.used, used_.size(), step_.d_used_bias, rate);
    normalizer_.update(batch_->state, nullptr, d_normalizer_, rate);
  }

  double centre() const override { return normalizer_.constant(); }
  std::string device() const override { return device_.name(); }
  double rate_factor() const override { return entry_.uses_estimate ? kOutputEstimateRate : 1; }
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
  static constexpr size_t kTerms = 4;  // of a row: selfnorm_sampled_step

  size_t most_used() const { return std::min<size_t>(all_draws_ + rows_, model_.classes); }
  size_t most_words() const { return 4 * rows_ + 2 * all_draws_ + 2 * most_used() + all_draws_ + rows_; }
  double weight_of(uint64_t i) const {
    return batch_->weight.empty() ? 1 : static_cast<double>(batch_->weight[i]);
  }

  selfnorm_sampled_step planned(size_t rows) const {
    selfnorm_sampled_step s = {};
    s.size = sizeof(s);
    s.rows = static_cast<int64_t>(rows);
    s.dim = s.state_stride = s.weight_stride = static_cast<int64_t>(columns_);
    s.classes = static_cast<int64_t>(model_.classes);
    s.type = SELFNORM_F32;
    s.objective = entry_.device_formula;
    s.draws = static_cast<int64_t>(in_batch_ ? rows : draws_);
    s.is_shared = noise_.is_shared() ? 1 : 0;
    s.leaves_own = in_batch_ ? 1 : 0;
    s.most_push = entry_.uses_estimate ? static_cast<float>(kLargestPush) : 0;
    s.states = states_.get();
    s.weight = weight_.there();
    s.bias = bias_.there();
    s.carrier = model_.log_carrier.empty() ? nullptr : carrier_.get<float>();
    return s;
  }

  void send(size_t n) {
    std::vector<double> target_log_q(n), factor(n);
    for (size_t i = 0; i < n; ++i) {
      target_log_q[i] = noise_.log_prob(batch_->target[i]);
      factor[i] = batch_->scale * weight_of(i);
    }
    words_.clear();
    const size_t target = words_.add(batch_->target), draw = words_.add(noise_.classes()),
                 used = words_.add(used_.rows()), used_end = words_.add(used_.ends()),
                 used_place = words_.add(used_.places()), log_q = words_.add(target_log_q),
                 draw_log_q = words_.add(noise_.log_q()), b = words_.add(b_), by = words_.add(factor);
    SELFNORM_CHECK(words_.words().size() <= most_words());
    device_.must(device_.module().selfnorm_cuda_to_device(device_.context(), words_there_.get(),
                                                          words_.words().data(),
                                                          words_.words().size() * sizeof(uint32_t)));
    const auto* const words = words_there_.get<uint32_t>();
    const auto numbers = [&](size_t at) { return words_there_.get<float>() + at; };
    step_ = planned(n);
    step_.target = words + target, step_.draw = words + draw;
    step_.target_log_q = numbers(log_q), step_.draw_log_q = numbers(draw_log_q);
    step_.normalizer = numbers(b), step_.factor = numbers(by);
    step_.used_count = static_cast<int64_t>(used_.size());
    step_.used = words + used, step_.used_end = words + used_end, step_.used_place = words + used_place;
    step_.terms = found_.get<float>();
    step_.d_states = step_.terms + n * kTerms;
    step_.d_used = gradient_.get<float>();
    step_.d_used_bias = step_.d_used + used_.size() * columns_;
    step_.workspace = workspace_.get();
    step_.workspace_bytes = workspace_size_;
  }

  const GpuDevice& device_;
  const ObjectiveEntry& entry_;
  ModelFile& model_;
  size_t columns_, rows_;
  NoiseDraw noise_;
  bool in_batch_;
  size_t draws_, all_draws_;  // of a row; of the whole minibatch
  LearnedNormalizer<float> normalizer_;
  Occurrences used_;
  DeviceRows weight_, bias_;
  GpuMemory carrier_, words_there_, states_, found_, gradient_;  // found: terms, then derivatives of states
  selfnorm_sampled_step step_ = {};
  uint64_t workspace_size_;
  GpuMemory workspace_;

  // Of the current step.
  const StateBatch* batch_ = nullptr;
  std::vector<uint32_t> list_;
  std::vector<double> b_, d_normalizer_;
  WordBlock words_;
  std::vector<float> host_found_;
};

}  // namespace

std::unique_ptr<OutputStep> make_device_candidates(const GpuDevice& device, const TrainOptions& options,
                                                   ModelFile& model, std::span<const uint64_t> counts) {
  return std::make_unique<DeviceCandidates>(device, options, model, counts);
}

}  // namespace selfnorm
