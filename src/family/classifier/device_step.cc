// Minibatches of a log-linear model whose parameters and optimiser stay on a GPU (gpu/module_classes.h): rows
// go up, a target's score and log Z of each come down, derivatives go up. The numbers of the CPU's exact
// step, but for rounding.
#include <cmath>

#include "base/failure.h"
#include "family/classifier/device_optimiser.h"
#include "family/classifier/loop.h"
#include "family/classifier/minibatch.h"
#include "normalizer/device_linear.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kStepWorthSending = uint64_t{1} << 26;  // products of a minibatch with the classes

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
        optimiser_(device, input.optimiser == "adam", input.shape().size()) {
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

  double gradient_norm() const override { return optimiser_.gradient_norm(optimiser_step()); }

  void update(std::span<float> theta, Adaptive<float>& optimiser, double rate) override {
    optimiser_.update(optimiser_step(), rate, optimiser.state().step);
    if (!options_.objective.learn_centre) return;
    const auto d = static_cast<float>(d_centre_);
    optimiser.update(theta, theta.size() - 1, std::span<const float>(&d, 1), rate, 0);
  }

  // The centre is the host's.
  void pull(std::span<float> theta, Adaptive<float>& optimiser) override {
    if (!optimiser_.is_ahead()) return;
    linear_.get_theta(theta);
    optimiser_.pull(optimiser);
  }
  void push(std::span<const float> theta, Adaptive<float>& optimiser) override {
    linear_.put_theta(theta);
    optimiser_.push(optimiser);
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

  selfnorm_adaptive_step optimiser_step() const {
    selfnorm_adaptive_step s = {};
    s.columns = static_cast<int64_t>(input_.classes);
    s.rows = static_cast<int64_t>(linear_.gradient_size() / input_.classes);
    s.bias_row = static_cast<int64_t>(input_.features);
    s.bias_column = -1;
    s.feature = linear_.feature();
    s.often = often_there_;
    s.gradient = linear_.gradient();
    s.theta = linear_.theta();
    s.l1 = options_.l1;
    s.l2 = options_.l2;
    return s;
  }

  const LoopInput& input_;
  const TrainOptions& options_;
  std::unique_ptr<Objective> objective_;
  MinibatchMaker maker_;
  double mean_weight_;
  DeviceLinear linear_;
  GrowingMemory often_;
  const float* often_there_ = nullptr;
  DeviceOptimiser optimiser_;
  double d_centre_ = 0;
  float unused_ = 0;
};

// What of it no device knows; empty: nothing.
std::string why_not(const LoopInput& input) {
  const ObjectiveOptions& o = input.options.objective;
  const ObjectiveEntry& entry = objective_entry(o.name);
  if (input.train.is_joint()) return "groups of alternatives";
  if (input.options.precision != "float") return "arithmetic in " + input.options.precision;
  const bool draws = entry.device_formula >= 0;
  if (entry.seam != ObjectiveSeam::log_z && !draws) return "the objective " + o.name + " without an encoder";
  if (draws && input.train.features.is_sparse)
    return "the objective " + o.name + " on sparse rows without an encoder";
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
      throw_error("a GPU cannot train this classifier: found {}; use `device cpu` or auto", why);
    return {};
  }
  const Features& x = input.train.features;
  const uint64_t entries = x.is_sparse ? x.sparse.column.size() : x.dense.values.size();
  const ObjectiveOptions& o = input.options.objective;
  const uint64_t scored = objective_entry(o.name).device_formula < 0 ? input.classes
                          : o.noise == "in-batch"                    ? batch
                                                                     : o.samples;
  const bool is_worth = input.optimiser == "lbfgs" ? is_worth_sending(x, input.classes)
                                                   : entries / x.rows() * batch * scored >= kStepWorthSending;
  return choice.is_required || is_worth ? choice.device->name() : std::string();
}

std::unique_ptr<MinibatchStep<float>> make_device_step(const LoopInput& input, uint64_t batch) {
  if (training_device(input, batch).empty()) return nullptr;
  const DeviceChoice choice = chosen_device();
  try {
    if (objective_entry(input.options.objective.name).device_formula >= 0)
      return make_device_candidate_step(*choice.device, input, batch);
    return std::make_unique<DeviceExactStep>(*choice.device, input, batch);
  } catch (const Error&) {
    if (choice.is_required) throw;
    return nullptr;  // it does not fit
  }
}

}  // namespace selfnorm
