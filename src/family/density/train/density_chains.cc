// cd, pcd: the gradient of the log-likelihood with samples of Markov chains in the place of the model,
//     d/dtheta [ mean_data s - mean_chains s ].
// cd starts its chains at the minibatch, pcd goes on from where they were and starts a share kFresh of them
// anew from the proposal at every step. Real data move by unadjusted Langevin, levels by Gibbs sweeps. The
// loss shown is the difference of the mean scores; it is no likelihood.
#include <algorithm>

#include "family/density/train/density_step.h"
#include "objective/registry.h"
#include "sampler/gibbs.h"
#include "sampler/langevin.h"

namespace selfnorm {
namespace {

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
  void save(Checkpoint& c) const override {
    if (is_persistent_) c.set("chains", chains_);
  }
  void restore(const Checkpoint& c) override {
    if (is_persistent_) c.get("chains", chains_);
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

}  // namespace

std::unique_ptr<DensityStep> make_chain_step(DensityProblem& problem) {
  return std::make_unique<DensityCrfStep>(problem);
}

}  // namespace selfnorm
