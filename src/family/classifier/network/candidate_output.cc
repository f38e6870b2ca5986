// The output layer without a log-normalizer: every example is compared with its noise classes alone. Shared
// noise is a GEMM of the states with the rows of the noise classes; noise of its own is a dot product each.
//     d_ij = d loss / d s_{y_j}(h_i):   d h_i = sum_j d_ij w_j + d_i w_{y_i},   d w_j = sum_i d_ij h_i
// and rows named several times, as noise or as targets, get one step with the sum.
#include <algorithm>
#include <cmath>

#include "family/classifier/learned_normalizer.h"
#include "family/classifier/network/output_step.h"
#include "family/classifier/noise_draw.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr size_t kCandidateTile = 32;  // noise classes, or rows, of a unit of work

class CandidateOutput final : public NoiseOutput {
 public:
  CandidateOutput(const TrainOptions& options, ModelFile& model, std::span<const uint64_t> counts)
      : NoiseOutput(options, model, counts), used_(model.classes) {}

  void begin(const StateBatch& batch) override {
    batch_ = &batch;
    noise_.draw(batch.step, batch.target);
    const size_t m = layer_.states(), n = batch.target.size(), draws = noise_.classes().size();
    d_target_.resize(n);
    d_normalizer_.resize(n);
    d_noise_.resize(noise_.is_shared() ? n * draws : draws);
    b_ = normalizer_.values(batch.state, nullptr);
    target_log_q_.resize(n);
    for (size_t i = 0; i < n; ++i) target_log_q_[i] = noise_.log_prob(batch.target[i]);
    if (!noise_.is_shared()) return;
    rows_.resize(draws * m);
    offsets_.resize(draws);
    parallel_ranges(draws, kCandidateTile, [&](size_t begin, size_t end) {
      for (size_t j = begin; j < end; ++j) {
        std::copy_n(layer_.weight(noise_.classes()[j]), m, rows_.data() + j * m);
        offsets_[j] = layer_.offset(noise_.classes()[j]);
      }
    });
  }

  LossSum block(Range examples, float* d_state) override {
    const size_t m = layer_.states(), draws = noise_.classes().size();
    const float* state = batch_->state.dense.row(examples.begin).data();
    std::fill_n(d_state, examples.size() * m, 0.0f);
    float* d =
        d_noise_.data() + (noise_.is_shared() ? examples.begin * draws : noise_.view(examples.begin).begin);
    score_noise(examples, state, d);
    LossSum sum;
    std::vector<double> score, d_sample;
    for (uint64_t i = examples.begin; i < examples.end; ++i) {
      const NoiseDraw::View view = noise_.view(i);
      const float* h = state + (i - examples.begin) * m;
      float* own = d + (noise_.is_shared() ? (i - examples.begin) * draws
                                           : view.begin - noise_.view(examples.begin).begin);
      gather(view, own, score);
      d_target_[i] = 0;
      d_normalizer_[i] = 0;
      const double w = batch_->weight.empty() ? 1 : static_cast<double>(batch_->weight[i]);
      if (score.empty()) {  // in-batch and alone: the hole has a score and no derivative
        std::fill_n(own, view.end - view.begin, 0.0f);
        continue;
      }
      const uint32_t y = batch_->target[i];
      const auto t =
          example_(noise_, view, {y, layer_.score(y, h), target_log_q_[i], b_[i]}, score, d_sample);
      sum.add(t, w, b_[i]);
      const double factor = w * batch_->scale * t.limit;
      d_target_[i] = static_cast<float>(factor * t.d_score);
      d_normalizer_[i] = w * batch_->scale * t.d_log_normalizer;
      scatter(view, d_sample, factor, own);
      add_scaled(d_target_[i], layer_.weight(y), d_state + (i - examples.begin) * m, m);
    }
    return_to_states(examples, d, d_state);
    return sum;
  }

  std::vector<ExampleArray> written() override {
    const size_t draws = noise_.classes().size(), n = batch_->target.size();
    return {ExampleArray::of(d_noise_,
                             [this, draws, n](uint64_t i) {
                               if (noise_.is_shared()) return i * draws;
                               return i < n ? noise_.view(i).begin : draws;
                             }),
            ExampleArray::of(d_target_), ExampleArray::of(d_normalizer_)};
  }

  void update(double rate) override {
    layer_.begin_step(rate);
    const size_t m = layer_.states(), n = batch_->target.size(), draws = noise_.classes().size();
    const float* state = batch_->state.dense.values.data();
    list_.assign(noise_.classes().begin(), noise_.classes().end());
    list_.insert(list_.end(), batch_->target.begin(), batch_->target.end());
    used_.group(list_);
    if (noise_.is_shared()) sum_over_examples();
    const size_t own = noise_.is_shared() ? 0 : noise_.view(0).size();
    layer_.update_used(used_, [&](uint32_t p, float* gradient, float& d_bias) {
      const auto add = [&](float d, const float* row) {
        add_scaled(d, row, gradient, m);
        d_bias += d;
      };
      if (p >= draws) {
        add(d_target_[p - draws], state + (p - draws) * m);
      } else if (own > 0) {
        add(d_noise_[p], state + p / own * m);
      } else {
        add_scaled(1, rows_.data() + p * m, gradient, m);
        d_bias += offsets_[p];
      }
    });
    normalizer_.update(batch_->state, nullptr, std::span(d_normalizer_).first(n), rate);
  }

 private:
  // Scores of the draws, where their derivatives will be.
  void score_noise(Range examples, const float* state, float* out) const {
    const size_t m = layer_.states(), draws = noise_.classes().size();
    if (noise_.is_shared()) {
      for (uint64_t i = 0; i < examples.size(); ++i) std::copy_n(offsets_.data(), draws, out + i * draws);
      gemm_by_rows(examples.size(), draws, m, state, m, rows_.data(), m, out, draws);
      return;
    }
    for (uint64_t i = examples.begin; i < examples.end; ++i) {
      const NoiseDraw::View view = noise_.view(i);
      for (size_t j = view.begin; j < view.end; ++j)
        *out++ = static_cast<float>(layer_.score(noise_.classes()[j], state + (i - examples.begin) * m));
    }
  }

  static void gather(const NoiseDraw::View& view, const float* own, std::vector<double>& score) {
    score.clear();
    for (size_t j = view.begin; j < view.end; ++j)
      if (j != view.hole) score.push_back(static_cast<double>(own[j - view.begin]));
  }

  static void scatter(const NoiseDraw::View& view, std::span<const double> d_sample, double factor,
                      float* own) {
    const double* d = d_sample.data();
    for (size_t j = view.begin; j < view.end; ++j)
      own[j - view.begin] = j == view.hole ? 0.0f : static_cast<float>(factor * *d++);
  }

  void return_to_states(Range examples, const float* d, float* d_state) const {
    const size_t m = layer_.states(), draws = noise_.classes().size();
    if (noise_.is_shared()) {
      gemm(examples.size(), m, draws, d, draws, rows_.data(), m, 1.0f, d_state, m);
      return;
    }
    for (uint64_t i = examples.begin; i < examples.end; ++i) {
      const NoiseDraw::View view = noise_.view(i);
      for (size_t j = view.begin; j < view.end; ++j)
        add_scaled(*d++, layer_.weight(noise_.classes()[j]), d_state + (i - examples.begin) * m, m);
    }
  }

  // The rows of the shared draws become their gradients, the offsets those of the biases.
  void sum_over_examples() {
    const size_t m = layer_.states(), n = batch_->target.size(), draws = noise_.classes().size();
    const auto sum_tile = [&](size_t begin, size_t end) {
      const size_t width = end - begin;
      std::fill_n(rows_.data() + begin * m, width * m, 0.0f);
      gemm_transposed(width, m, n, d_noise_.data() + begin, draws, batch_->state.dense.values.data(), m,
                      rows_.data() + begin * m, m);
      std::fill_n(offsets_.data() + begin, width, 0.0f);
      for (size_t i = 0; i < n; ++i)
        add_scaled(1, d_noise_.data() + i * draws + begin, offsets_.data() + begin, width);
    };
    shared_ranges(draws, kCandidateTile, sum_tile, owned(rows_, m), owned(offsets_));
  }

  Occurrences used_;

  // Of the current step.
  const StateBatch* batch_ = nullptr;
  std::vector<float> rows_, offsets_;  // of shared draws: weights and offsets, then gradients of both
  std::vector<float> d_noise_;         // scores, then derivatives: examples x draws, or draw by draw
  std::vector<float> d_target_;
  std::vector<double> d_normalizer_, b_, target_log_q_;
  std::vector<uint32_t> list_;
};

}  // namespace

std::unique_ptr<OutputStep> make_candidate_output(const TrainOptions& options, ModelFile& model,
                                                  std::span<const uint64_t> counts) {
  return std::make_unique<CandidateOutput>(options, model, counts);
}

}  // namespace selfnorm
