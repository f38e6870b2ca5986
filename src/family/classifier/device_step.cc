// Minibatches of a log-linear model whose parameters and optimiser stay on a GPU (gpu/module_classes.h): rows
// go up, a target's score and log Z of each come down, derivatives go up. The numbers of the CPU's exact
// step, but for rounding.
#include <cmath>

#include "base/failure.h"
#include "family/classifier/loop.h"
#include "family/classifier/minibatch.h"
#include "normalizer/device_linear.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kStepWorthSending = uint64_t{1} << 26;  // products of a minibatch with the classes
constexpr size_t kNormNumbers = 257;                       // selfnorm_adaptive_step

class DeviceExactStep final : public MinibatchStep<float> {
 public:
  DeviceExactStep(const GpuDevice& device, const LoopInput& input, uint64_t batch)
      : input_(input),
        options_(input.options),
        objective_(make_objective(options_.objective)),
        maker_(input.train),
        mean_weight_(mean_weight(input.train)),
        linear_(device, input.classes, input.features, options_.log_carrier),
        often_(device),
        norm_(device, kNormNumbers * sizeof(double)),
        square_(device, input.shape().size() * sizeof(float)),
        mean_(device, (input.optimiser == "adam" ? input.shape().size() : 1) * sizeof(float)) {
    const std::vector<double> often = touch_probability(input.train, batch);
    if (!often.empty()) often_there_ = often_.put(std::vector<float>(often.begin(), often.end()));
    note_use(device);
  }

  LossSum gradient(std::span<const uint64_t> examples, uint64_t step, std::span<const float> theta) override {
    Minibatch batch = maker_.make(examples);
    drop_inputs(options_.encoder.dropout, RandomStream(options_.seed, kDropoutStream + step),
                batch.data.features);
    linear_.load(batch.data.features, batch.data.target, &batch.map);
    const double scale = 1 / (static_cast<double>(examples.size()) * mean_weight_);
    const RowsThere pass{linear_};
    const LossSum sum = value_and_gradient<float>(
        pass, *objective_,
        {.weight = batch.data.weight, .centre = this->centre(theta), .gradient_scale = scale}, {},
        std::span<float>(&unused_, 1));
    d_centre_ = sum.d_centre * scale;
    return sum;
  }

  double gradient_norm() const override {
    selfnorm_adaptive_step alone = optimiser_step();
    alone.norm = norm_.get<double>();
    alone.theta = nullptr;
    gpu().must(gpu().module().selfnorm_adaptive_run(gpu().context(), &alone));
    double square = 0;
    gpu().must(gpu().module().selfnorm_cuda_to_host(gpu().context(), &square, norm_.get(), sizeof(square)));
    return std::sqrt(square);
  }

  void update(std::span<float> theta, Adaptive<float>& optimiser, double rate) override {
    selfnorm_adaptive_step step = optimiser_step();
    step.rate = rate;
    step.step = static_cast<int64_t>(optimiser.state().step);
    gpu().must(gpu().module().selfnorm_adaptive_run(gpu().context(), &step));
    is_ahead_ = true;
    if (!options_.objective.learn_centre) return;
    const auto d = static_cast<float>(d_centre_);
    optimiser.update(theta, theta.size() - 1, std::span<const float>(&d, 1), rate, 0);
  }

  // The centre is the host's.
  void pull(std::span<float> theta, Adaptive<float>& optimiser) override {
    if (!is_ahead_) return;
    linear_.get_theta(theta);
    copy(optimiser.state().square, square_);
    if (is_adam()) copy(optimiser.state().mean, mean_);
    is_ahead_ = false;
  }
  void push(std::span<const float> theta, Adaptive<float>& optimiser) override {
    linear_.put_theta(theta);
    send(square_, optimiser.state().square);
    if (is_adam()) send(mean_, optimiser.state().mean);
    is_ahead_ = false;
  }

  Subtracted subtracted(std::span<const float> theta) const override {
    return constant_of(options_.objective, theta);
  }
  double rate_factor() const override { return rate_of_objective(*objective_); }
  const char* remedy() const override { return kExactRemedy; }
  std::string device() const override { return linear_.device().name(); }
  bool is_lazy() const override { return true; }

 private:
  // Rows on the device as a pass that leaves its gradient there.
  class RowsThere final : public ExactPass<float> {
   public:
    explicit RowsThere(DeviceLinear& linear) : linear_(linear) {}
    uint64_t examples() const override { return linear_.rows(); }
    size_t parameters() const override { return linear_.gradient_size(); }
    size_t gradient_size() const override { return linear_.gradient_size(); }
    void run(std::span<const float>, uint64_t, const Visit& visit, std::span<float>) const override {
      linear_.run(visit, true);
    }
    void summarise(std::span<const float>,
                   const std::function<void(uint64_t, const OutputSummary&)>& sink) const override {
      linear_.summarise(sink);
    }

   private:
    DeviceLinear& linear_;
  };

  const GpuDevice& gpu() const { return linear_.device(); }
  bool is_adam() const { return input_.optimiser == "adam"; }

  selfnorm_adaptive_step optimiser_step() const {
    selfnorm_adaptive_step s = {};
    s.size = sizeof(s);
    s.is_adam = is_adam() ? 1 : 0;
    s.columns = static_cast<int64_t>(input_.classes);
    s.rows = static_cast<int64_t>(linear_.gradient_size() / input_.classes);
    s.bias_row = static_cast<int64_t>(input_.features);
    s.feature = linear_.feature();
    s.often = often_there_;
    s.gradient = linear_.gradient();
    s.theta = linear_.theta();
    s.square = square_.get<float>();
    s.mean = mean_.get<float>();
    s.l1 = options_.l1;
    s.l2 = options_.l2;
    return s;
  }
  void copy(std::vector<float>& to, const GpuMemory& from) const {
    gpu().must(gpu().module().selfnorm_cuda_to_host(gpu().context(), to.data(), from.get(),
                                                    input_.shape().size() * sizeof(float)));
  }
  void send(const GpuMemory& to, const std::vector<float>& from) const {
    gpu().must(gpu().module().selfnorm_cuda_upload(gpu().context(), to.get(), SELFNORM_F32, from.data(),
                                                   input_.shape().size()));
  }

  const LoopInput& input_;
  const TrainOptions& options_;
  std::unique_ptr<Objective> objective_;
  MinibatchMaker maker_;
  double mean_weight_;
  DeviceLinear linear_;
  GrowingMemory often_;
  const float* often_there_ = nullptr;
  GpuMemory norm_, square_, mean_;
  bool is_ahead_ = false;  // of the host's parameters
  double d_centre_ = 0;
  float unused_ = 0;
};

// What of it no device knows; empty: nothing.
std::string why_not(const LoopInput& input) {
  const ObjectiveOptions& o = input.options.objective;
  const ObjectiveEntry& entry = objective_entry(o.name);
  if (input.train.is_joint()) return "groups of alternatives";
  if (input.options.precision != "float") return "arithmetic in " + input.options.precision;
  if (entry.seam != ObjectiveSeam::log_z) return "the objective " + o.name + " without an encoder";
  if (entry.is_subsampled && o.gamma < 1) return fmt::format("gamma {:g}, expected 1", o.gamma);
  return {};
}

}  // namespace

std::string training_device(const LoopInput& input, uint64_t batch) {
  const DeviceChoice choice = chosen_device();
  if (choice.device == nullptr) return {};
  const std::string why = why_not(input);
  if (!why.empty()) {
    if (choice.is_required)
      throw_error("a GPU cannot train this classifier: found {}; use --device cpu or auto", why);
    return {};
  }
  const Features& x = input.train.features;
  const uint64_t entries = x.is_sparse ? x.sparse.column.size() : x.dense.values.size();
  const bool is_worth = input.optimiser == "lbfgs"
                            ? is_worth_sending(x, input.classes)
                            : entries / x.rows() * batch * input.classes >= kStepWorthSending;
  return choice.is_required || is_worth ? choice.device->name() : std::string();
}

std::unique_ptr<MinibatchStep<float>> make_device_step(const LoopInput& input, uint64_t batch) {
  if (training_device(input, batch).empty()) return nullptr;
  const DeviceChoice choice = chosen_device();
  try {
    return std::make_unique<DeviceExactStep>(*choice.device, input, batch);
  } catch (const Error&) {
    if (choice.is_required) throw;
    return nullptr;  // it does not fit
  }
}

}  // namespace selfnorm
