// Minibatches that never see a log-normalizer: the objective compares the scores of the targets with those of
// the noise classes, so the cost of an example depends on the number of these and its features and not on K.
#include <algorithm>
#include <cmath>

#include "family/classifier/candidate_cells.h"
#include "family/classifier/learned_normalizer.h"
#include "family/classifier/loop.h"
#include "math/parallel.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

template <class Real>
class CandidateStep final : public MinibatchStep<Real> {
 public:
  CandidateStep(const LoopInput& input, uint64_t batch)
      : input_(input),
        options_(input.options),
        objective_(make_candidate_objective(options_.objective.name)),
        uses_estimate_(objective_entry(options_.objective.name).uses_estimate),
        noise_(options_.objective, options_.seed, class_counts(input.train)),
        normalizer_(options_.objective, input.features, starting_log_z<Real>(input), options_.seed),
        cells_(make_candidate_cells<Real>(noise_.is_shared(), input, batch)),
        maker_(input.train),
        mean_weight_(mean_weight(input.train)) {}

  std::vector<Real> own_order(std::vector<Real> theta) const override {
    return transposed<Real>(theta, size_t{input_.features} + 1, input_.classes);
  }
  std::span<const Real> feature_major(std::span<const Real> theta, std::vector<Real>& buffer) const override {
    buffer = transposed<Real>(theta, input_.classes, size_t{input_.features} + 1);
    return buffer;
  }

  LossSum gradient(std::span<const uint64_t> examples, uint64_t step, std::span<const Real> theta) override {
    batch_ = maker_.make(examples);
    drop_inputs(options_.encoder.dropout, RandomStream(options_.seed, kDropoutStream + step),
                batch_.data.features);
    noise_.draw(step, batch_.data.target);
    cells_->score(batch_, noise_, theta);
    const LossSum sum = scores_to_derivatives();
    cells_->backward();
    return sum;
  }

  double gradient_norm() const override { return cells_->gradient_norm(); }

  void update(std::span<Real> theta, Adaptive<Real>& optimiser, double rate) override {
    cells_->update({theta, optimiser, rate});
    normalizer_.update(batch_.data.features, &batch_.map, d_normalizer_, rate);
  }

  Subtracted subtracted(std::span<const Real> /*theta*/) const override {
    return {normalizer_.constant(), normalizer_.function()};
  }
  double centre(std::span<const Real> /*theta*/) const override { return normalizer_.constant(); }
  double rate_factor() const override { return rate_of_candidates(options_.objective); }
  bool is_lazy() const override { return true; }
  const char* remedy() const override { return kCandidateRemedy; }

  std::span<Real> more_parameters() override { return normalizer_.parameters(); }
  std::vector<double> numbers() const override { return normalizer_.numbers(); }
  void set_numbers(std::span<const double> numbers) override { normalizer_.set_numbers(numbers); }

  void state(CheckpointFields& fields) override { normalizer_.state(fields); }

 private:
  // Replaces the scores by the derivatives of the mean loss.
  LossSum scores_to_derivatives() {
    const uint64_t n = batch_.data.examples();
    const std::vector<double> b = normalizer_.values(batch_.data.features, &batch_.map);
    d_normalizer_.assign(n, 0);
    std::vector<LossSum> parts((n + kGranule - 1) / kGranule);
    parallel_ranges(n, kGranule, [&](size_t begin, size_t end) {
      Samples samples;
      for (uint64_t i = begin; i < end; ++i) {
        const double w =
            (batch_.data.weight.empty() ? 1 : static_cast<double>(batch_.data.weight[i])) / mean_weight_;
        const CandidateTerms t = terms(i, b[i], samples);
        parts[i / kGranule].add(t, w * mean_weight_, b[i]);
        d_normalizer_[i] = w * t.d_log_normalizer;
        const double factor = w / static_cast<double>(n);
        for (double& d : samples.derivative) d *= factor;
        cells_->derive(i, factor * t.d_score, samples.derivative);
      }
    });
    LossSum sum;
    for (const LossSum& part : parts) sum += part;
    return sum;
  }

  struct Samples {
    std::vector<double> score, log_q, derivative;
    std::vector<uint8_t> hit;
  };

  // All 0 where there is nothing to compare the target with.
  CandidateTerms terms(uint64_t i, double b, Samples& samples) const {
    const NoiseDraw::View view = noise_.view(i);
    samples.score.resize(view.size());
    samples.derivative.resize(view.size());
    if (view.size() == 0) return {};
    cells_->samples(i, samples.score);
    const uint32_t y = batch_.data.target[i];
    return (*objective_)(
        {.score = cells_->target(i),
         .log_q = noise_.log_prob(y),
         .sample_score = samples.score,
         .sample_log_q = noise_.log_q_of(view, samples.log_q),
         .sample_hit = uses_estimate_ ? noise_.hits_of(view, y, samples.hit) : std::span<const uint8_t>(),
         .log_normalizer = b},
        samples.derivative);
  }

  const LoopInput& input_;
  const TrainOptions& options_;
  std::unique_ptr<CandidateObjective> objective_;
  bool uses_estimate_;
  NoiseDraw noise_;
  LearnedNormalizer<Real> normalizer_;
  std::unique_ptr<CandidateCells<Real>> cells_;
  MinibatchMaker maker_;
  double mean_weight_;

  // Of the current step.
  Minibatch batch_;
  std::vector<double> d_normalizer_;
};

}  // namespace

template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_candidate_step(const LoopInput& input, uint64_t batch) {
  return std::make_unique<CandidateStep<Real>>(input, batch);
}

template std::unique_ptr<MinibatchStep<float>> make_candidate_step(const LoopInput&, uint64_t);
template std::unique_ptr<MinibatchStep<double>> make_candidate_step(const LoopInput&, uint64_t);

}  // namespace selfnorm
