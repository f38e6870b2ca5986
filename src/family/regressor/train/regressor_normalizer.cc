#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/clipped_adam.h"
#include "engine/engine.h"
#include "engine/minibatches.h"
#include "family/regressor/train/regressor_problem.h"
#include "math/random.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "proposal/density/gaussian_terms.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNormalizerStream = 0xB0F1;
constexpr uint64_t kLeastSteps = 1500, kBatch = 256, kCheckInterval = 50;
constexpr uint64_t kFittedEpochs = 80;  // at least, where inputs are many
constexpr double kNormalizerRate = 3e-3;
constexpr double kAround = 1;  // largest noise, in standard deviations of the inputs
constexpr double kKnee = 0.1;
// By the dimension of y, which is what quadrature costs.
constexpr uint64_t kFittedInputs[] = {6000, 1500, 300};  // and as many generated
constexpr double kPrecision[] = {1e-4, 1e-3, 1e-2};

// Minimises the mean of Huber's loss of b - A over features h(x) and exact A of inputs, the last fifth of
// which are held out and choose the step; by all of them where there are too few.
class NormalizerFit final : public Problem {
 public:
  NormalizerFit(const Points& h, std::span<const double> value, uint64_t seed, DenseNetwork& normalizer)
      : normalizer_(normalizer),
        h_(h),
        value_(value),
        fitted_(h.rows - h.rows / 5),
        minibatches_(fitted_, kBatch, seed),
        adam_(normalizer.parameters().size(), INFINITY, 0),
        pass_(normalizer) {
    plan_.epoch = minibatches_.per_epoch();
    plan_.steps = std::max(kLeastSteps, kFittedEpochs * plan_.epoch);
    plan_.schedule = "cosine";
    plan_.check_every = kCheckInterval;
    plan_.checks = plan_.keeps_best = true;
  }

  const Plan& plan() const override { return plan_; }

  Step gradient(uint64_t at) override {
    const std::span<const uint64_t> picked = minibatches_.of(at);
    const uint64_t n = picked.size(), width = h_.columns;
    batch_.resize(n * width);
    d_.resize(n);
    for (uint64_t i = 0; i < n; ++i) std::copy_n(h_.row(picked[i]).data(), width, batch_.data() + i * width);
    const Points b = pass_.forward({{batch_.data(), n, h_.columns}, nullptr, 0});
    for (uint64_t i = 0; i < n; ++i)
      d_[i] = static_cast<float>(std::clamp(b.data[i] - value_[picked[i]], -kKnee, kKnee) /
                                 static_cast<double>(n));
    std::fill(adam_.gradient.begin(), adam_.gradient.end(), 0.0f);
    pass_.backward(d_, adam_.gradient, {});
    return adam_.is_finite(0) ? Step{} : Step::diverged();
  }
  Step move(uint64_t /*at*/, double factor) override {
    const std::span<float> theta = normalizer_.parameters();
    adam_.begin(theta, kNormalizerRate * factor);
    adam_.move(theta, 0, theta.size(), kNormalizerRate * factor);
    normalizer_.parameters_changed();
    return {};
  }

  // What was learned may stay the best.
  Due due(uint64_t steps_taken) const override { return {.check = steps_taken % kCheckInterval == 0}; }
  Check check(Progress&) override {
    return {fitted_ == h_.rows ? mean_loss(h_, value_)
                               : mean_loss(h_.slice(fitted_, h_.rows), value_.subspan(fitted_))};
  }

  void take(Snapshot& out) const override {
    const std::span<const float> theta = std::as_const(normalizer_).parameters();
    out.floats.assign(theta.begin(), theta.end());
  }
  void put(const Snapshot& snapshot) override {
    std::copy(snapshot.floats.begin(), snapshot.floats.end(), normalizer_.parameters().begin());
    normalizer_.parameters_changed();
  }

 private:
  double mean_loss(const Points& h, std::span<const double> value) const {
    std::vector<float> b(h.rows);
    normalizer_.evaluate({h, nullptr, 0}, b);
    double sum = 0;
    for (size_t i = 0; i < b.size(); ++i) {
      const double away = std::abs(b[i] - value[i]);
      sum += away < kKnee ? 0.5 * away * away : kKnee * (away - 0.5 * kKnee);
    }
    return sum / static_cast<double>(b.size());
  }

  DenseNetwork& normalizer_;
  Points h_;
  std::span<const double> value_;
  uint64_t fitted_;
  Minibatches minibatches_;
  ClippedAdam adam_;
  DensePass pass_;
  Plan plan_;
  std::vector<float> batch_, d_;
};

}  // namespace

void fit_normalizer(const RegressorProblem& problem, const NormalizerRows& rows, uint64_t seed,
                    RegressorNetworks& networks) {
  RandomStream random(RandomStream(seed, kNormalizerStream).next());
  std::vector<uint64_t> chosen(rows.trained.begin(), rows.trained.end());
  chosen.insert(chosen.end(), rows.unseen.begin(), rows.unseen.end());
  random.shuffle(chosen);
  const size_t kind = problem.model().dimension() - 1;
  chosen.resize(std::min<uint64_t>(chosen.size(), kFittedInputs[kind]));
  // A row, then what is made of it.
  std::vector<uint64_t> pairs;
  for (const uint64_t row : chosen) pairs.insert(pairs.end(), 2, row);
  EncodedFrame x = problem.inputs().take(pairs);
  std::vector<double> noise(x.numeric);
  const bool has_units = problem.options().module.empty();  // inputs of modules are of any scale
  for (uint64_t i = 1; i < x.rows; i += 2) {
    float* const own = x.number.data() + i * x.numeric;
    const double share = random.uniform();
    if (i % 4 == 1 || !has_units) {
      const float* const other = x.number.data() + 2 * random.below(chosen.size()) * x.numeric;
      for (uint32_t j = 0; j < x.numeric; ++j) own[j] += static_cast<float>(share) * (other[j] - own[j]);
    } else {
      fill_normals(random, noise);
      for (uint32_t j = 0; j < x.numeric; ++j) own[j] += static_cast<float>(kAround * share * noise[j]);
    }
  }
  const auto scores = prepare_scores(problem.model(), networks, x.view());
  std::vector<double> value;
  for (const ConditionalLogZ& z : conditional_log_z(*scores, {.precision = kPrecision[kind]}))
    value.push_back(z.value);

  const FeatureNetwork& features = networks.tilt_features ? *networks.tilt_features : *networks.features;
  const uint32_t width = features.width();
  std::vector<float> h(x.rows * width);
  features.evaluate(x.view(), h);
  NormalizerFit fit({h.data(), x.rows, width}, value, random.next(), *networks.normalizer);
  run(fit);
}

}  // namespace selfnorm
