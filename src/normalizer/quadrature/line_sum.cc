#include "normalizer/quadrature/line_sum.h"

#include <algorithm>
#include <cmath>

#include "math/parallel.h"
#include "math/random.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/line_distribution.h"

namespace selfnorm {
namespace {

constexpr double kFinestLine = 1e-7, kCoarsestLine = 0.1;  // of an integral
constexpr double kDrawPrecision = 1e-5;
constexpr double kLeastLevel = 1e-12;

// f(first row, their points) of blocks of rows.
template <class Function>
void for_blocks(const Points& x, const Function& f) {
  for (uint64_t begin = 0; begin < x.rows; begin += rows_at_once(1))
    f(begin, x.slice(begin, std::min(x.rows, begin + rows_at_once(1))));
}

}  // namespace

LineSum line_sum(const AutoregressiveEnergy& energy, const Points& x, double precision) {
  const uint32_t d = energy.dimension();
  const std::vector<double> zero(x.rows);
  LineSum out{zero, zero, zero};
  for_blocks(x, [&](uint64_t first, const Points& block) {
    for (uint32_t i = 0; i < d; ++i) {
      const auto scores = energy.line(i, block);
      const auto found = conditional_log_z(
          *scores, {.precision = std::clamp(precision / d, kFinestLine, kCoarsestLine), .first_row = first});
      for (uint64_t r = 0; r < block.rows; ++r) {
        const double excess = found[r].value - scores->normalizer(r);
        out.value[first + r] += excess;
        out.bound[first + r] += std::expm1(excess);
        out.error[first + r] += found[r].error;
      }
    }
  });
  return out;
}

void sample_lines(const AutoregressiveEnergy& energy, uint64_t seed, std::span<float> rows) {
  const uint32_t d = energy.dimension();
  std::ranges::fill(rows, 0.0f);
  const Points all{rows.data(), rows.size() / d, d};
  for_blocks(all, [&](uint64_t first, const Points& block) {
    for (uint32_t i = 0; i < d; ++i) {
      const auto nodes =
          conditional_quadrature(*energy.line(i, block), {.precision = kDrawPrecision, .first_row = first});
      parallel_units(block.rows, [&](size_t r) {
        const PredictiveNodes* const own = &nodes[r];
        const double level = RandomStream(RandomStream(seed, i).next(), first + r).uniform();
        rows[(first + r) * d + i] =
            static_cast<float>(LineDistribution::of({&own, 1}, 0, 1, 0, 1)
                                   .quantile(std::clamp(level, kLeastLevel, 1 - kLeastLevel)));
      });
    }
  });
}

}  // namespace selfnorm
