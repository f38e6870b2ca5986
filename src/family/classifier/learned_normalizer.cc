#include "family/classifier/learned_normalizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/dataset.h"
#include "family/classifier/minibatch.h"
#include "math/parallel.h"
#include "math/random.h"
#include "model/normalizer_network.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kRate = 10;
constexpr double kLargestRate = 1;
constexpr double kInitialSquare = 1;
constexpr double kMeanDecay = 0.99;
constexpr double kLinearGroups = 2, kMlpGroups = 5;  // of parameters
constexpr size_t kUpdateGrain = 4096;                // parameters
constexpr uint64_t kHiddenStream = 0x68696464656e;   // "hidden"

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

// For every column of x, sum_i |x_ij| and sum_i |x_ij| s_i; then the number of rows, twice.
struct Use {
  std::vector<double> size, weighted;

  explicit Use(const Features& x) : size(x.columns() + size_t{1}), weighted(size.size()) {
    for (uint64_t i = 0; i < x.rows(); ++i) {
      double s = 0;
      for_each_entry(x, i, [&](uint32_t, float v) { s += std::abs(static_cast<double>(v)); });
      for_each_entry(x, i, [&](uint32_t j, float v) { add(j, std::abs(static_cast<double>(v)), s); });
      add(size.size() - 1, 1, 1);
    }
  }

 private:
  void add(size_t j, double v, double s) {
    size[j] += v;
    weighted[j] += v * s;
  }
};

}  // namespace

bool learns_normalizer(const ObjectiveOptions& options) {
  return objective_entry(options.name).uses_normalizer && options.normalizer != "zero";
}

template <class Real>
LearnedNormalizer<Real>::LearnedNormalizer(const ObjectiveOptions& options, uint32_t features, double start,
                                           uint64_t seed)
    : is_zero_(!learns_normalizer(options)),
      is_function_(!is_zero_ && options.normalizer != "constant"),
      start_(is_zero_ ? 0 : start),
      network_(features, options.normalizer == "mlp" ? options.normalizer_hidden : 0),
      theta_(is_function_ ? network_.parameters() : 1),
      optimiser_("adagrad", theta_.size(), kInitialSquare) {
  if (!is_function_) {
    theta_[0] = static_cast<Real>(start_);
    return;
  }
  RandomStream random(seed, kHiddenStream);
  const size_t width = network_.width();
  for (size_t row = 0; row <= features; ++row)
    for (size_t k = 0; k + 1 < width; ++k) theta_[row * width + k] = static_cast<Real>(random.normal());
  theta_[network_.output() - 1] = static_cast<Real>(start_);
}

template <class Real>
std::vector<double> LearnedNormalizer<Real>::values(const Features& x, const FeatureMap* map) const {
  if (is_function_) return network_.values({x, map}, theta_);
  return std::vector<double>(x.rows(), constant());
}

template <class Real>
void LearnedNormalizer<Real>::update(const Features& x, const FeatureMap* map, std::span<const double> d,
                                     double rate) {
  SELFNORM_CHECK(d.size() == x.rows());
  if (is_zero_ || d.empty()) return;
  const double own_rate = std::min(kRate * rate, kLargestRate);
  if (is_function_)
    update_function({x, map}, d, own_rate);
  else
    update_constant(mean_of(d), own_rate);
}

// Before the first step u = 0, so that the hidden weights do not count yet.
template <class Real>
void LearnedNormalizer<Real>::size_hidden_weights(const Features& x) {
  if (std::exchange(is_sized_, true) || network_.hidden() == 0) return;
  const double norm = row_norm(x);
  const size_t width = network_.width();
  for (size_t row = 0; row < network_.features(); ++row)
    for (size_t k = 0; k + 1 < width; ++k)
      theta_[row * width + k] = static_cast<Real>(static_cast<double>(theta_[row * width + k]) / norm);
}

template <class Real>
void LearnedNormalizer<Real>::update_constant(double mean, double rate) {
  const Real g = static_cast<Real>(std::clamp(mean, -1.0, 1.0));
  optimiser_.update(theta_, 0, std::span<const Real>(&g, 1), rate, 0);
}

template <class Real>
void LearnedNormalizer<Real>::update_function(const NormalizerInput& input, std::span<const double> d,
                                              double rate) {
  size_hidden_weights(input.x);
  auto activations = network_.forward(input, theta_);
  mean_sum_ = kMeanDecay * mean_sum_ + (1 - kMeanDecay) * mean_of(activations.value);
  mean_weight_ = kMeanDecay * mean_weight_ + (1 - kMeanDecay);
  const double hidden_square = activations.hidden_square;
  std::vector<Real> gradient(network_.gradient_size(input.x));
  network_.backward(std::move(activations), theta_, d, gradient);
  rate /= network_.hidden() > 0 ? kMlpGroups : kLinearGroups;
  update_rows(input, gradient, rate);
  if (hidden_square > 0) update_output(gradient, static_cast<double>(d.size()), hidden_square, rate);
}

template <class Real>
void LearnedNormalizer<Real>::update_rows(const NormalizerInput& input, std::span<Real> gradient,
                                          double rate) {
  const Use use(input.x);
  const size_t width = network_.width(), hidden = network_.hidden(), columns = input.x.columns();
  double outputs = 1;  // 1 + |u|^2
  for (const Real u : std::span<const Real>(theta_).subspan(network_.output()))
    outputs += static_cast<double>(u) * static_cast<double>(u);
  const bool is_renumbered = input.map != nullptr && !input.map->feature.empty();
  parallel_ranges(columns + 1, kUpdateGrain / width + 1, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      if (use.size[r] == 0) continue;
      const size_t row = r == columns ? network_.features() : is_renumbered ? input.map->feature[r] : r;
      const std::span<Real> g = gradient.subspan(r * width, width);
      for (size_t k = 0; k < width; ++k) {
        const double share = use.size[r] * (k < hidden ? outputs : 1);
        g[k] = static_cast<Real>(std::clamp(static_cast<double>(g[k]) / share, -1.0, 1.0));
      }
      optimiser_.update(theta_, row * width, g, rate * use.size[r] / use.weighted[r], 0);
    }
  });
}

template <class Real>
void LearnedNormalizer<Real>::update_output(std::span<Real> gradient, double rows, double hidden_square,
                                            double rate) {
  const double root = std::sqrt(hidden_square);
  const std::span<Real> g = gradient.last(network_.hidden());
  for (Real& v : g) v = static_cast<Real>(std::clamp(static_cast<double>(v) / (rows * root), -1.0, 1.0));
  optimiser_.update(theta_, network_.output(), g, rate / root, 0);
}

template <class Real>
double LearnedNormalizer<Real>::constant() const {
  if (!is_function_) return static_cast<double>(theta_[0]);
  return mean_weight_ > 0 ? mean_sum_ / mean_weight_ : start_;
}

template <class Real>
AmortisedNormalizer LearnedNormalizer<Real>::function() const {
  if (!is_function_) return {};
  AmortisedNormalizer b = network_.amortised(theta_, {});
  b.intercept -= constant();
  return b;
}

template <class Real>
void LearnedNormalizer<Real>::state(CheckpointFields& fields) {
  fields("normalizer.theta", theta_);
  fields("normalizer.square", optimiser_.state().square);
  fields("normalizer.is_sized", is_sized_);
  fields("normalizer.mean_sum", mean_sum_);
  fields("normalizer.mean_weight", mean_weight_);
}

template class LearnedNormalizer<float>;
template class LearnedNormalizer<double>;

}  // namespace selfnorm
