// mcmc: the gradient of the log-likelihood with Langevin chains in the place of the model. One chain starts
// at every target and moves by the slope of s = f + log base, reflected at the walls of a bounded support:
//     loss = mean_i s(x_i, chain_i) - s(x_i, y_i),
// differentiated with respect to the parameters of f with the chains and the base as constants: contrastive
// divergence [Hinton 2002]. It is no likelihood.
#include <algorithm>

#include "family/regressor/train/regressor_slope.h"
#include "family/regressor/train/regressor_step.h"
#include "math/random.h"
#include "sampler/langevin.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRegressorCrfStream = 0xC4A2;

class ChainRegressorStep final : public RegressorStep {
 public:
  explicit ChainRegressorStep(const RegressorParts& parts) : parts_(parts), pass_(parts.tilt.make_pass()) {
    const MixtureShape& shape = parts.mixture.shape();
    if (!shape.lower.empty()) support_ = Support::box(shape.lower, shape.upper);
  }

  bool uses_normalizer() const override { return false; }

  RegressorStepTerms operator()(const RegressorStepInput& in, const RegressorStepGradient& out) override {
    move(in);
    pair(in);
    const Points y{y_.data(), row_.size(), in.y.columns};
    base_.resize(row_.size());
    base_log_prob(parts_, {in.mixture, y, row_}, base_);
    const std::span<const double> f = pass_->forward({in.context, y, row_});
    const double scale = 1 / static_cast<double>(in.y.rows);
    double loss = 0;
    derivative_.resize(row_.size());
    for (size_t i = 0; i < row_.size(); ++i) {
      derivative_[i] = i % 2 == 0 ? -scale : scale;
      loss += derivative_[i] * (f[i] + base_[i]);
    }
    d_context_.resize(in.context.size());
    pass_->backward(derivative_, out.tilt, d_context_);
    for (size_t i = 0; i < d_context_.size(); ++i) out.context[i] += d_context_[i];
    return {.loss = loss};
  }

 private:
  void move(const RegressorStepInput& in) {
    const RegressorOptions& options = parts_.options;
    chains_.assign(in.y.data, in.y.data + in.y.size());
    RegressorSlope slope(parts_, in);
    langevin({[&](const Points& y, std::span<float> dy) { slope(y, dy); }, support_, in.y.columns},
             {.steps = options.langevin_steps, .step = options.langevin_step},
             RandomStream(RandomStream(options.seed, kRegressorCrfStream).next(), in.step).next(), chains_);
  }

  // y_i, then its chain, row after row.
  void pair(const RegressorStepInput& in) {
    const size_t d = in.y.columns;
    y_.resize(2 * in.y.size());
    row_.resize(2 * in.y.rows);
    for (size_t i = 0; i < in.y.rows; ++i) {
      std::copy_n(in.y.row(i).data(), d, &y_[2 * i * d]);
      std::copy_n(&chains_[i * d], d, &y_[(2 * i + 1) * d]);
      row_[2 * i] = row_[2 * i + 1] = static_cast<uint32_t>(i);
    }
  }

  RegressorParts parts_;
  std::unique_ptr<ConditionalPass> pass_;
  Support support_ = Support::reals();
  std::vector<float> chains_, y_, d_context_;
  std::vector<uint32_t> row_;
  std::vector<double> base_, derivative_;
};

}  // namespace

std::unique_ptr<RegressorStep> make_chain_regressor_step(const RegressorParts& parts) {
  return std::make_unique<ChainRegressorStep>(parts);
}

}  // namespace selfnorm
