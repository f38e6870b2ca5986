#include "normalizer/ladder/score_rows.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/gemm.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr double kRidge = 1e-6;

// In place: the lower factor, zeros above.
void cholesky(std::vector<double>& a, size_t d) {
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i * d + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * d + k] * a[j * d + k];
      a[i * d + j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / a[j * d + j];
    }
    std::fill(a.begin() + static_cast<std::ptrdiff_t>(i * d + i + 1),
              a.begin() + static_cast<std::ptrdiff_t>((i + 1) * d), 0.0);
  }
}

}  // namespace

InputMetric InputMetric::of(const DenseMatrix& x) {
  const size_t d = x.columns, n = x.rows;
  InputMetric out{std::vector<double>(d), std::vector<double>(d * d)};
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < d; ++j) out.mean[j] += static_cast<double>(x.values[i * d + j]);
  for (double& m : out.mean) m /= static_cast<double>(n);
  std::vector<double> centred(n * d);
  for (size_t i = 0; i < n * d; ++i) centred[i] = static_cast<double>(x.values[i]) - out.mean[i % d];
  gemm_transposed(d, d, n, centred.data(), d, centred.data(), d, out.factor.data(), d);
  double trace = 0;
  for (size_t j = 0; j < d; ++j) trace += out.factor[j * d + j];
  for (double& v : out.factor) v /= static_cast<double>(n);
  const double least = kRidge * trace / static_cast<double>(n * d) + 1e-12;
  for (size_t j = 0; j < d; ++j) out.factor[j * d + j] += least;
  cholesky(out.factor, d);
  return out;
}

std::vector<float> InputMetric::whitened(const DenseMatrix& x) const {
  const size_t d = x.columns;
  std::vector<float> out(x.values.size());
  parallel_ranges(x.rows, 64, [&](size_t begin, size_t end) {
    std::vector<double> z(d);
    for (size_t i = begin; i < end; ++i) {
      for (size_t j = 0; j < d; ++j) {
        double sum = static_cast<double>(x.values[i * d + j]) - mean[j];
        for (size_t k = 0; k < j; ++k) sum -= factor[j * d + k] * z[k];
        z[j] = sum / factor[j * d + j];
        out[i * d + j] = static_cast<float>(z[j]);
      }
    }
  });
  return out;
}

ScoreRows::ScoreRows(const ModelFile& model, const ClassScores& scores, const Features& inputs,
                     const InputMetric* metric)
    : model_(model),
      scores_(scores),
      inputs_(inputs),
      width_(metric ? model.features : static_cast<uint32_t>(std::min(kMetricInputs, inputs.rows()))) {
  if (metric) factor_.assign(metric->factor.begin(), metric->factor.end());
}

void ScoreRows::points(Range range, float* out) const {
  const size_t n = range.end - range.begin, d = model_.features, m = width_;
  if (!factor_.empty())
    return gemm(n, d, d, model_.weight.data() + range.begin * d, d, factor_.data(), d, 0.0f, out, d);
  std::vector<float> tile(m * n);
  scores_.tile(inputs_, {0, m}, range, tile.data());
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(m)));
  for (size_t k = 0; k < n; ++k) {
    double mean = 0;
    for (size_t i = 0; i < m; ++i) mean += static_cast<double>(tile[i * n + k]) / static_cast<double>(m);
    for (size_t i = 0; i < m; ++i) out[k * m + i] = scale * (tile[i * n + k] - static_cast<float>(mean));
  }
}

}  // namespace selfnorm
