// The output layer on a GPU (gpu/module.h): weights, biases and their AdaGrad stay there; states go up and
// their derivatives come down at each step. The same numbers as EnumeratedOutput, but for rounding;
// objectives whose loss is A - s + alpha (A - c)^2.
#include <cmath>

#include "base/failure.h"
#include "family/classifier/network/output_step.h"
#include "gpu/device.h"
#include "math/parallel.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kOutputWorthSending = uint64_t{1} << 20;  // weights
constexpr uint64_t kDrawsWorthSending = uint64_t{1} << 26;   // products of a minibatch
constexpr uint64_t kOutputSheetBytes = uint64_t{1} << 30;

class DeviceOutput final : public OutputStep {
 public:
  DeviceOutput(const GpuDevice& device, const TrainOptions& options, ModelFile& model)
      : device_(device),
        objective_(make_objective(options.objective)),
        alpha_(objective_entry(options.objective.name).is_penalised ? options.objective.alpha : 0),
        decay_(options.l2),
        model_(model),
        classes_(model.classes),
        columns_(model.features),
        rows_(options.batch),
        centre_(options),
        weight_square_(classes_, static_cast<float>(TrainedRows::kInitialSquare)),
        bias_square_(weight_square_),
        weight_(device, model.weight.size() * sizeof(float)),
        bias_(device, classes_ * sizeof(float)),
        weight_square_there_(device, classes_ * sizeof(float)),
        bias_square_there_(device, classes_ * sizeof(float)),
        carrier_(device, std::max<size_t>(1, model.log_carrier.size()) * sizeof(float)),
        states_(device, rows_ * columns_ * sizeof(float)),
        target_(device, rows_ * sizeof(int64_t)),
        factor_(device, rows_ * sizeof(float)),
        log_z_(device, rows_ * sizeof(float)),
        score_(device, rows_ * sizeof(float)),
        d_states_(device, rows_ * columns_ * sizeof(float)),
        d_weight_(device, model.weight.size() * sizeof(float)),
        d_bias_(device, classes_ * sizeof(float)),
        workspace_size_(device.module().selfnorm_head_workspace(&(step_ = planned()), kOutputSheetBytes)),
        workspace_(device, workspace_size_) {
    upload(carrier_, model.log_carrier);
    push();
    note_use(device);
  }

  void begin(const StateBatch& batch) override {
    batch_ = &batch;
    const size_t n = batch.target.size();
    SELFNORM_CHECK(n <= rows_);
    std::vector<int64_t> target(batch.target.begin(), batch.target.end());
    std::vector<float> factor(n);
    for (size_t i = 0; i < n; ++i)
      factor[i] = static_cast<float>(batch.scale *
                                     (batch.weight.empty() ? 1.0 : static_cast<double>(batch.weight[i])));
    const GpuModule& module = device_.module();
    device_.must(module.selfnorm_cuda_upload(device_.context(), states_.get(), SELFNORM_F32,
                                             batch.state.dense.values.data(), n * columns_));
    device_.must(
        module.selfnorm_cuda_to_device(device_.context(), target_.get(), target.data(), n * sizeof(int64_t)));
    device_.must(
        module.selfnorm_cuda_to_device(device_.context(), factor_.get(), factor.data(), n * sizeof(float)));
    step_ = planned();
    step_.rows = static_cast<int64_t>(n);
    step_.options.center = static_cast<float>(centre());
    step_.workspace = workspace_.get();
    step_.workspace_bytes = workspace_size_;
    device_.must(module.selfnorm_head_run(device_.context(), &step_));
    host_log_z_.resize(n);
    host_score_.resize(n);
    host_d_states_.resize(n * columns_);
    download(host_log_z_, log_z_);
    download(host_score_, score_);
    download(host_d_states_, d_states_);
    d_centre_.assign(n, 0.0);
  }

  LossSum block(Range examples, float* d_state) override {
    std::copy_n(host_d_states_.begin() + static_cast<ptrdiff_t>(examples.begin * columns_),
                examples.size() * columns_, d_state);
    LossSum sum;
    for (uint64_t i = examples.begin; i < examples.end; ++i) {
      const double w = batch_->weight.empty() ? 1 : static_cast<double>(batch_->weight[i]);
      const ExampleScores x{.score = static_cast<double>(host_score_[i]),
                            .log_z = static_cast<double>(host_log_z_[i]),
                            .centre = centre(),
                            .fraction = 1,
                            .normalised = true};
      const LossTerms t = (*objective_)(x);
      sum.weight += w;
      sum.likelihood += w * t.likelihood;
      sum.penalty += w * t.penalty;
      sum.d_centre += w * t.d_centre;
      d_centre_[i] = w * batch_->scale * t.d_centre;
      sum.normalised_weight += w;
      sum.nll += w * (x.log_z - x.score);
      sum.log_z += w * x.log_z;
      sum.log_z_square += w * (x.log_z - x.centre) * (x.log_z - x.centre);
    }
    return sum;
  }

  std::vector<ExampleArray> written() override { return {}; }  // of one process: jobs of several have no GPU

  void update(double rate) override {
    const auto move = [&](const GpuMemory& x, const GpuMemory& square, const GpuMemory& gradient,
                          size_t columns, double keep) {
      device_.must(device_.module().selfnorm_row_adagrad(
          device_.context(), x.get<float>(), square.get<float>(), gradient.get<float>(),
          static_cast<int64_t>(classes_), static_cast<int64_t>(columns), rate, keep, nullptr));
    };
    move(weight_, weight_square_there_, d_weight_, columns_, 1 - std::min(0.5, rate * decay_));
    move(bias_, bias_square_there_, d_bias_, 1, 1);
    centre_.update(d_centre_, rate);
  }

  double centre() const override { return centre_.value(); }
  std::string device() const override { return device_.name(); }

  void finish(ModelFile& model) override {
    SELFNORM_CHECK(&model == &model_);
    download(model_.weight, weight_);
    download(model_.bias, bias_);
    model_.log_normalizer = centre();
  }

  void state(CheckpointFields& fields) override {
    if (!fields.reads()) {
      finish(model_);
      download(weight_square_, weight_square_there_);
      download(bias_square_, bias_square_there_);
    }
    fields("weight", model_.weight);
    fields("weight.square", weight_square_);
    fields("bias", model_.bias);
    fields("bias.square", bias_square_);
    centre_.state(fields);
    if (fields.reads()) push();
  }

 private:
  selfnorm_head_step planned() const {
    selfnorm_head_step s = {};
    s.size = sizeof(s);
    s.rows = static_cast<int64_t>(rows_);
    s.dim = s.state_stride = s.weight_stride = static_cast<int64_t>(columns_);
    s.classes = static_cast<int64_t>(classes_);
    s.type = s.sheet_type = s.d_states_type = s.d_weight_type = SELFNORM_F32;
    s.states = states_.get();
    s.weight = weight_.get();
    s.bias = bias_.get<float>();
    s.carrier = model_.log_carrier.empty() ? nullptr : carrier_.get<float>();
    s.options.logit_scale = 1;
    s.options.penalty = static_cast<float>(alpha_);
    s.options.ignore_index = -1;
    s.target = target_.get<int64_t>();
    s.row_gradient = factor_.get<float>();
    s.log_z = log_z_.get<float>();
    s.target_score = score_.get<float>();
    s.d_states = d_states_.get();
    s.d_weight = d_weight_.get();
    s.d_bias = d_bias_.get<float>();
    return s;
  }

  void upload(const GpuMemory& to, const std::vector<float>& values) const {
    device_.must(device_.module().selfnorm_cuda_upload(device_.context(), to.get(), SELFNORM_F32,
                                                       values.data(), values.size()));
  }
  void download(std::vector<float>& to, const GpuMemory& from) const {
    device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), to.data(), from.get(),
                                                        to.size() * sizeof(float)));
  }
  void push() const {
    upload(weight_, model_.weight);
    upload(bias_, model_.bias);
    upload(weight_square_there_, weight_square_);
    upload(bias_square_there_, bias_square_);
  }

  const GpuDevice& device_;
  std::unique_ptr<Objective> objective_;
  double alpha_, decay_;
  ModelFile& model_;
  size_t classes_, columns_, rows_;
  LearnedCentre centre_;
  std::vector<float> weight_square_, bias_square_;  // as of the last download
  GpuMemory weight_, bias_, weight_square_there_, bias_square_there_, carrier_;
  GpuMemory states_, target_, factor_, log_z_, score_, d_states_, d_weight_, d_bias_;
  selfnorm_head_step step_ = {};
  uint64_t workspace_size_;
  GpuMemory workspace_;

  // Of the current step.
  const StateBatch* batch_ = nullptr;
  std::vector<float> host_log_z_, host_score_, host_d_states_;
  std::vector<double> d_centre_;
};

}  // namespace

std::unique_ptr<OutputStep> make_device_output(const TrainOptions& options, ModelFile& model,
                                               std::span<const uint64_t> counts) {
  const DeviceChoice choice = chosen_device();
  if (choice.device == nullptr) return nullptr;
  const ObjectiveEntry& objective = objective_entry(options.objective.name);
  const bool draws = objective.device_formula >= 0;
  if (!objective.is_head_loss && !draws) {
    if (choice.is_required)
      throw_error(
          "a GPU cannot train with the objective {}: expected exact, penalty, nce, ranking-nce, is or snl; "
          "use "
          "`device cpu` or auto",
          options.objective.name);
    return nullptr;
  }
  if (!choice.is_required) {
    const uint64_t each = options.objective.noise == "in-batch" ? options.batch : options.objective.samples;
    const bool is_worth = draws ? options.batch * each * model.features >= kDrawsWorthSending
                                : model.weight.size() >= kOutputWorthSending;
    if (!is_worth) return nullptr;
  }
  try {
    if (draws) return make_device_candidates(*choice.device, options, model, counts);
    return std::make_unique<DeviceOutput>(*choice.device, options, model);
  } catch (const Error&) {
    if (choice.is_required) throw;
    return nullptr;  // it does not fit
  }
}

}  // namespace selfnorm
