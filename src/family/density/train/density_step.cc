#include "family/density/train/density_step.h"

#include <algorithm>

#include "base/failure.h"
#include "engine/checkpoint.h"
#include "objective/pseudo_likelihood.h"
#include "objective/registry.h"
#include "objective/score_matching.h"
#include "sampler/gibbs.h"
#include "sampler/langevin.h"

namespace selfnorm {
namespace {

// cd, pcd: the gradient of the log-likelihood with samples of Markov chains in the place of the model,
//     d/dtheta [ mean_data s - mean_chains s ].
// cd starts its chains at the minibatch, pcd goes on from where they were and starts a share kFresh of them
// anew from the proposal at every step. Real data move by unadjusted Langevin, levels by Gibbs sweeps. The
// loss shown is the difference of the mean scores; it is no likelihood.
constexpr uint64_t kChainStream = 0xC4A1;
constexpr double kFresh = 0.05;

class DensityCrfStep final : public DensityStep {
 public:
  explicit DensityCrfStep(DensityProblem& problem)
      : problem_(problem),
        pass_(problem.energy().make_pass()),
        random_(RandomStream(problem.options().seed, kChainStream).next()),
        is_persistent_(objective_entry(problem.options().objective).is_persistent) {
    if (!is_persistent_) return;
    chains_.resize(problem.options().samples * problem.energy().dimension());
    sample_density(problem.proposal(), random_, chains_, {});
  }

  DensityStepTerms operator()(const Points& batch, uint64_t step, double,
                              std::span<float> gradient) override {
    if (gradient.empty()) return {};
    RandomStream random(random_, step + 1);
    start_chains(batch, random);
    move(random.next());
    const uint64_t n = batch.rows, k = chains_.size() / batch.columns;
    rows_.assign(batch.data, batch.data + batch.size());
    rows_.insert(rows_.end(), chains_.begin(), chains_.end());
    const std::span<const double> score = pass_->forward({rows_.data(), n + k, batch.columns});
    derivative_.resize(n + k);
    double loss = 0;
    for (uint64_t i = 0; i < n + k; ++i) {
      derivative_[i] = i < n ? -1 / static_cast<double>(n) : 1 / static_cast<double>(k);
      loss += derivative_[i] * score[i];
    }
    pass_->backward(derivative_, gradient);
    return {.loss = loss, .d_log_normalizer = 0, .estimate = {}};
  }

  bool has_memory() const override { return is_persistent_; }
  void state(CheckpointFields& fields) override {
    if (is_persistent_) fields("chains", chains_);
  }

 private:
  void start_chains(const Points& batch, RandomStream& random) {
    if (!is_persistent_) {
      chains_.assign(batch.data, batch.data + batch.size());
      return;
    }
    const uint64_t d = batch.columns, k = chains_.size() / d;
    fresh_.resize(d);
    for (uint64_t i = 0; i < k; ++i) {
      if (random.uniform() >= kFresh) continue;
      problem_.proposal().sample(random, fresh_);
      std::copy(fresh_.begin(), fresh_.end(), chains_.begin() + static_cast<std::ptrdiff_t>(i * d));
    }
  }

  void move(uint64_t seed) {
    const DensityOptions& options = problem_.options();
    if (problem_.space().is_real()) {
      langevin(problem_.energy(), {.steps = options.langevin_steps, .step = options.langevin_step}, seed,
               chains_);
    } else {
      gibbs_sweeps(problem_.energy(), options.langevin_steps, seed, chains_);
    }
  }

  DensityProblem& problem_;
  std::unique_ptr<EnergyPass> pass_;
  uint64_t random_;
  bool is_persistent_;
  std::vector<float> chains_, fresh_, rows_;
  std::vector<double> derivative_;
};

// sm, ssm, dsm: derivatives of the score (objective/score_matching.h).

constexpr uint64_t kDirectionStream = 0xD13;

class MatchingStep final : public DensityStep, private MatchedScore {
 public:
  explicit MatchingStep(DensityProblem& problem)
      : problem_(problem),
        random_(RandomStream(problem.options().seed, kDirectionStream).next()),
        matcher_(objective_entry(problem.options().objective).matching, problem.options().noise,
                 problem.options().slices) {}

  DensityStepTerms operator()(const Points& batch, uint64_t step, double,
                              std::span<float> gradient) override {
    if (gradient.empty()) return {};
    gradient_ = gradient;
    const double loss = matcher_(batch, RandomStream(random_, step), *this);
    return {.loss = loss, .d_log_normalizer = 0, .estimate = {}};
  }

 private:
  void slope(const Points& x, std::span<float> dx) override {
    score_.resize(x.rows);
    problem_.energy().score_gradient(x, score_, dx);
  }
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) override {
    problem_.energy().directional(x, v, first, second);
  }
  void backward(const Points& x, const Points& v, std::span<const double> d_first,
                std::span<const double> d_second) override {
    problem_.energy().directional_backward(x, v, d_first, d_second, gradient_);
  }

  DensityProblem& problem_;
  uint64_t random_;
  ScoreMatcher matcher_;
  std::span<float> gradient_;  // of the step
  std::vector<double> score_;
};

// pseudo-likelihood of binary vectors (objective/pseudo_likelihood.h): every row and its d neighbours, with
// one bit flipped, go through the energy together.
class PseudoLikelihoodStep final : public DensityStep {
 public:
  explicit PseudoLikelihoodStep(DensityProblem& problem) : pass_(problem.energy().make_pass()) {}

  DensityStepTerms operator()(const Points& batch, uint64_t, double, std::span<float> gradient) override {
    if (gradient.empty()) return {};
    const uint64_t n = batch.rows, d = batch.columns, group = d + 1;
    rows_.resize(n * group * d);
    for (uint64_t i = 0; i < n; ++i) {
      float* first = rows_.data() + i * group * d;
      for (uint64_t g = 0; g < group; ++g) std::copy_n(batch.row(i).data(), d, first + g * d);
      for (uint64_t j = 0; j < d; ++j) {
        float& flipped = first[(j + 1) * d + j];
        flipped = 1 - flipped;
      }
    }
    const std::span<const double> score = pass_->forward({rows_.data(), n * group, batch.columns});
    derivative_.resize(n * group);
    double loss = 0;
    for (uint64_t i = 0; i < n; ++i) {
      const PseudoLikelihoodTerms terms = pseudo_likelihood(score[i * group], score.subspan(i * group + 1, d),
                                                            std::span(derivative_).subspan(i * group + 1, d));
      loss += terms.likelihood;
      derivative_[i * group] = terms.d_score;
    }
    for (double& g : derivative_) g /= static_cast<double>(n);
    pass_->backward(derivative_, gradient);
    return {.loss = loss / static_cast<double>(n), .d_log_normalizer = 0, .estimate = {}};
  }

 private:
  std::unique_ptr<EnergyPass> pass_;
  std::vector<float> rows_;
  std::vector<double> derivative_;
};

// snl, is, nce, ranking-nce: the minibatch against samples of the proposal. Data and samples go through the
// energy together. When the proposal itself is what the energy tilts, s - log q = f and log q is never
// computed.
//
// A proposal that is learned follows the gradient of log q on the data (the likelihood), on the samples
// weighted by their shares (minus the gradient of KL(p||q), estimated), or both in equal parts.

constexpr uint64_t kSampleStream = 0x5A3B;
constexpr uint64_t kPoolDraws = 8, kPoolSteps = 32;

bool draws_slowly(const Density& q) {
  const std::string kind = q.record().kind;
  return kind == "stacked" || kind == "autoregressive";
}

class CandidateDensityStep final : public DensityStep {
 public:
  explicit CandidateDensityStep(DensityProblem& problem)
      : problem_(problem),
        cancels_(problem.cancelled_tilt() != nullptr),
        objective_(make_candidate_objective(problem.options().objective)),
        uses_estimate_(objective_entry(problem.options().objective).uses_estimate),
        uses_normalizer_(objective_entry(problem.options().objective).uses_normalizer),
        pass_((cancels_ ? *problem.cancelled_tilt() : problem.energy()).make_pass()),
        random_(RandomStream(problem.options().seed, kSampleStream).next()),
        has_pool_(draws_slowly(problem.proposal())) {
    if (LearnableDensity* q = problem.learnable_proposal()) {
      // The unconstrained numbers are the state: making q of them is the same before and after a checkpoint.
      q_parameters_ = q->parameters();
      q->set_parameters(q_parameters_);
      q_gradient_.resize(q_parameters_.size());
      q_optimiser_ = std::make_unique<Adaptive<double>>("adam", q_gradient_.size(), 0);
    }
  }

  bool uses_normalizer() const override { return uses_normalizer_; }

  DensityStepTerms operator()(const Points& batch, uint64_t step, double log_normalizer,
                              std::span<float> gradient) override {
    const uint64_t n = batch.rows, k = problem_.options().samples, d = batch.columns;
    rows_.resize((n + k) * d);
    log_q_.assign(n + k, 0);
    const std::span<double> sample_log_q = std::span(log_q_).subspan(n);
    gather(batch, step, rows_, cancels_ ? std::span<double>() : std::span(log_q_));
    const std::span<const double> score = pass_->forward({rows_.data(), n + k, batch.columns});
    derivative_.resize(n + k);
    const CandidateTerms terms =
        objective_->pooled({.score = score.first(n),
                            .log_q = std::span(log_q_).first(n),
                            .sample_score = score.subspan(n),
                            .sample_log_q = sample_log_q,
                            .log_normalizer = log_normalizer},
                           std::span(derivative_).first(n), std::span(derivative_).subspan(n));
    if (problem_.learnable_proposal() != nullptr) learn_proposal(batch, score.subspan(n), sample_log_q);
    if (!gradient.empty()) pass_->backward(derivative_, gradient);
    return {.loss = terms.likelihood, .d_log_normalizer = terms.d_log_normalizer, .estimate = terms.estimate};
  }

  void gather(const Points& batch, uint64_t step, std::span<float> rows, std::span<double> log_q) override {
    std::copy_n(batch.data, batch.size(), rows.begin());
    draw(step, rows.subspan(batch.size()), log_q.empty() ? log_q : log_q.subspan(batch.rows));
    if (!log_q.empty() && !uses_estimate_)
      density_log_prob(problem_.proposal(), batch, log_q.first(batch.rows));
  }

  void update(double rate) override {
    LearnableDensity* q = problem_.learnable_proposal();
    if (q == nullptr) return;
    q_optimiser_->begin_step();
    q_optimiser_->update(q_parameters_, 0, q_gradient_, rate, 0);
    q->set_parameters(q_parameters_);
  }

  void state(CheckpointFields& fields) override {
    if (q_optimiser_ == nullptr) return;
    fields("proposal", q_parameters_);
    fields("proposal", *q_optimiser_);
    if (fields.reads()) problem_.learnable_proposal()->set_parameters(q_parameters_);
  }

 private:
  // Networks are slow to draw from: their draws come from a pool of kPoolDraws times as many, which serves
  // kPoolSteps steps and is a function of the step.
  void draw(uint64_t step, std::span<float> rows, std::span<double> log_q) {
    if (!log_q.empty() || !has_pool_)
      return sample_density(problem_.proposal(), RandomStream(random_, step).next(), rows, log_q);
    const uint64_t number = step / kPoolSteps, d = problem_.energy().dimension();
    if (pool_.empty() || number != pool_number_) {
      pool_.resize(kPoolDraws * rows.size());
      sample_density(problem_.proposal(), RandomStream(random_, number).next(), pool_, {});
      pool_number_ = number;
    }
    RandomStream random(random_ + 1, step);
    for (size_t begin = 0; begin < rows.size(); begin += d)
      std::copy_n(pool_.begin() + static_cast<std::ptrdiff_t>(random.below(pool_.size() / d) * d), d,
                  rows.begin() + static_cast<std::ptrdiff_t>(begin));
  }

  void learn_proposal(const Points& batch, std::span<const double> sample_score,
                      std::span<const double> sample_log_q) {
    const std::string& how = problem_.options().learn_proposal;
    std::fill(q_gradient_.begin(), q_gradient_.end(), 0);
    LearnableDensity& q = *problem_.learnable_proposal();
    if (how != "kl") {
      weight_.assign(batch.rows, -1.0 / static_cast<double>(batch.rows));
      q.add_gradient(batch, weight_, q_gradient_);
    }
    if (how != "data") {
      weight_.resize(sample_score.size());
      importance_weights(sample_score, sample_log_q, {}, weight_);
      for (double& w : weight_) w = -w;
      q.add_gradient({rows_.data() + batch.size(), weight_.size(), batch.columns}, weight_, q_gradient_);
    }
  }

  DensityProblem& problem_;
  bool cancels_;
  std::unique_ptr<CandidateObjective> objective_;
  bool uses_estimate_, uses_normalizer_;
  std::unique_ptr<EnergyPass> pass_;
  uint64_t random_;
  bool has_pool_;
  std::vector<float> rows_, pool_;
  uint64_t pool_number_ = 0;
  std::vector<double> log_q_, derivative_, weight_, q_parameters_, q_gradient_;
  std::unique_ptr<Adaptive<double>> q_optimiser_;
};

}  // namespace

std::unique_ptr<DensityStep> make_density_step(DensityProblem& problem) {
  switch (objective_entry(problem.options().objective).seam) {
    case ObjectiveSeam::candidates:
      return std::make_unique<CandidateDensityStep>(problem);
    case ObjectiveSeam::chains:
      return std::make_unique<DensityCrfStep>(problem);
    case ObjectiveSeam::conditionals:
      return std::make_unique<PseudoLikelihoodStep>(problem);
    case ObjectiveSeam::matching:
      return std::make_unique<MatchingStep>(problem);
    default:
      throw_error("objective {} trains no energy", problem.options().objective);
  }
}

}  // namespace selfnorm
