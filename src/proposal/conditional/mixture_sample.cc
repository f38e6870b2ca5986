#include <algorithm>
#include <limits>

#include "mixture_row.h"
#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/proposal/density/normal_draws.h"

namespace selfnorm {
namespace {

// The k with u in the k-th part of [0, 1) by the weights pi, or the last that has any.
size_t chosen(const MixtureRow& row, size_t components, double u) {
  size_t last = 0;
  for (size_t k = 0; k < components; ++k) {
    if (row.weight(k) > 0) last = k;
    u -= row.weight(k);
    if (u < 0) break;
  }
  return last;
}

}  // namespace

// Stream i: which component for each of the draws of row i, then their coordinates.
void ConditionalMixture::sample(const Points& parameters, uint64_t each, double w, uint64_t seed,
                                std::span<float> y) const {
  SELFNORM_CHECK(w >= 0 && w <= 1 && parameters.columns == shape_.parameters());
  const size_t d = shape_.dimension, components = shape_.components, width = each * d;
  SELFNORM_CHECK(y.size() == parameters.rows * width);
  if (y.empty()) return;
  const size_t grain = std::max<size_t>(1, 1024 / width);
  parallel_ranges(parameters.rows, grain, [&](size_t begin, size_t end) {
    MixtureRow row(*this, 0);
    std::vector<size_t> component(each);
    std::vector<double> draw(width);
    for (size_t i = begin; i < end; ++i) {
      const std::span<float> out = y.subspan(i * width, width);
      if (!row.set(parameters.row(i))) {
        std::ranges::fill(out, std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      RandomStream random(seed, i);
      for (size_t& k : component)
        k = w > 0 && random.uniform() < w ? components : chosen(row, components, random.uniform());
      if (!is_bounded()) fill_normals(random, draw);
      for (size_t n = 0, at = 0; n < each; ++n)
        for (size_t j = 0; j < d; ++j, ++at) {
          const size_t k = component[n], kj = k * d + j;
          if (is_bounded())
            draw[at] = (k == components ? broad_[j] : row.cells()[kj]).draw(random);
          else if (k == components)
            draw[at] = shape_.broad_mean + shape_.broad_scale * draw[at];
          else
            draw[at] = row.terms().anchor[kj] + row.scale(kj) * draw[at];
          const double held =
              std::clamp(draw[at], static_cast<double>(least_[j]), static_cast<double>(most_[j]));
          out[at] = std::clamp(static_cast<float>(held), least_[j], most_[j]);
        }
    }
  });
}

}  // namespace selfnorm
