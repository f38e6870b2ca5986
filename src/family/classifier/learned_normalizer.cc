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
#include "optim/adaptive.h"
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

template <class Real>
struct LearnedNormalizer<Real>::State {
  bool is_zero, is_function;
  double start;
  NormalizerNetwork<Real> network;  // of a function
  std::vector<Real> theta;          // of the network; constant: b
  Adaptive<Real> optimiser;
  bool is_sized = false;                 // mlp: the hidden weights have met their first minibatch
  double mean_sum = 0, mean_weight = 0;  // of b over recent minibatches, when it is a function

  State(const ObjectiveOptions& options, uint32_t features, double start_value, uint64_t seed)
      : is_zero(!learns_normalizer(options)),
        is_function(!is_zero && options.normalizer != "constant"),
        start(is_zero ? 0 : start_value),
        network(features, options.normalizer == "mlp" ? options.normalizer_hidden : 0),
        theta(is_function ? network.parameters() : 1),
        optimiser("adagrad", theta.size(), kInitialSquare) {
    if (!is_function) {
      theta[0] = static_cast<Real>(start);
      return;
    }
    RandomStream random(seed, kHiddenStream);
    const size_t width = network.width();
    for (size_t row = 0; row <= features; ++row) {
      for (size_t k = 0; k + 1 < width; ++k) theta[row * width + k] = static_cast<Real>(random.normal());
    }
    theta[network.output() - 1] = static_cast<Real>(start);
  }

  // Before the first step u = 0, so that the hidden weights do not count yet.
  void size_hidden_weights(const Features& x) {
    if (std::exchange(is_sized, true) || network.hidden() == 0) return;
    const double norm = row_norm(x);
    const size_t width = network.width();
    for (size_t row = 0; row < network.features(); ++row) {
      for (size_t k = 0; k + 1 < width; ++k)
        theta[row * width + k] = static_cast<Real>(static_cast<double>(theta[row * width + k]) / norm);
    }
  }

  void update_constant(double mean, double rate) {
    const Real g = static_cast<Real>(std::clamp(mean, -1.0, 1.0));
    optimiser.update(theta, 0, std::span<const Real>(&g, 1), rate, 0);
  }

  void update_function(const NormalizerInput& input, std::span<const double> d, double rate) {
    size_hidden_weights(input.x);
    auto activations = network.forward(input, theta);
    mean_sum = kMeanDecay * mean_sum + (1 - kMeanDecay) * mean_of(activations.value);
    mean_weight = kMeanDecay * mean_weight + (1 - kMeanDecay);
    const double hidden_square = activations.hidden_square;
    std::vector<Real> gradient(network.gradient_size(input.x));
    network.backward(std::move(activations), theta, d, gradient);
    rate /= network.hidden() > 0 ? kMlpGroups : kLinearGroups;
    update_rows(input, gradient, rate);
    if (hidden_square > 0) update_output(gradient, static_cast<double>(d.size()), hidden_square, rate);
  }

  void update_rows(const NormalizerInput& input, std::span<Real> gradient, double rate) {
    const Use use(input.x);
    const size_t width = network.width(), hidden = network.hidden(), columns = input.x.columns();
    double outputs = 1;  // 1 + |u|^2
    for (const Real u : std::span<const Real>(theta).subspan(network.output()))
      outputs += static_cast<double>(u) * static_cast<double>(u);
    const bool is_renumbered = input.map != nullptr && !input.map->feature.empty();
    parallel_ranges(columns + 1, kUpdateGrain / width + 1, [&](size_t begin, size_t end) {
      for (size_t r = begin; r < end; ++r) {
        if (use.size[r] == 0) continue;
        const size_t row = r == columns ? network.features() : is_renumbered ? input.map->feature[r] : r;
        const std::span<Real> g = gradient.subspan(r * width, width);
        for (size_t k = 0; k < width; ++k) {
          const double share = use.size[r] * (k < hidden ? outputs : 1);
          g[k] = static_cast<Real>(std::clamp(static_cast<double>(g[k]) / share, -1.0, 1.0));
        }
        optimiser.update(theta, row * width, g, rate * use.size[r] / use.weighted[r], 0);
      }
    });
  }

  void update_output(std::span<Real> gradient, double rows, double hidden_square, double rate) {
    const double root = std::sqrt(hidden_square);
    const std::span<Real> g = gradient.last(network.hidden());
    for (Real& v : g) v = static_cast<Real>(std::clamp(static_cast<double>(v) / (rows * root), -1.0, 1.0));
    optimiser.update(theta, network.output(), g, rate / root, 0);
  }
};

bool learns_normalizer(const ObjectiveOptions& options) {
  return objective_entry(options.name).uses_normalizer && options.normalizer != "zero";
}

template <class Real>
LearnedNormalizer<Real>::LearnedNormalizer(const ObjectiveOptions& options, uint32_t features, double start,
                                           uint64_t seed)
    : state_(std::make_unique<State>(options, features, start, seed)) {}

template <class Real>
LearnedNormalizer<Real>::~LearnedNormalizer() = default;

template <class Real>
std::vector<double> LearnedNormalizer<Real>::values(const Features& x, const FeatureMap* map) const {
  if (state_->is_function) return state_->network.values({x, map}, state_->theta);
  return std::vector<double>(x.rows(), constant());
}

template <class Real>
void LearnedNormalizer<Real>::update(const Features& x, const FeatureMap* map, std::span<const double> d,
                                     double rate) {
  SELFNORM_CHECK(d.size() == x.rows());
  if (state_->is_zero || d.empty()) return;
  const double own_rate = std::min(kRate * rate, kLargestRate);
  if (state_->is_function)
    state_->update_function({x, map}, d, own_rate);
  else
    state_->update_constant(mean_of(d), own_rate);
}

template <class Real>
double LearnedNormalizer<Real>::constant() const {
  if (!state_->is_function) return static_cast<double>(state_->theta[0]);
  return state_->mean_weight > 0 ? state_->mean_sum / state_->mean_weight : state_->start;
}

template <class Real>
bool LearnedNormalizer<Real>::is_function() const {
  return state_->is_function;
}

template <class Real>
AmortisedNormalizer LearnedNormalizer<Real>::function() const {
  if (!state_->is_function) return {};
  AmortisedNormalizer b = state_->network.amortised(state_->theta, {});
  b.intercept -= constant();
  return b;
}

template <class Real>
void LearnedNormalizer<Real>::store(ModelFile& model) const {
  model.log_normalizer = constant();
  model.normalizer = function();
}

template <class Real>
std::span<Real> LearnedNormalizer<Real>::parameters() {
  return state_->theta;
}

template <class Real>
std::vector<double> LearnedNormalizer<Real>::numbers() const {
  return {state_->mean_sum, state_->mean_weight};
}

template <class Real>
void LearnedNormalizer<Real>::set_numbers(std::span<const double> numbers) {
  state_->mean_sum = numbers[0];
  state_->mean_weight = numbers[1];
}

template <class Real>
void LearnedNormalizer<Real>::save(Checkpoint& checkpoint) const {
  checkpoint.set("normalizer.theta", state_->theta);
  checkpoint.set("normalizer.square", state_->optimiser.state().square);
  checkpoint.set("normalizer.is_sized", uint64_t{state_->is_sized});
  checkpoint.set("normalizer.mean_sum", state_->mean_sum);
  checkpoint.set("normalizer.mean_weight", state_->mean_weight);
}

template <class Real>
void LearnedNormalizer<Real>::restore(const Checkpoint& checkpoint) {
  AdaptiveState<Real> squares = state_->optimiser.state();
  checkpoint.get("normalizer.theta", state_->theta);
  checkpoint.get("normalizer.square", squares.square);
  state_->optimiser.restore(std::move(squares));
  state_->is_sized = checkpoint.integer("normalizer.is_sized") != 0;
  state_->mean_sum = checkpoint.number("normalizer.mean_sum");
  state_->mean_weight = checkpoint.number("normalizer.mean_weight");
}

template class LearnedNormalizer<float>;
template class LearnedNormalizer<double>;

}  // namespace selfnorm
