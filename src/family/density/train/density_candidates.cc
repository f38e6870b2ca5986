// snl, is, nce, ranking-nce: the minibatch against samples of the proposal. Data and samples go through the
// energy together. When the proposal itself is what the energy tilts, s - log q = f and log q is never
// computed.
//
// A proposal that is learned follows the gradient of log q on the data (the likelihood), on the samples
// weighted by their shares (minus the gradient of KL(p||q), estimated), or both in equal parts.
#include <algorithm>

#include "engine/checkpoint.h"
#include "family/density/train/density_step.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr uint64_t kSampleStream = 0x5A3B;

class CandidateDensityStep final : public DensityStep {
 public:
  explicit CandidateDensityStep(DensityProblem& problem)
      : problem_(problem),
        cancels_(problem.cancelled_tilt() != nullptr),
        objective_(make_candidate_objective(problem.options().objective)),
        uses_estimate_(objective_entry(problem.options().objective).uses_estimate),
        uses_normalizer_(objective_entry(problem.options().objective).uses_normalizer),
        pass_((cancels_ ? *problem.cancelled_tilt() : problem.energy()).make_pass()),
        random_(RandomStream(problem.options().seed, kSampleStream).next()) {
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
    std::copy_n(batch.data, batch.size(), rows_.begin());
    const std::span<double> sample_log_q = std::span(log_q_).subspan(n);
    sample_density(problem_.proposal(), RandomStream(random_, step).next(), std::span(rows_).subspan(n * d),
                   cancels_ ? std::span<double>() : sample_log_q);
    if (!cancels_ && !uses_estimate_)
      density_log_prob(problem_.proposal(), batch, std::span(log_q_).first(n));

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

  void update(double rate) override {
    LearnableDensity* q = problem_.learnable_proposal();
    if (q == nullptr) return;
    q_optimiser_->begin_step();
    q_optimiser_->update(q_parameters_, 0, q_gradient_, rate, 0);
    q->set_parameters(q_parameters_);
  }

  void save(Checkpoint& c) const override {
    if (q_optimiser_ == nullptr) return;
    c.set("proposal", q_parameters_);
    save_adaptive(*q_optimiser_, "proposal", c);
  }

  void restore(const Checkpoint& c) override {
    if (q_optimiser_ == nullptr) return;
    c.get("proposal", q_parameters_);
    problem_.learnable_proposal()->set_parameters(q_parameters_);
    restore_adaptive(c, "proposal", *q_optimiser_);
  }

 private:
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
  std::vector<float> rows_;
  std::vector<double> log_q_, derivative_, weight_, q_parameters_, q_gradient_;
  std::unique_ptr<Adaptive<double>> q_optimiser_;
};

}  // namespace

std::unique_ptr<DensityStep> make_candidate_density_step(DensityProblem& problem) {
  return std::make_unique<CandidateDensityStep>(problem);
}

}  // namespace selfnorm
