#include <algorithm>
#include <cmath>
#include <numeric>

#include "selfnorm/base/error.h"
#include "selfnorm/proposal/conditional/mixture.h"

namespace selfnorm {
namespace {

// log(e^s - 1), the inverse of softplus, s > 0.
double inverse_softplus(double s) { return s + std::log(-std::expm1(-s)); }

struct CellMoments {
  std::vector<double> mean, deviation;
};

CellMoments moments_of(const Points& y, std::span<const uint64_t> cell) {
  const size_t d = y.columns;
  CellMoments out{std::vector<double>(d), std::vector<double>(d)};
  const auto n = static_cast<double>(cell.size());
  for (size_t j = 0; j < d; ++j) {
    for (const uint64_t i : cell) out.mean[j] += static_cast<double>(y.row(i)[j]) / n;
    for (const uint64_t i : cell) {
      const double difference = static_cast<double>(y.row(i)[j]) - out.mean[j];
      out.deviation[j] += difference * difference / n;
    }
    out.deviation[j] = std::sqrt(out.deviation[j]);
  }
  return out;
}

// The cell in `parts` of equal size, along the coordinate that varies most, then each half again.
void cut(const Points& y, std::span<uint64_t> cell, size_t parts, std::vector<CellMoments>& out) {
  CellMoments moments = moments_of(y, cell);
  if (parts == 1) {
    out.push_back(std::move(moments));
    return;
  }
  const auto j = static_cast<size_t>(std::ranges::max_element(moments.deviation) - moments.deviation.begin());
  const size_t left = parts / 2, place = std::min(cell.size() - 1, cell.size() * left / parts);
  const auto key = [&](uint64_t i) { return std::pair(y.row(i)[j], i); };
  std::ranges::nth_element(cell, cell.begin() + static_cast<ptrdiff_t>(place), {}, key);
  cut(y, cell.first(std::max<size_t>(1, place)), left, out);
  cut(y, cell.subspan(place), parts - left, out);
}

}  // namespace

std::vector<float> ConditionalMixture::start(const Points& y) const {
  SELFNORM_CHECK(y.columns == shape_.dimension && y.rows > 0);
  const size_t d = shape_.dimension, components = shape_.components, cells = components * d;
  std::vector<uint64_t> all(y.rows);
  std::iota(all.begin(), all.end(), uint64_t{0});
  const CellMoments whole = moments_of(y, all);
  std::vector<CellMoments> parts;
  cut(y, all, components, parts);
  std::vector<float> out(shape_.parameters());
  const double widening = components == 1 ? 1 : 1.5;
  for (size_t k = 0; k < components; ++k)
    for (size_t j = 0; j < d; ++j) {
      // Repeated values leave cells without width: a tenth of the mean width at least.
      const double narrowest = 0.1 * whole.deviation[j] / static_cast<double>(components);
      const double scale = std::max(widening * parts[k].deviation[j], narrowest);
      out[components + k * d + j] = static_cast<float>(parts[k].mean[j]);
      out[components + cells + k * d + j] =
          static_cast<float>(inverse_softplus(std::max(scale - shape_.least_scale, shape_.least_scale)));
    }
  return out;
}

}  // namespace selfnorm
