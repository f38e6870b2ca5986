// The output layer with computed log-normalizers (exact, penalty, sampled): the scores of all classes for the
// examples that are normalised, the target's alone for the others. With p_ik = exp(s_ik - A_i),
//     d s_ik = (d loss / d A_i) p_ik + (d loss / d s_i) [k = y_i].
// Memory: examples normalised x classes.
#include <algorithm>
#include <cmath>

#include "family/classifier/network/output_step.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kClassTile = 128;  // classes of a unit of work

class EnumeratedOutput final : public CentredOutput {
 public:
  EnumeratedOutput(const TrainOptions& options, ModelFile& model)
      : CentredOutput(options, model),
        objective_(make_objective(options.objective)),
        classes_(model.classes),
        alone_(model.classes) {}

  void begin(const StateBatch& batch) override {
    batch_ = &batch;
    normalised_ = objective_->normalised(batch.target.size());
    d_score_.resize(normalised_ * classes_);
    d_target_.resize(batch.target.size());
    d_centre_.assign(batch.target.size(), 0.0);
  }

  LossSum block(Range examples, float* d_state) override {
    const size_t m = layer_.states();
    const float* state = batch_->state.dense.row(examples.begin).data();
    std::fill_n(d_state, examples.size() * m, 0.0f);
    const uint64_t whole = std::clamp<uint64_t>(normalised_, examples.begin, examples.end) - examples.begin;
    float* d = whole > 0 ? d_score_.data() + examples.begin * classes_ : nullptr;
    if (whole > 0) score(whole, state, d);
    LossSum sum;
    for (uint64_t i = examples.begin; i < examples.end; ++i) {
      const float* h = state + (i - examples.begin) * m;
      float* own = i < normalised_ ? d + (i - examples.begin) * classes_ : nullptr;
      const float factor = finish_example(i, h, own, sum);
      if (own == nullptr)
        add_scaled(factor, layer_.weight(batch_->target[i]), d_state + (i - examples.begin) * m, m);
    }
    if (whole > 0) gemm(whole, m, classes_, d, classes_, layer_.weight(0), m, 1.0f, d_state, m);
    return sum;
  }

  std::vector<ExampleArray> written() override {
    return {ExampleArray::of(d_score_,
                             [this](uint64_t i) { return std::min<uint64_t>(i, normalised_) * classes_; }),
            ExampleArray::of(d_target_), ExampleArray::of(d_centre_)};
  }

  void update(double rate) override {
    const size_t m = layer_.states();
    const float* state = batch_->state.dense.values.data();
    layer_.begin_step(rate);
    alone_.group(batch_->target.subspan(normalised_));
    const auto add_alone = [&](uint32_t p, float* gradient, float& d_bias) {
      const float d = d_target_[normalised_ + p];
      add_scaled(d, state + (normalised_ + p) * m, gradient, m);
      d_bias += d;
    };
    if (normalised_ == 0) return layer_.update_used(alone_, add_alone);
    // Of these classes: the gradient; the step.
    const auto differentiate = [&](size_t begin, size_t end, float* gradient, float* d_bias) {
      const size_t width = end - begin;
      gemm_transposed(width, m, normalised_, d_score_.data() + begin, classes_, state, m, gradient, m);
      for (size_t i = 0; i < normalised_; ++i)
        add_scaled(1, d_score_.data() + i * classes_ + begin, d_bias, width);
      for (size_t k = begin; k < end; ++k)
        for (const uint32_t p : alone_.positions_of(static_cast<uint32_t>(k)))
          add_alone(p, gradient + (k - begin) * m, d_bias[k - begin]);
    };
    const auto step = [&](size_t begin, size_t end, const float* gradient, const float* d_bias) {
      for (size_t k = begin; k < end; ++k) layer_.update(k, gradient + (k - begin) * m, d_bias[k - begin]);
    };
    if (sharing((classes_ + kClassTile - 1) / kClassTile) == nullptr) {
      parallel_ranges(classes_, kClassTile, [&](size_t begin, size_t end) {
        std::vector<float> gradient((end - begin) * m), d_bias(end - begin);
        differentiate(begin, end, gradient.data(), d_bias.data());
        step(begin, end, gradient.data(), d_bias.data());
      });
    } else {  // processes share the gradients, and all of them make every step
      gradient_.assign(classes_ * m, 0);
      d_bias_.assign(classes_, 0);
      shared_ranges(
          classes_, kClassTile,
          [&](size_t begin, size_t end) {
            differentiate(begin, end, gradient_.data() + begin * m, d_bias_.data() + begin);
          },
          owned(gradient_, m), owned(d_bias_));
      parallel_ranges(classes_, kClassTile, [&](size_t begin, size_t end) {
        step(begin, end, gradient_.data() + begin * m, d_bias_.data() + begin);
      });
    }
    centre_.update(d_centre_, rate);
  }

 private:
  void score(size_t rows, const float* state, float* out) const {
    const size_t m = layer_.states();
    for (size_t k = 0; k < classes_; ++k) out[k] = layer_.offset(k);
    for (size_t i = 1; i < rows; ++i) std::copy_n(out, classes_, out + i * classes_);
    gemm_by_rows(rows, classes_, m, state, m, layer_.weight(0), m, out, classes_);
  }

  // Adds the terms of example i; its scores, when it has them all, become derivatives. Returns the scaled
  // derivative of the target's score.
  float finish_example(uint64_t i, const float* h, float* scores, LossSum& sum) {
    const uint32_t y = batch_->target[i];
    const double w = batch_->weight.empty() ? 1 : static_cast<double>(batch_->weight[i]);
    const double factor = w * batch_->scale;
    ExampleScores x{.score = scores == nullptr ? layer_.score(y, h) : static_cast<double>(scores[y]),
                    .centre = centre(),
                    .fraction = static_cast<double>(normalised_) / static_cast<double>(batch_->target.size()),
                    .normalised = scores != nullptr};
    LogSumExp total;
    if (scores != nullptr) {
      total = exp_in_place(scores, classes_);
      x.log_z = total.value();
    }
    const LossTerms t = (*objective_)(x);
    sum.weight += w;
    sum.likelihood += w * t.likelihood;
    sum.penalty += w * t.penalty;
    sum.d_centre += w * t.d_centre;
    d_centre_[i] = factor * t.d_centre;
    d_target_[i] = static_cast<float>(factor * t.d_score);
    if (scores == nullptr) return d_target_[i];
    sum.normalised_weight += w;
    sum.nll += w * (x.log_z - x.score);
    sum.log_z += w * x.log_z;
    sum.log_z_square += w * (x.log_z - x.centre) * (x.log_z - x.centre);
    scale(static_cast<float>(factor * t.d_log_z / total.sum), scores, classes_);
    scores[y] += d_target_[i];
    return d_target_[i];
  }

  std::unique_ptr<Objective> objective_;
  size_t classes_;
  Occurrences alone_;  // targets of the examples that are not normalised

  // Of the current step.
  const StateBatch* batch_ = nullptr;
  size_t normalised_ = 0;  // so many of the first examples are
  std::vector<float> d_score_, d_target_;
  std::vector<double> d_centre_;
  std::vector<float> gradient_, d_bias_;  // of all classes, where processes share them
};

}  // namespace

std::unique_ptr<OutputStep> make_enumerated_output(const TrainOptions& options, ModelFile& model) {
  return std::make_unique<EnumeratedOutput>(options, model);
}

}  // namespace selfnorm
