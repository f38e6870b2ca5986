#include "proposal/density/sample_moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "math/gemm.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kRidge = 1e-6;
constexpr size_t kTile = 256;

// Pieces of the rows, cut by their number alone: at most 16, so that partial matrices stay few.
size_t piece(uint64_t rows) { return std::max<size_t>(kTile, (size_t{rows} + 15) / 16); }

// sum over the rows of body(row, out), out of `width` numbers; the pieces are added in order.
template <class Body>
std::vector<double> row_sum(const Points& data, size_t width, const Body& body) {
  const size_t grain = piece(data.rows), pieces = (data.rows + grain - 1) / grain;
  std::vector<double> part(pieces * width);
  parallel_ranges(data.rows, grain,
                  [&](size_t begin, size_t end) { body(begin, end, part.data() + begin / grain * width); });
  for (size_t p = 1; p < pieces; ++p)
    for (size_t j = 0; j < width; ++j) part[j] += part[p * width + j];
  part.resize(width);
  return part;
}

}  // namespace

void require_finite_points(const Points& data) {
  if (data.rows == 0 || data.columns == 0)
    throw Error(
        fmt::format("a density cannot be fitted to {} rows of {} columns; expected at least one of each",
                    data.rows, data.columns));
  for (uint64_t i = 0; i < data.rows; ++i)
    for (uint32_t j = 0; j < data.columns; ++j)
      if (!std::isfinite(data.row(i)[j]))
        throw Error(fmt::format("row {}, column {} is {}; a density can be fitted to finite numbers only", i,
                                j, data.row(i)[j]));
}

ColumnMoments column_moments(const Points& data) {
  const size_t d = data.columns;
  const auto n = static_cast<double>(data.rows);
  ColumnMoments out;
  out.mean = row_sum(data, d, [&](size_t begin, size_t end, double* sum) {
    for (size_t i = begin; i < end; ++i)
      for (size_t j = 0; j < d; ++j) sum[j] += static_cast<double>(data.row(i)[j]);
  });
  for (double& m : out.mean) m /= n;
  out.scale = row_sum(data, d, [&](size_t begin, size_t end, double* sum) {
    for (size_t i = begin; i < end; ++i)
      for (size_t j = 0; j < d; ++j) {
        const double away = static_cast<double>(data.row(i)[j]) - out.mean[j];
        sum[j] += away * away;
      }
  });
  std::vector<double> largest(d);
  for (uint64_t i = 0; i < data.rows; ++i)
    for (size_t j = 0; j < d; ++j)
      largest[j] = std::max(largest[j], std::abs(static_cast<double>(data.row(i)[j])));
  out.is_constant.resize(d);
  for (size_t j = 0; j < d; ++j) {
    out.scale[j] = std::sqrt(out.scale[j] / n);
    out.is_constant[j] = out.scale[j] <= 1e-6 * largest[j];
    if (out.is_constant[j]) out.scale[j] = 1e-3 * (largest[j] > 0 ? largest[j] : 1);
  }
  return out;
}

void standardise(const Points& data, const ColumnMoments& moments, std::span<double> out) {
  for (uint64_t i = 0; i < data.rows; ++i)
    for (size_t j = 0; j < data.columns; ++j)
      out[i * data.columns + j] = (static_cast<double>(data.row(i)[j]) - moments.mean[j]) / moments.scale[j];
}

PrecisionRoot fitted_root(const Points& data, const ColumnMoments& moments, std::span<const double> weight,
                          std::span<const double> centre) {
  const size_t d = data.columns;
  std::vector<double> matrix = row_sum(data, d * d, [&](size_t begin, size_t end, double* sum) {
    std::vector<double> tile(kTile * d);
    for (size_t first = begin; first < end; first += kTile) {
      const size_t last = std::min(end, first + kTile);
      standardise(data.slice(first, last), moments, tile);
      for (size_t i = first; i < last; ++i)
        for (size_t j = 0; j < d; ++j) {
          double& value = tile[(i - first) * d + j];
          if (!centre.empty()) value -= (centre[j] - moments.mean[j]) / moments.scale[j];
          if (!weight.empty()) value *= std::sqrt(weight[i]);
        }
      gemm_transposed(d, d, last - first, tile.data(), d, tile.data(), d, sum, d);
    }
  });
  for (double& v : matrix) v /= static_cast<double>(data.rows);
  for (size_t j = 0; j < d; ++j) matrix[j * d + j] += kRidge + (moments.is_constant[j] ? 1 : 0);
  return PrecisionRoot::of_covariance(data.columns, matrix).unscaled(moments.scale);
}

}  // namespace selfnorm
