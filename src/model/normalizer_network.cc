#include "selfnorm/model/normalizer_network.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRowsAtOnce = 64;
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

}  // namespace

template <class Real>
std::vector<double> NormalizerNetwork<Real>::values(const Features& x, std::span<const Real> theta) const {
  SELFNORM_CHECK(theta.size() == parameters());
  const Multiclass<Real> model(x, width(), features_, {});
  const Range all{0, width()};
  std::vector<double> out(x.rows());
  parallel_ranges(x.rows(), kRowsAtOnce, [&](size_t begin, size_t end) {
    std::vector<Real> scores((end - begin) * width());
    model.scores(theta.first(output()), {begin, end}, all, scores.data());
    for (size_t i = begin; i < end; ++i)
      out[i] = contribution(all, theta.subspan(output()), scores.data() + (i - begin) * width());
  });
  return out;
}

// A tile of hidden units owns its scores, its columns of the gradient and its part of du.
template <class Real>
double NormalizerNetwork<Real>::squared_error(const NormalizerTargets& targets, std::span<const Real> theta,
                                              double scale, std::span<Real> gradient) const {
  const uint64_t n = targets.x.rows();
  SELFNORM_CHECK(theta.size() == parameters() && targets.value.size() == n);
  SELFNORM_CHECK(gradient.empty() || gradient.size() == gradient_size(targets.x));
  const Multiclass<Real> model(targets.x, width(), features_, {}, targets.map);
  const auto u = theta.subspan(output());
  const uint64_t tiles = (width() + kTile - 1) / kTile;
  const auto tile_of = [&](uint64_t t) { return Range{t * width() / tiles, (t + 1) * width() / tiles}; };

  std::vector<std::vector<Real>> scores(tiles);
  std::vector<double> parts(tiles * n);
  parallel_units(tiles, [&](size_t t) {
    const Range tile = tile_of(t);
    scores[t].resize(n * tile.size());
    model.scores(theta.first(output()), {0, n}, tile, scores[t].data());
    for (uint64_t i = 0; i < n; ++i)
      parts[t * n + i] = contribution(tile, u, scores[t].data() + i * tile.size());
  });

  std::vector<double> residual(n);
  double sum = 0;
  for (uint64_t i = 0; i < n; ++i) {
    for (uint64_t t = 0; t < tiles; ++t) residual[i] += parts[t * n + i];
    residual[i] -= targets.value[i];
    sum += residual[i] * residual[i];
  }
  if (gradient.empty()) return sum;

  const std::span<Real> d_output = gradient.last(hidden_);
  parallel_units(tiles, [&](size_t t) {
    const Range tile = tile_of(t);
    for (uint64_t j = tile.begin; j < tile.end; ++j) {
      double du = 0;
      for (uint64_t i = 0; i < n; ++i) {
        Real& s = scores[t][i * tile.size() + (j - tile.begin)];
        const double r = 2 * scale * residual[i];
        if (j < hidden_) du += r * std::max(0.0, static_cast<double>(s));
        s = static_cast<Real>(j == hidden_ ? r : s > 0 ? r * static_cast<double>(u[j]) : 0);
      }
      if (j < hidden_) d_output[j] += static_cast<Real>(du);
    }
    model.backward({0, n}, tile, scores[t].data(), gradient.data());
  });
  return sum;
}

std::vector<double> values_of(const AmortisedNormalizer& b, const Features& x) {
  SELFNORM_CHECK(b.exists());
  const auto d = static_cast<uint32_t>(b.slope.size());
  const NormalizerNetwork<double> network(d, b.hidden());
  const size_t width = network.width();
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
  return network.values(x, theta);
}

template class NormalizerNetwork<float>;
template class NormalizerNetwork<double>;

}  // namespace selfnorm
