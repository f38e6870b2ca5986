// Minibatches that never see a log-normalizer. The examples of a batch share k noise classes; the classes
// used are those and the targets, C <= k + B of them, and the parameters used are the (u + 1) x C cells of
// these classes and the batch's u features. They are copied into a small model of their own
// (model/multiclass.h), whose scores and gradients are the same products as ever; then each cell takes one
// lazy step. So the cost of an example depends on k, B and its features and not on K. The parameters are kept
// class-major here, K x (d+1) with the bias last in a row: the cells of a class are close together in memory.
//
// b is one number that every example moves, so its derivative is clipped to [-1, 1] (1 - r is unbounded for
// snl when b is too small), and it takes steps of AdaGrad with G0 = 1 at ten times the rate of the
// parameters, at most 1: near the optimum d^2/db^2 = 1 for snl and less for nce, so a rate of 1 is Newton's.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "selfnorm/math/parallel.h"
#include "selfnorm/math/vector.h"
#include "selfnorm/objective/candidate_registry.h"
#include "selfnorm/proposal/proposal.h"
#include "selfnorm/train/minibatch.h"
#include "selfnorm/train/minibatch_step.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNoiseStream = 0x6e6f697365000000;  // "noise"
constexpr size_t kTile = 32;                           // classes that a unit of work scores
constexpr double kEstimateRate = 0.4;
constexpr double kNormalizerRate = 10;
constexpr double kLargestNormalizerRate = 1;

std::vector<uint64_t> class_counts(const Dataset& data) {
  std::vector<uint64_t> count(data.classes());
  for (const uint32_t y : data.target) ++count[y];
  return count;
}

template <class Real>
class CandidateStep final : public MinibatchStep<Real> {
 public:
  CandidateStep(const LoopInput& input, uint64_t batch)
      : input_(input),
        options_(input.options),
        objective_(make_candidate_objective(options_.objective.name)),
        count_(class_counts(input.train)),
        proposal_(make_proposal(options_.objective.noise, count_, options_.objective.noise_power)),
        maker_(input.train),
        batch_size_(batch),
        touch_(touch_probability(input.train, batch)),
        mean_weight_(mean_weight(input.train)),
        normalizer_optimiser_("adagrad", 1, 1.0) {}

  std::vector<Real> own_order(std::vector<Real> theta) const override {
    std::vector<Real> out(theta.size());
    transpose(theta, row_size(), input_.classes, out);
    return out;
  }
  std::span<const Real> feature_major(std::span<const Real> theta, std::vector<Real>& buffer) const override {
    buffer.resize(theta.size());
    transpose(theta, input_.classes, row_size(), buffer);
    return buffer;
  }

  LossSum gradient(std::span<const uint64_t> examples, uint64_t step, std::span<const Real> theta) override {
    batch_ = maker_.make(examples);
    draw(step);
    collect(theta);
    const Multiclass<Real> model(batch_.data.features, static_cast<uint32_t>(class_.size()),
                                 batch_.data.features.columns(), carrier_);
    const Range rows{0, examples.size()};
    scores_.resize(rows.size() * class_.size());
    for_each_tile([&](Range tile, Real* scores) { model.scores(theta_, rows, tile, scores); });
    const LossSum sum = scores_to_derivatives(centre_of(options_.objective, theta));
    gradient_.assign(model.gradient_size(), Real{0});
    for_each_tile([&](Range tile, const Real* d) { model.backward(rows, tile, d, gradient_.data()); });
    d_normalizer_ = std::clamp(sum.d_centre * gradient_scale(), -1.0, 1.0);
    return sum;
  }

  double gradient_norm() const override {
    const std::span<const Real> gradient(gradient_);
    return std::sqrt(inner_product(gradient, gradient));
  }

  // L1 and L2 count on touched cells only, divided by the probability of being touched (taking features and
  // classes as independent): their expectation is the full term.
  void update(std::span<Real> theta, Adaptive<Real>& optimiser, double rate) override {
    const size_t width = class_.size();
    parallel_ranges(width, kTile, [&](size_t begin, size_t end) {
      std::vector<Real> gradient(row_.size()), l1;
      for (size_t c = begin; c < end; ++c) {
        const double often = options_.l1 > 0 || options_.l2 > 0 ? class_touch(class_[c]) : 1;
        l1.clear();
        for (size_t r = 0; r < row_.size(); ++r) {
          const bool bias = row_[r] == input_.features;
          const double p = often * (bias || touch_.empty() ? 1 : touch_[row_[r]]);
          gradient[r] = gradient_[r * width + c];
          if (!bias && options_.l2 > 0)
            gradient[r] += static_cast<Real>(options_.l2 / p) * theta_[r * width + c];
          if (options_.l1 > 0) l1.push_back(bias ? Real{0} : static_cast<Real>(options_.l1 / p));
        }
        optimiser.update_cells(theta, class_[c] * row_size(), row_, gradient, rate, l1);
      }
    });
    if (!options_.objective.learn_centre) return;
    const Real d = static_cast<Real>(d_normalizer_);
    normalizer_optimiser_.update(theta.last(1), 0, std::span<const Real>(&d, 1),
                                 std::min(kNormalizerRate * rate, kLargestNormalizerRate), 0);
  }

  double rate_factor() const override { return objective_->uses_estimate() ? kEstimateRate : 1; }
  bool is_lazy() const override { return true; }
  const char* remedy() const override { return "a smaller --learning-rate or more --samples"; }

  void save(Checkpoint& c) const override {
    c.set("normalizer.square", normalizer_optimiser_.state().square);
  }
  void restore(const Checkpoint& c) override {
    AdaptiveState<Real> state;
    c.get("normalizer.square", state.square);
    normalizer_optimiser_.restore(std::move(state));
  }

 private:
  double gradient_scale() const { return 1 / (static_cast<double>(batch_.data.examples()) * mean_weight_); }

  size_t row_size() const { return size_t{input_.features} + 1; }

  // out (columns x rows) <- in (rows x columns); what follows the matrix stays where it is.
  static void transpose(std::span<const Real> in, size_t rows, size_t columns, std::span<Real> out) {
    parallel_ranges(columns, kTile, [&](size_t begin, size_t end) {
      for (size_t r = 0; r < rows; ++r) {
        for (size_t c = begin; c < end; ++c) out[c * rows + r] = in[r * columns + c];
      }
    });
    std::copy(in.begin() + static_cast<std::ptrdiff_t>(rows * columns), in.end(),
              out.begin() + static_cast<std::ptrdiff_t>(rows * columns));
  }

  void draw(uint64_t step) {
    RandomStream random(options_.seed, kNoiseStream + step);
    sample_.resize(options_.objective.samples);
    for (uint32_t& k : sample_) k = proposal_->sample(random);
    sample_log_q_.clear();
    for (const uint32_t k : sample_) sample_log_q_.push_back(proposal_->log_prob(k));
  }

  // The classes used, in order, their places in it, and their cells of theta.
  void collect(std::span<const Real> theta) {
    class_ = sample_;
    class_.insert(class_.end(), batch_.data.target.begin(), batch_.data.target.end());
    std::sort(class_.begin(), class_.end());
    class_.erase(std::unique(class_.begin(), class_.end()), class_.end());
    const auto place = [&](uint32_t k) {
      return static_cast<uint32_t>(std::lower_bound(class_.begin(), class_.end(), k) - class_.begin());
    };
    sample_place_.clear();
    for (const uint32_t k : sample_) sample_place_.push_back(place(k));
    target_place_.clear();
    for (const uint32_t y : batch_.data.target) target_place_.push_back(place(y));
    carrier_.clear();
    if (!options_.log_carrier.empty()) {
      for (const uint32_t k : class_) carrier_.push_back(options_.log_carrier[k]);
    }
    row_ = batch_.map.feature;
    if (!batch_.data.features.is_sparse) {
      row_.resize(input_.features);
      std::iota(row_.begin(), row_.end(), 0u);
    }
    row_.push_back(input_.features);
    const size_t width = class_.size();
    theta_.resize(row_.size() * width);
    parallel_ranges(width, kTile, [&](size_t begin, size_t end) {
      for (size_t c = begin; c < end; ++c) {
        const Real* own = theta.data() + class_[c] * row_size();
        for (size_t r = 0; r < row_.size(); ++r) theta_[r * width + c] = own[row_[r]];
      }
    });
  }

  // The scores are kept tile by tile, examples x classes of the tile each.
  template <class Body>
  void for_each_tile(const Body& body) {
    parallel_ranges(class_.size(), kTile, [&](size_t begin, size_t end) {
      body(Range{begin, end}, scores_.data() + begin * batch_.data.examples());
    });
  }

  Real& cell(uint64_t example, uint32_t place) {
    const size_t begin = place / kTile * kTile;
    const size_t width = std::min(kTile, class_.size() - begin);
    return scores_[begin * batch_.data.examples() + example * width + (place - begin)];
  }

  // Replaces the scores by the derivatives of the mean loss.
  LossSum scores_to_derivatives(double normalizer) {
    const uint64_t n = batch_.data.examples();
    std::vector<LossSum> parts((n + kGranule - 1) / kGranule);
    parallel_ranges(n, kGranule, [&](size_t begin, size_t end) {
      std::vector<double> score(sample_.size()), d_sample(sample_.size());
      for (uint64_t i = begin; i < end; ++i) {
        for (size_t j = 0; j < score.size(); ++j) score[j] = static_cast<double>(cell(i, sample_place_[j]));
        const CandidateTerms t = (*objective_)({.score = static_cast<double>(cell(i, target_place_[i])),
                                                .log_q = proposal_->log_prob(batch_.data.target[i]),
                                                .sample_score = score,
                                                .sample_log_q = sample_log_q_,
                                                .log_normalizer = normalizer},
                                               d_sample);
        const double w = batch_.data.weight.empty() ? 1 : static_cast<double>(batch_.data.weight[i]);
        add(t, w, normalizer, parts[i / kGranule]);
        const double factor = w * gradient_scale();
        for (uint32_t c = 0; c < class_.size(); ++c) cell(i, c) = 0;
        for (size_t j = 0; j < score.size(); ++j)
          cell(i, sample_place_[j]) += static_cast<Real>(factor * d_sample[j]);
        cell(i, target_place_[i]) += static_cast<Real>(factor * t.d_score);
      }
    });
    LossSum sum;
    for (const LossSum& part : parts) sum += part;
    return sum;
  }

  static void add(const CandidateTerms& t, double w, double normalizer, LossSum& sum) {
    sum.weight += w;
    sum.likelihood += w * t.likelihood;
    sum.d_centre += w * t.d_log_normalizer;
    if (!t.estimate) return;
    sum.estimated_weight += w;
    sum.log_ratio += w * (t.estimate->log_z - normalizer);
    sum.effective += w * t.estimate->effective;
  }

  // The probability that a step uses a class, 1 - (1 - q)^k (1 - n_k/n)^B.
  double class_touch(uint32_t k) const {
    const double n = static_cast<double>(input_.train.examples());
    const double no_sample = std::log1p(-std::exp(proposal_->log_prob(k)));
    const double no_target = std::log1p(-static_cast<double>(count_[k]) / n);
    return -std::expm1(static_cast<double>(sample_.size()) * no_sample +
                       static_cast<double>(batch_size_) * no_target);
  }

  const LoopInput& input_;
  const TrainOptions& options_;
  std::unique_ptr<CandidateObjective> objective_;
  std::vector<uint64_t> count_;  // of the classes in the training data
  std::unique_ptr<Proposal> proposal_;
  MinibatchMaker maker_;
  uint64_t batch_size_;
  std::vector<double> touch_;
  double mean_weight_;
  Adaptive<Real> normalizer_optimiser_;  // of b

  // Of the current step.
  Minibatch batch_;
  std::vector<uint32_t> sample_, class_, sample_place_, target_place_;
  std::vector<uint32_t> row_;  // feature of every row of the small model, then d for the biases
  std::vector<double> sample_log_q_;
  std::vector<float> carrier_;
  std::vector<Real> theta_, scores_, gradient_;
  double d_normalizer_ = 0;
};

}  // namespace

template <class Real>
std::unique_ptr<MinibatchStep<Real>> make_candidate_step(const LoopInput& input, uint64_t batch) {
  return std::make_unique<CandidateStep<Real>>(input, batch);
}

template std::unique_ptr<MinibatchStep<float>> make_candidate_step(const LoopInput&, uint64_t);
template std::unique_ptr<MinibatchStep<double>> make_candidate_step(const LoopInput&, uint64_t);

}  // namespace selfnorm
