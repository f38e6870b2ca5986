#include "family/regressor/train/regressor_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/failure.h"
#include "math/parallel.h"
#include "math/random.h"
#include "model/regressor/regressor.h"
#include "objective/registry.h"
#include "objective/score_matching.h"
#include "proposal/density/gaussian_terms.h"
#include "sampler/hmc.h"
#include "sampler/langevin.h"

namespace selfnorm {
namespace {

// Every target against its own draws of the proposal, y_ij ~ q_defence(.|x_i), with s = f + log base:
//     w_ij = exp(s_ij - log q_defence(y_ij|x_i)).
// The base is a part of the model, so the objective's derivative with respect to s goes to the mixture too. A
// proposal that is learned by KL follows the gradient of log q_defence on the draws weighted by their shares,
// minus the gradient of KL(p||q), estimated.

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

// s = f + log base as a function of y, with the base a constant of the parameters: what objectives of the
// derivatives in y and Langevin chains follow. One y for every row of a minibatch.
class RegressorSlope {
 public:
  // The minibatch has to outlive it.
  RegressorSlope(const RegressorParts& parts, const RegressorStepInput& in)
      : parts_(parts),
        in_(in),
        weight_(parts.options.base == "broad" ? 1 : parts.options.tail_weight),
        row_(in.y.rows) {
    std::iota(row_.begin(), row_.end(), 0u);
  }

  ConditionalPoints tilt_at(const Points& y) const { return {in_.context, y, row_}; }
  // ds/dy, n x d.
  void operator()(const Points& y, std::span<float> slope) {
    base_second_.resize(y.rows);
    parts_.tilt.score_gradient(tilt_at(y), base_second_, slope);
    base_.resize(y.size());
    parts_.mixture.log_prob_gradient(base_at(y), weight_, base_);
    for (size_t i = 0; i < base_.size(); ++i)
      slope[i] = static_cast<float>(static_cast<double>(slope[i]) + base_[i]);
  }
  // First and second derivative along v.
  void directional(const Points& y, const Points& v, std::span<double> first, std::span<double> second) {
    parts_.tilt.directional(tilt_at(y), v, first, second);
    base_.resize(y.rows);
    base_second_.resize(y.rows);
    parts_.mixture.directional(base_at(y), v, weight_, base_, base_second_);
    for (size_t i = 0; i < y.rows; ++i) {
      first[i] += base_[i];
      second[i] += base_second_[i];
    }
  }

 private:
  MixturePoints base_at(const Points& y) const { return {in_.mixture, y, row_}; }

  RegressorParts parts_;
  const RegressorStepInput& in_;
  double weight_;  // of the broad component in the base
  std::vector<uint32_t> row_;
  std::vector<double> base_, base_second_;
};

// mcmc: the gradient of the log-likelihood with Langevin chains in the place of the model. One chain starts
// at every target and moves by the slope of s = f + log base, reflected at the walls of a bounded support:
//     loss = mean_i s(x_i, chain_i) - s(x_i, y_i),
// differentiated with respect to the parameters of f with the chains and the base as constants: contrastive
// divergence [Hinton 2002]. It is no likelihood.

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

// sm, dsm: derivatives of s = f + log base in y (objective/score_matching.h), the base being a constant. The
// sum of sm over the coordinates of y is the exact trace. Both integrate by parts without boundary terms, so
// they are for y in all of R^d.

constexpr uint64_t kMatchingNoiseStream = 0xD14;

// s of a minibatch, back to the tilt and its contexts.
class MatchedTilt final : public MatchedScore {
 public:
  MatchedTilt(const RegressorParts& parts, const RegressorStepInput& in, const RegressorStepGradient& out)
      : tilt_(parts.tilt), slope_(parts, in), out_(out) {}

  void slope(const Points& y, std::span<float> dy) override { slope_(y, dy); }
  void directional(const Points& y, const Points& v, std::span<double> first,
                   std::span<double> second) override {
    slope_.directional(y, v, first, second);
  }
  void backward(const Points& y, const Points& v, std::span<const double> d_first,
                std::span<const double> d_second) override {
    const ConditionalPoints at = slope_.tilt_at(y);
    d_context_.resize(at.context.size());
    tilt_.directional_backward(at, v, d_first, d_second, out_.tilt, d_context_);
    for (size_t i = 0; i < d_context_.size(); ++i) out_.context[i] += d_context_[i];
  }

 private:
  const ConditionalEnergy& tilt_;
  RegressorSlope slope_;
  const RegressorStepGradient& out_;
  std::vector<float> d_context_;
};

class MatchingRegressorStep final : public RegressorStep {
 public:
  explicit MatchingRegressorStep(const RegressorParts& parts)
      : parts_(parts),
        matcher_(objective_entry(parts.options.objective).matching, parts.options.noise),
        random_(RandomStream(parts.options.seed, kMatchingNoiseStream).next()) {
    const MixtureShape& shape = parts.mixture.shape();
    const auto is_finite = [](double bound) { return std::isfinite(bound); };
    if (std::any_of(shape.lower.begin(), shape.lower.end(), is_finite) ||
        std::any_of(shape.upper.begin(), shape.upper.end(), is_finite))
      throw_error(
          "objective {}: the support of the target has a lower or upper end, where score matching lacks its "
          "boundary terms; leave out lower and upper, or use another objective (snl is the default)",
          parts.options.objective);
  }

  bool uses_normalizer() const override { return false; }

  RegressorStepTerms operator()(const RegressorStepInput& in, const RegressorStepGradient& out) override {
    MatchedTilt score(parts_, in, out);
    return {.loss = matcher_(in.y, RandomStream(random_, in.step), score)};
  }

 private:
  RegressorParts parts_;
  ScoreMatcher matcher_;
  uint64_t random_;
};

}  // namespace

void base_log_prob(const RegressorParts& parts, const MixturePoints& at, std::span<double> out) {
  base_log_prob(parts.mixture, parts.options.base == "broad" ? 1 : parts.options.tail_weight, at, out);
}

float reflected(const ConditionalMixture& mixture, double y, uint32_t j) {
  double velocity = 0;
  return mixture.within(
      static_cast<double>(
          BoxWalls(Support::box(mixture.shape().lower, mixture.shape().upper)).reflect(j, y, velocity)),
      j);
}

uint64_t candidate_sample_seed(uint64_t seed, uint64_t step) {
  return RandomStream(RandomStream(seed, kRegressorSampleStream).next(), step).next();
}

std::unique_ptr<RegressorStep> make_regressor_step(const RegressorParts& parts) {
  switch (objective_entry(parts.options.objective).seam) {
    case ObjectiveSeam::candidates:
      return std::make_unique<CandidateRegressorStep>(parts);
    case ObjectiveSeam::chains:
      return std::make_unique<ChainRegressorStep>(parts);
    case ObjectiveSeam::matching:
      return std::make_unique<MatchingRegressorStep>(parts);
    default:
      throw Error("objective mdn is the likelihood of the mixture: it has no tilt to train");
  }
}

}  // namespace selfnorm
