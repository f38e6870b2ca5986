// Minibatches whose log-normalizers are computed. The normalised fraction H of `sampled` is the head of the
// batch.
#include <algorithm>
#include <cmath>

#include "family/classifier/minibatch.h"
#include "family/classifier/minibatch_step.h"
#include "math/parallel.h"
#include "math/vector.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr double kUnnormalisedRate = 0.15;

template <class Real>
class ExactStep final : public MinibatchStep<Real> {
 public:
  ExactStep(const LoopInput& input, uint64_t batch)
      : input_(input),
        options_(input.options),
        shape_(input.shape()),
        objective_(make_objective(options_.objective)),
        maker_(input.train),
        touch_(touch_probability(input.train, batch)),
        mean_weight_(mean_weight(input.train)) {}

  LossSum gradient(std::span<const uint64_t> examples, uint64_t step, std::span<const Real> theta) override {
    batch_ = maker_.make(examples);
    drop_inputs(options_.encoder.dropout, RandomStream(options_.seed, kDropoutStream + step),
                batch_.data.features);
    const auto count = static_cast<double>(examples.size());
    const auto pass = make_exact_pass<Real>(batch_.data, input_.features, input_.classes,
                                            options_.log_carrier, &batch_.map);
    const double scale = 1 / (count * mean_weight_);
    gradient_.assign(pass->gradient_size(), Real{0});
    const LossSum sum = value_and_gradient<Real>(*pass, *objective_,
                                                 {.weight = batch_.data.weight,
                                                  .centre = this->centre(theta),
                                                  .normalised = objective_->normalised(examples.size()),
                                                  .gradient_scale = scale},
                                                 theta.first(shape_.size()), gradient_);
    d_centre_ = sum.d_centre * scale;
    return sum;
  }

  double gradient_norm() const override {
    const std::span<const Real> gradient(gradient_);
    return std::sqrt(inner_product(gradient, gradient));
  }

  // L2 is added on touched rows only, divided by the probability of being touched: its expectation is the
  // full gradient.
  void update(std::span<Real> theta, Adaptive<Real>& optimiser, double rate) override {
    const size_t width = shape_.width;
    const size_t rows = gradient_.size() / width;
    parallel_units(rows, [&](size_t r) {
      const bool bias = r >= rows - (shape_.rows - shape_.penalised_rows);
      const size_t row = bias                         ? shape_.rows - (rows - r)
                         : batch_.map.feature.empty() ? r
                                                      : batch_.map.feature[r];
      const std::span<Real> gradient = std::span<Real>(gradient_).subspan(r * width, width);
      const double often = bias || touch_.empty() ? 1 : touch_[row];
      if (!bias && options_.l2 > 0) {
        for (size_t k = 0; k < width; ++k) {
          gradient[k] += static_cast<Real>(options_.l2 / often) * theta[row * width + k];
        }
      }
      optimiser.update(theta, row * width, gradient, rate, bias ? 0 : options_.l1 / often);
    });
    if (options_.objective.learn_centre) {
      const Real d = static_cast<Real>(d_centre_);
      optimiser.update(theta, theta.size() - 1, std::span<const Real>(&d, 1), rate, 0);
    }
  }

  Subtracted subtracted(std::span<const Real> theta) const override {
    const ObjectiveOptions& o = options_.objective;
    return {o.learn_centre ? static_cast<double>(theta.back()) : o.centre.value_or(0), {}};
  }

  double rate_factor() const override { return rate_of_objective(*objective_); }
  const char* remedy() const override { return "a smaller --learning-rate or a larger --alpha"; }

 private:
  const LoopInput& input_;
  const TrainOptions& options_;
  ParameterShape shape_;
  std::unique_ptr<Objective> objective_;
  MinibatchMaker maker_;
  std::vector<double> touch_;
  double mean_weight_;
  Minibatch batch_;
  std::vector<Real> gradient_;
  double d_centre_ = 0;
};

}  // namespace

double rate_of_objective(const Objective& objective) {
  return objective.normalised_fraction() < 1 ? kUnnormalisedRate : 1;
}

template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_exact_step(const LoopInput& input, uint64_t batch) {
  return std::make_unique<ExactStep<Real>>(input, batch);
}

template std::unique_ptr<MinibatchStep<float>> make_exact_step(const LoopInput&, uint64_t);
template std::unique_ptr<MinibatchStep<double>> make_exact_step(const LoopInput&, uint64_t);

}  // namespace selfnorm
