// Every target against its own draws of the proposal, y_ij ~ q_defence(.|x_i), with s = f + log base:
//     w_ij = exp(s_ij - log q_defence(y_ij|x_i)).
// The base is a part of the model, so the objective's derivative with respect to s goes to the mixture too. A
// proposal that is learned by KL follows the gradient of log q_defence on the draws weighted by their shares,
// minus the gradient of KL(p||q), estimated.
#include <algorithm>
#include <cmath>

#include "family/regressor/train/regressor_step.h"
#include "math/parallel.h"
#include "math/random.h"
#include "objective/registry.h"
#include "proposal/density/gaussian_terms.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRegressorSampleStream = 0x5A3B, kJitterStream = 0x71E7;
constexpr size_t kUnitRows = 64;

class CandidateRegressorStep final : public RegressorStep {
 public:
  explicit CandidateRegressorStep(const RegressorParts& parts)
      : parts_(parts),
        objective_(make_candidate_objective(parts.options.objective)),
        is_jittered_(objective_entry(parts.options.objective).jitters_target),
        has_base_(parts.options.base == "proposal"),
        learns_by_kl_(parts.options.learn_proposal != "data"),
        pass_(parts.tilt.make_pass()) {}

  bool uses_normalizer() const override { return objective_entry(parts_.options.objective).uses_normalizer; }

  RegressorStepTerms operator()(const RegressorStepInput& in, const RegressorStepGradient& out) override {
    draw(in);
    const MixturePoints mixture{in.mixture, points(in), row_};
    log_q_.resize(row_.size());
    log_g_.resize(row_.size());
    parts_.mixture.log_prob(mixture, log_q_, log_g_);
    const std::span<const double> f = pass_->forward({in.context, points(in), row_});
    compare(in, f, out.b);
    d_context_.resize(in.context.size());
    pass_->backward(d_score_, out.tilt, d_context_);
    for (size_t i = 0; i < d_context_.size(); ++i) out.context[i] += d_context_[i];
    if (has_base_) parts_.mixture.add_gradient(mixture, parts_.options.tail_weight, d_score_, out.mixture);
    if (learns_by_kl_) parts_.mixture.add_gradient(mixture, parts_.options.defence, share_, out.mixture);
    return sum(in.weight);
  }

 private:
  uint64_t each() const { return parts_.options.samples + 1; }
  Points points(const RegressorStepInput& in) const { return {y_.data(), row_.size(), in.y.columns}; }

  // y_i, then its draws, row after row.
  void draw(const RegressorStepInput& in) {
    const uint64_t n = in.y.rows, k = parts_.options.samples, d = in.y.columns;
    const uint64_t seed = parts_.options.seed;
    drawn_.resize(n * k * d);
    parts_.mixture.sample(in.mixture, k, parts_.options.defence, candidate_sample_seed(seed, in.step),
                          drawn_);
    y_.resize(n * each() * d);
    row_.resize(n * each());
    if (is_jittered_) {
      jitter_.resize(n * d);
      RandomStream random(RandomStream(seed, kJitterStream).next(), in.step);
      fill_normals(random, jitter_);
    }
    for (uint64_t i = 0; i < n; ++i) {
      float* own = y_.data() + i * each() * d;
      std::copy_n(in.y.row(i).data(), d, own);
      for (uint32_t j = 0; is_jittered_ && j < d; ++j)
        own[j] = reflected(parts_.mixture,
                           static_cast<double>(own[j]) + parts_.options.noise * jitter_[i * d + j], j);
      std::copy_n(drawn_.data() + i * k * d, k * d, own + d);
      std::fill_n(row_.data() + i * each(), each(), static_cast<uint32_t>(i));
    }
  }

  // The objective of every row, and its derivatives over n.
  void compare(const RegressorStepInput& in, std::span<const double> f, std::span<double> d_b) {
    const uint64_t n = in.y.rows;
    const double share = 1 / static_cast<double>(n);
    score_.resize(row_.size());
    d_score_.resize(row_.size());
    terms_.resize(n);
    share_.assign(learns_by_kl_ ? row_.size() : 0, 0);
    parallel_ranges(n, kUnitRows, [&](size_t begin, size_t end) {
      const size_t first = begin * each(), points = (end - begin) * each();
      const auto part = [&](auto& v) { return std::span(v).subspan(first, points); };
      std::ranges::copy(part(has_base_ ? log_q_ : log_g_), part(score_).begin());
      if (has_base_) broaden(part(score_), part(log_g_), parts_.options.tail_weight);
      for (size_t i = first; i < first + points; ++i) score_[i] += f[i];
      broaden(part(log_q_), part(log_g_), parts_.options.defence);
      for (size_t i = begin; i < end; ++i) {
        const auto own = [&](std::vector<double>& v) { return std::span(v).subspan(i * each(), each()); };
        CandidateTerms& terms = terms_[i];
        terms = (*objective_)({.score = own(score_)[0],
                               .log_q = own(log_q_)[0],
                               .sample_score = own(score_).subspan(1),
                               .sample_log_q = own(log_q_).subspan(1),
                               .log_normalizer = in.b[i]},
                              own(d_score_).subspan(1));
        const double scale = in.weight.empty() ? share : share * in.weight[i];
        own(d_score_)[0] = terms.d_score;
        for (double& d : own(d_score_)) d *= scale;
        d_b[i] += scale * terms.d_log_normalizer;
        if (!learns_by_kl_) continue;
        importance_weights(own(score_).subspan(1), own(log_q_).subspan(1), {}, own(share_).subspan(1));
        for (double& w : own(share_)) w *= -scale;
      }
    });
    for (size_t i = 0; i < n; ++i)
      if (terms_[i].estimate) terms_[i].estimate->log_z -= in.b[i];
  }

  RegressorStepTerms sum(std::span<const double> weight) const {
    RegressorStepTerms out;
    const double scale = 1 / static_cast<double>(terms_.size());
    for (size_t i = 0; i < terms_.size(); ++i) {
      const CandidateTerms& terms = terms_[i];
      out.loss += scale * (weight.empty() ? 1 : weight[i]) * terms.likelihood;
      if (!terms.estimate) continue;
      out.has_estimate = true;
      out.log_ratio += scale * terms.estimate->log_z;
      out.effective_samples += scale * terms.estimate->effective;
    }
    return out;
  }

  RegressorParts parts_;
  std::unique_ptr<CandidateObjective> objective_;
  bool is_jittered_, has_base_, learns_by_kl_;
  std::unique_ptr<ConditionalPass> pass_;
  std::vector<float> drawn_, y_, d_context_;
  std::vector<uint32_t> row_;
  std::vector<double> jitter_, log_q_, log_g_, score_, share_;
  std::vector<double> d_score_;        // of the objective with respect to f, and to log q
  std::vector<CandidateTerms> terms_;  // log_z less b: log r
};

}  // namespace

uint64_t candidate_sample_seed(uint64_t seed, uint64_t step) {
  return RandomStream(RandomStream(seed, kRegressorSampleStream).next(), step).next();
}

std::unique_ptr<RegressorStep> make_candidate_regressor_step(const RegressorParts& parts) {
  return std::make_unique<CandidateRegressorStep>(parts);
}

}  // namespace selfnorm
