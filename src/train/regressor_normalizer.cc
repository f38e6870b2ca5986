#include "regressor_normalizer.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/math/random.h"
#include "selfnorm/normalizer/conditional_quadrature.h"
#include "selfnorm/optim/adaptive.h"
#include "selfnorm/optim/schedule.h"
#include "selfnorm/proposal/density/normal_draws.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNormalizerStream = 0xB0F1;
constexpr uint64_t kSteps = 1500, kBatch = 256, kCheckInterval = 50;
constexpr double kNormalizerRate = 3e-3;
constexpr double kAround = 0.5;   // in standard deviations of the inputs
constexpr uint64_t kMovedOf = 4;  // one of so many inputs is moved
constexpr double kKnee = 0.1;
// By the dimension of y, which is what quadrature costs.
constexpr uint64_t kFittedInputs[] = {4000, 2000, 400};
constexpr double kPrecision[] = {1e-4, 1e-3, 1e-2};

double mean_loss(const DenseNetwork& normalizer, const Points& h, std::span<const double> value) {
  std::vector<float> b(h.rows);
  normalizer.evaluate({h, nullptr, 0}, b);
  double sum = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double away = std::abs(b[i] - value[i]);
    sum += away < kKnee ? 0.5 * away * away : kKnee * (away - 0.5 * kKnee);
  }
  return sum / static_cast<double>(b.size());
}

}  // namespace

void fit_normalizer(const RegressorProblem& problem, std::span<const uint64_t> rows, uint64_t seed,
                    RegressorNetworks& networks) {
  RandomStream random(RandomStream(seed, kNormalizerStream).next());
  std::vector<uint64_t> chosen(rows.begin(), rows.end());
  random.shuffle(chosen);
  const size_t kind = problem.model().dimension() - 1;
  chosen.resize(std::min<uint64_t>(chosen.size(), kFittedInputs[kind]));
  EncodedFrame x = problem.inputs().take(chosen);
  // Some are moved, so that b is also fitted between and around them; those of modules, of any scale, are
  // not.
  std::vector<double> noise(x.numeric);
  for (uint64_t i = 1; i < x.rows && problem.options().module.empty(); i += kMovedOf) {
    fill_normals(random, noise);
    for (uint32_t j = 0; j < x.numeric; ++j)
      x.number[i * x.numeric + j] += static_cast<float>(kAround * noise[j]);
  }
  const auto scores = prepare_scores(problem.model(), networks, x.view());
  std::vector<double> value;
  for (const ConditionalLogZ& z : conditional_log_z(*scores, {.precision = kPrecision[kind]}))
    value.push_back(z.value);

  const FeatureNetwork& features = networks.tilt_features ? *networks.tilt_features : *networks.features;
  const uint32_t width = features.width();
  std::vector<float> h(x.rows * width);
  features.evaluate(x.view(), h);
  const uint64_t held = x.rows / 5, fitted = x.rows - held;
  const Points all{h.data(), x.rows, width};
  const auto held_loss = [&] {
    return held == 0 ? mean_loss(*networks.normalizer, all, value)
                     : mean_loss(*networks.normalizer, all.slice(fitted, x.rows),
                                 std::span<const double>(value).subspan(fitted));
  };

  const std::span<float> theta = networks.normalizer->parameters();
  std::vector<float> best(theta.begin(), theta.end()), gradient(theta.size()), batch, d;
  double best_loss = held_loss();
  Adaptive<float> optimiser("adam", theta.size(), 0);
  const Schedule schedule{"cosine", kSteps, 1};
  DensePass pass(*networks.normalizer);
  for (uint64_t step = 0; step < kSteps; ++step) {
    const uint64_t n = std::min(kBatch, fitted);
    batch.resize(n * width);
    d.resize(n);
    std::vector<uint64_t> picked(n);
    for (uint64_t i = 0; i < n; ++i) {
      picked[i] = n == fitted ? i : random.below(fitted);
      std::copy_n(h.data() + picked[i] * width, width, batch.data() + i * width);
    }
    const Points b = pass.forward({{batch.data(), n, width}, nullptr, 0});
    for (uint64_t i = 0; i < n; ++i)
      d[i] = static_cast<float>(std::clamp(b.data[i] - value[picked[i]], -kKnee, kKnee) /
                                static_cast<double>(n));
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    pass.backward(d, gradient, {});
    optimiser.begin_step();
    optimiser.update(theta, 0, gradient, kNormalizerRate * schedule.factor(step), 0);
    networks.normalizer->parameters_changed();
    if ((step + 1) % kCheckInterval != 0) continue;
    if (const double loss = held_loss(); loss < best_loss) {
      best_loss = loss;
      best.assign(theta.begin(), theta.end());
    }
  }
  std::copy(best.begin(), best.end(), theta.begin());
  networks.normalizer->parameters_changed();
}

}  // namespace selfnorm
