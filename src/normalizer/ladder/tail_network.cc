#include "normalizer/ladder/tail_network.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "math/kernels.h"
#include "math/parallel.h"
#include "math/random.h"
#include "network/pass.h"
#include "optim/adaptive.h"

namespace selfnorm {
namespace {

using runtime::kTailBound;
using runtime::kTailExtras;
using runtime::NearestSum;

constexpr uint64_t kTailStream = 0x7461696c;  // "tail"

// The columns that t sees, (x, f) or f, scaled to mean 0 and variance 1.
struct TailInputs {
  size_t features = 0, width = 0;
  std::vector<double> mean, deviation;
  std::vector<float> rows;

  TailInputs(const Features& x, std::span<const NearestSum> sums, std::span<const uint64_t> used)
      : features(x.is_sparse ? 0 : x.columns()),
        width(features + kTailExtras),
        mean(width),
        deviation(width) {
    std::vector<double> values(used.size() * width);
    for (size_t i = 0; i < used.size(); ++i) {
      double* row = values.data() + i * width;
      double f[kTailExtras];
      for (size_t j = 0; j < features; ++j) row[j] = static_cast<double>(x.dense.row(used[i])[j]);
      sums[used[i]].extras(f);
      std::copy_n(f, kTailExtras, row + features);
      for (size_t j = 0; j < width; ++j) mean[j] += row[j] / static_cast<double>(used.size());
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const double v = values[i] - mean[i % width];
      deviation[i % width] += v * v / static_cast<double>(used.size());
    }
    for (double& v : deviation) v = v > 1e-12 ? std::sqrt(v) : 1;
    for (size_t i = 0; i < values.size(); ++i)
      rows.push_back(static_cast<float>((values[i] - mean[i % width]) / deviation[i % width]));
  }
};

// e = log(near + left exp t) - A, and its derivative by t.
struct TailError {
  double error, slope;

  TailError(const NearestSum& sum, double t, double log_z) {
    const double tail = sum.left * std::exp(std::clamp(t, -kTailBound, kTailBound));
    error = sum.log_z(t) - log_z;
    slope = std::abs(t) > kTailBound ? 0 : tail / (sum.near + tail);
  }
};

}  // namespace

std::vector<uint64_t> fit_tail(const Features& x, std::span<const NearestSum> sums,
                               std::span<const double> log_z, const TailOptions& options, LadderRung& rung) {
  rung.b = {};
  rung.extra.clear();
  RandomStream random(options.seed, kTailStream);
  std::vector<uint64_t> rows(sums.size());
  std::iota(rows.begin(), rows.end(), 0);
  random.shuffle(rows);
  const auto kept = static_cast<size_t>((1 - options.hold_out) * static_cast<double>(rows.size()));
  const std::vector<uint64_t> apart(rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end());
  std::vector<uint64_t> used;  // those with a tail, the training rows first
  size_t training = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!sums[rows[i]].has_tail()) continue;
    used.push_back(rows[i]);
    if (i < kept) ++training;
  }
  if (used.size() < 50) return apart;
  const TailInputs inputs(x, sums, used);
  const size_t m = options.hidden, width = inputs.width, held_out = used.size() - training;

  NetworkPlan plan;
  plan.inputs = static_cast<uint32_t>(width);
  plan.widths = {options.hidden};
  plan.activation = Activation::relu;
  plan.has_score = true;
  Network network(plan);
  const NetworkLayer& layer = network.shape.layers[0];
  network.draw(random, layer.weight, layer.size(), 1 / std::sqrt(static_cast<double>(width)));
  network.draw(random, layer.bias, m, 0.5);
  network.pack();
  const auto points = [&](std::span<const float> values) {
    Points out;
    out.data = values.data();
    out.rows = values.size() / width;
    out.columns = static_cast<uint32_t>(width);
    return out;
  };
  const auto square_error = [&] {
    std::vector<double> t(held_out);
    const std::span<const float> values(inputs.rows.data() + training * width, held_out * width);
    evaluate<double>(network, NetworkRows(points(values)), t);
    double sum = 0;
    for (size_t i = 0; i < held_out; ++i) {
      const uint64_t row = used[training + i];
      const double e = TailError(sums[row], t[i], log_z[row]).error;
      sum += e * e;
    }
    return sum;
  };

  double least = square_error();
  std::vector<float> best;  // none: t = 0
  Adaptive<float> adam("adam", network.theta.size(), 0);
  NetworkPass<double> pass(network);
  std::vector<float> gradient(network.theta.size()), batch_rows;
  std::vector<uint64_t> order(training);
  const uint64_t steps = options.epochs * ((training + options.batch - 1) / options.batch);
  const Schedule schedule{"cosine", steps, 1};
  uint64_t step = 0;
  for (uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
    for (size_t i = 0; i < training; ++i) order[i] = i;
    random.shuffle(order);
    for (size_t begin = 0; begin < training; begin += options.batch, ++step) {
      const size_t n = std::min<size_t>(options.batch, training - begin);
      batch_rows.clear();
      for (size_t i = 0; i < n; ++i) {
        const float* row = inputs.rows.data() + order[begin + i] * width;
        batch_rows.insert(batch_rows.end(), row, row + width);
      }
      const std::span<const double> t = pass.forward(NetworkRows(points(batch_rows)));
      std::vector<double> d(n);
      for (size_t i = 0; i < n; ++i) {
        const uint64_t row = used[order[begin + i]];
        const TailError e(sums[row], t[i], log_z[row]);
        d[i] = 2 * e.error * e.slope / static_cast<double>(n);
      }
      std::fill(gradient.begin(), gradient.end(), 0.0f);
      pass.backward(d, gradient, {});
      adam.begin_step();
      adam.update(network.theta, 0, gradient, options.rate * schedule.factor(step), 0);
      network.pack();
    }
    if (const double now = square_error(); now < least) {
      least = now;
      best = network.theta;
    }
  }
  if (best.empty()) return apart;

  const size_t d = inputs.features;
  for (size_t u = 0; u < m; ++u) {
    const float* weight = best.data() + layer.weight + u * width;
    double bias = static_cast<double>(best[layer.bias + u]);
    for (size_t j = 0; j < width; ++j) {
      const double v = static_cast<double>(weight[j]) / inputs.deviation[j];
      bias -= v * inputs.mean[j];
      (j < d ? rung.b.hidden_weight : rung.extra).push_back(static_cast<float>(v));
    }
    rung.b.hidden_bias.push_back(static_cast<float>(bias));
    rung.b.output.push_back(best[network.shape.output + u]);
  }
  return apart;
}

std::vector<double> tail_values(const LadderRung& rung, const Features& x, std::span<const NearestSum> sums) {
  const size_t m = rung.b.output.size(), d = rung.b.hidden_weight.size() / std::max<size_t>(1, m);
  std::vector<double> out(sums.size());
  parallel_ranges(sums.size(), 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      double f[kTailExtras];
      sums[i].extras(f);
      double t = rung.b.intercept;
      for (size_t u = 0; u < m && sums[i].has_tail(); ++u) {
        double unit = static_cast<double>(rung.b.hidden_bias[u]);
        for (size_t e = 0; e < kTailExtras; ++e)
          unit += static_cast<double>(rung.extra[u * kTailExtras + e]) * f[e];
        if (d > 0) unit += dot(rung.b.hidden_weight.data() + u * d, x.dense.row(i).data(), d);
        t += static_cast<double>(rung.b.output[u]) * std::max(0.0, unit);
      }
      out[i] = sums[i].has_tail() ? t : 0;
    }
  });
  return out;
}

}  // namespace selfnorm
