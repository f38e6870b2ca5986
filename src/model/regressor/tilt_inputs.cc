#include "selfnorm/model/regressor/tilt_inputs.h"

#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kUnit = 4096;

}  // namespace

void TiltInputs::set(const ConditionalEnergy& tilt, const ConditionalMixture& mixture,
                     const Points& parameters) {
  const uint32_t d = mixture.shape().dimension;
  SELFNORM_CHECK(tilt.dimension() == d || tilt.dimension() == 2 * d);
  moments_.clear();
  if (tilt.dimension() == d) return;
  moments_.resize(parameters.rows * 2 * d);
  mixture.moments(parameters, moments_);
  for (uint64_t i = 0; i < parameters.rows; ++i)
    for (uint32_t j = d; j < 2 * d; ++j) moments_[i * 2 * d + j] = 1 / moments_[i * 2 * d + j];
}

Points TiltInputs::of(const Points& y, std::span<const uint32_t> row, std::vector<float>& memory) const {
  if (moments_.empty()) return y;
  const uint32_t d = y.columns;
  memory.resize(y.rows * 2 * d);
  parallel_ranges(y.rows, kUnit, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const float* moments = moments_.data() + size_t{row[i]} * 2 * d;
      float* out = memory.data() + i * 2 * d;
      for (uint32_t j = 0; j < d; ++j) {
        out[j] = y.data[i * d + j];
        out[d + j] = std::asinh((y.data[i * d + j] - moments[j]) * moments[d + j]);
      }
    }
  });
  return {memory.data(), y.rows, 2 * d};
}

}  // namespace selfnorm
