#include "model/normalizer_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNormalizerRowsAtOnce = 64;
constexpr uint64_t kTile = 32;

// sum over the classes of the tile of u_j max(0, s_j), or s_m; s is a row of the tile.
template <class Real>
double contribution(Range tile, std::span<const Real> u, const Real* s) {
  double sum = 0;
  for (uint64_t j = tile.begin; j < tile.end; ++j) {
    const double score = static_cast<double>(s[j - tile.begin]);
    if (j == u.size())
      sum += score;
    else if (score > 0 || !std::isfinite(score))
      sum += static_cast<double>(u[j]) * score;
  }
  return sum;
}

NormalizerNetwork<double> network_of(const AmortisedNormalizer& b) {
  SELFNORM_CHECK(b.exists());
  return {static_cast<uint32_t>(b.slope.size()), b.hidden()};
}

std::vector<double> theta_of(const AmortisedNormalizer& b) {
  const NormalizerNetwork<double> network = network_of(b);
  const size_t d = network.features(), width = network.width();
  std::vector<double> theta(network.parameters());
  for (size_t j = 0; j < d; ++j) {
    for (size_t i = 0; i < b.hidden(); ++i)
      theta[j * width + i] = static_cast<double>(b.hidden_weight[i * d + j]);
    theta[j * width + b.hidden()] = static_cast<double>(b.slope[j]);
  }
  for (size_t i = 0; i < b.hidden(); ++i) {
    theta[d * width + i] = static_cast<double>(b.hidden_bias[i]);
    theta[network.output() + i] = static_cast<double>(b.output[i]);
  }
  theta[d * width + b.hidden()] = b.intercept;
  return theta;
}

}  // namespace

template <class Real>
std::vector<double> NormalizerNetwork<Real>::values(const NormalizerInput& input,
                                                    std::span<const Real> theta) const {
  SELFNORM_CHECK(theta.size() == parameters());
  const Multiclass<Real> model(input.x, width(), features_, {}, input.map);
  const Range all{0, width()};
  std::vector<double> out(input.x.rows());
  parallel_ranges(input.x.rows(), kNormalizerRowsAtOnce, [&](size_t begin, size_t end) {
    std::vector<Real> scores((end - begin) * width());
    model.scores(theta.first(output()), {begin, end}, all, scores.data());
    for (size_t i = begin; i < end; ++i)
      out[i] = contribution(all, theta.subspan(output()), scores.data() + (i - begin) * width());
  });
  return out;
}

template <class Real>
uint64_t NormalizerNetwork<Real>::tiles() const {
  return (width() + kTile - 1) / kTile;
}

template <class Real>
Range NormalizerNetwork<Real>::tile(uint64_t t) const {
  return {t * width() / tiles(), (t + 1) * width() / tiles()};
}

// A tile of hidden units owns its scores, its columns of the gradient and its part of du.
template <class Real>
typename NormalizerNetwork<Real>::Activations NormalizerNetwork<Real>::forward(
    const NormalizerInput& input, std::span<const Real> theta) const {
  const uint64_t n = input.x.rows();
  SELFNORM_CHECK(theta.size() == parameters());
  const Multiclass<Real> model(input.x, width(), features_, {}, input.map);
  Activations out{input, std::vector<std::vector<Real>>(tiles()), std::vector<double>(n), 0};
  std::vector<double> parts(tiles() * n), squares(tiles());
  parallel_units(tiles(), [&](size_t t) {
    const Range units = tile(t);
    std::vector<Real>& scores = out.scores[t];
    scores.resize(n * units.size());
    model.scores(theta.first(output()), {0, n}, units, scores.data());
    for (uint64_t i = 0; i < n; ++i) {
      const Real* row = scores.data() + i * units.size();
      parts[t * n + i] = contribution(units, theta.subspan(output()), row);
      for (uint64_t j = units.begin; j < std::min<uint64_t>(units.end, hidden_); ++j)
        squares[t] += std::pow(std::max(0.0, static_cast<double>(row[j - units.begin])), 2);
    }
  });
  for (uint64_t t = 0; t < tiles(); ++t) {
    for (uint64_t i = 0; i < n; ++i) out.value[i] += parts[t * n + i];
    out.hidden_square += squares[t] / static_cast<double>(std::max<uint64_t>(n, 1));
  }
  return out;
}

template <class Real>
void NormalizerNetwork<Real>::backward(Activations activations, std::span<const Real> theta,
                                       std::span<const double> d_value, std::span<Real> gradient) const {
  const NormalizerInput& input = activations.input;
  const uint64_t n = input.x.rows();
  SELFNORM_CHECK(theta.size() == parameters() && d_value.size() == n);
  SELFNORM_CHECK(gradient.size() == gradient_size(input.x));
  const Multiclass<Real> model(input.x, width(), features_, {}, input.map);
  const auto u = theta.subspan(output());
  const std::span<Real> d_output = gradient.last(hidden_);
  parallel_units(tiles(), [&](size_t t) {
    const Range units = tile(t);
    std::vector<Real>& scores = activations.scores[t];
    for (uint64_t j = units.begin; j < units.end; ++j) {
      double du = 0;
      for (uint64_t i = 0; i < n; ++i) {
        Real& s = scores[i * units.size() + (j - units.begin)];
        const double r = d_value[i];
        if (j < hidden_) du += r * std::max(0.0, static_cast<double>(s));
        s = static_cast<Real>(j == hidden_ ? r : s > 0 ? r * static_cast<double>(u[j]) : 0);
      }
      if (j < hidden_) d_output[j] += static_cast<Real>(du);
    }
    model.backward({0, n}, units, scores.data(), gradient.data());
  });
}

template <class Real>
double NormalizerNetwork<Real>::squared_error(const NormalizerTargets& targets, std::span<const Real> theta,
                                              double scale, std::span<Real> gradient) const {
  const uint64_t n = targets.x.rows();
  SELFNORM_CHECK(targets.value.size() == n);
  Activations activations = forward({targets.x, targets.map}, theta);
  std::vector<double> d_value(n);
  double sum = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const double residual = activations.value[i] - targets.value[i];
    sum += residual * residual;
    d_value[i] = 2 * scale * residual;
  }
  if (!gradient.empty()) backward(std::move(activations), theta, d_value, gradient);
  return sum;
}

template <class Real>
AmortisedNormalizer NormalizerNetwork<Real>::amortised(std::span<const Real> theta,
                                                       const Scaling& scaling) const {
  SELFNORM_CHECK(theta.size() == parameters());
  ModelFile raw;
  raw.classes = width();
  raw.features = features_;
  store_parameters(theta.first(output()), scaling, raw);
  const auto linear = raw.weight.begin() + static_cast<std::ptrdiff_t>(size_t{hidden_} * features_);
  AmortisedNormalizer b;
  b.hidden_weight.assign(raw.weight.begin(), linear);
  b.slope.assign(linear, raw.weight.end());
  b.hidden_bias.assign(raw.bias.begin(), raw.bias.end() - 1);
  b.intercept = static_cast<double>(raw.bias.back());
  for (const Real u : theta.subspan(output())) b.output.push_back(static_cast<float>(u));
  return b;
}

AmortisedNormalizer folded(const AmortisedNormalizer& normalizer, const Scaling& scaling) {
  return network_of(normalizer).amortised(theta_of(normalizer), scaling);
}

std::vector<double> values_of(const AmortisedNormalizer& normalizer, const Features& x) {
  return network_of(normalizer).values({x}, theta_of(normalizer));
}

template class NormalizerNetwork<float>;
template class NormalizerNetwork<double>;

}  // namespace selfnorm
