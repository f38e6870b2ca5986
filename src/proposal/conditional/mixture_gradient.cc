#include <algorithm>
#include <cmath>
#include <limits>

#include "mixture_row.h"
#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

void add_held(float& sum, double part) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  sum = static_cast<float>(std::clamp(static_cast<double>(sum) + part, -kLargest, kLargest));
}

// With the sums S of c_i p_ik (1, tau, tau^2) over the points, p_ik the share of component k in q_w, E tau
// and E tau^2 those of the component (truncated_normal.h):
//     d/d logit_k = S0_k - pi_k sum_l S0_l,   d/d mean_kj = (S1 - E tau S0) / s,
//     d/d raw_kj = (S2 - E tau^2 S0 + 2 tilt (S1 - E tau S0)) / s  ds/draw.
void add_row_gradient(const MixtureRow& row, size_t components, std::span<float> d) {
  const std::span<const double> sums = row.moments();
  const MixtureTerms& terms = row.terms();
  const size_t dimension = terms.dimension, width = 1 + 2 * dimension, cells = components * dimension;
  double total = 0;
  for (size_t k = 0; k < components; ++k) total += sums[k * width];
  for (size_t k = 0; k < components; ++k) {
    const double zeroth = sums[k * width];
    add_held(d[k], zeroth - row.weight(k) * total);
    for (size_t j = 0; j < dimension; ++j) {
      const size_t kj = k * dimension + j;
      const double first = sums[k * width + 1 + 2 * j] - row.first(kj) * zeroth;
      const double second = sums[k * width + 2 + 2 * j] - row.second(kj) * zeroth;
      add_held(d[components + kj], first * terms.inverse[kj]);
      add_held(d[components + cells + kj],
               (second + 2 * terms.tilt[kj] * first) * terms.inverse[kj] * row.slope(kj));
    }
  }
}

// (v . grad, v' Hessian v) of log q_w at point i: with g_k = -(tau + tilt) / s,
//     first = sum_k p_k v . g_k,   second = sum_k p_k ((v . g_k - first)^2 - sum_j v_j^2 / s_kj^2).
struct Directional {
  double first = 0, second = 0;
};
Directional directional_at(const MixtureRow& row, size_t i, std::span<const float> v) {
  const MixtureTerms& terms = row.terms();
  const auto along = [&](size_t k) {
    double sum = 0;
    for (size_t j = 0; j < terms.dimension; ++j) {
      const size_t kj = k * terms.dimension + j;
      sum -= static_cast<double>(v[j]) * (row.offset(k, j, i) + terms.tilt[kj]) * terms.inverse[kj];
    }
    return sum;
  };
  Directional out;
  for (size_t k = 0; k < terms.count; ++k) out.first += row.share(k, i) * along(k);
  for (size_t k = 0; k < terms.count; ++k) {
    const double difference = along(k) - out.first;
    double curvature = difference * difference;
    for (size_t j = 0; j < terms.dimension; ++j) {
      const double step = static_cast<double>(v[j]) * terms.inverse[k * terms.dimension + j];
      curvature -= step * step;
    }
    out.second += row.share(k, i) * curvature;
  }
  return out;
}

// body(point, place in the block, row) with the row evaluated there; null for parameters that are not finite.
template <class Body>
void for_each_point(const ConditionalMixture& mixture, const MixturePoints& at, double w, const Body& body) {
  for_each_row(mixture, at, w, [&](uint32_t r, uint64_t begin, uint64_t end, MixtureRow& row) {
    const bool is_finite = row.set(at.parameters.row(r));
    for (; begin < end; begin += kMixtureBlock) {
      const size_t n = std::min<size_t>(kMixtureBlock, end - begin);
      row.load(at.y, begin, n);
      if (is_finite) row.evaluate();
      for (size_t i = 0; i < n; ++i) body(begin + i, i, is_finite ? &row : nullptr);
    }
  });
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void ConditionalMixture::add_gradient(const MixturePoints& at, double w, std::span<const double> weight,
                                      std::span<float> d) const {
  const size_t width = shape_.parameters();
  SELFNORM_CHECK(weight.size() == at.y.rows && d.size() == at.parameters.rows * width);
  for_each_row(*this, at, w, [&](uint32_t r, uint64_t begin, uint64_t end, MixtureRow& row) {
    const std::span<float> own = d.subspan(r * width, width);
    if (!row.set(at.parameters.row(r))) {
      for (float& v : own) v += std::numeric_limits<float>::quiet_NaN();
      return;
    }
    for (; begin < end; begin += kMixtureBlock) {
      const size_t n = std::min<size_t>(kMixtureBlock, end - begin);
      row.load(at.y, begin, n);
      row.evaluate();
      row.add_moments(weight.subspan(begin, n));
    }
    add_row_gradient(row, shape_.components, own);
  });
}

void ConditionalMixture::log_prob_gradient(const MixturePoints& at, double w, std::span<double> dy) const {
  const size_t dimension = shape_.dimension;
  SELFNORM_CHECK(dy.size() == at.y.rows * dimension);
  for_each_point(*this, at, w, [&](uint64_t point, size_t i, const MixtureRow* row) {
    const std::span<double> out = dy.subspan(point * dimension, dimension);
    std::ranges::fill(out, row == nullptr ? kNan : 0);
    if (row == nullptr || !row->is_inside(i)) return;
    const MixtureTerms& terms = row->terms();
    for (size_t k = 0; k < terms.count; ++k)
      for (size_t j = 0; j < dimension; ++j) {
        const size_t kj = k * dimension + j;
        out[j] -= row->share(k, i) * (row->offset(k, j, i) + terms.tilt[kj]) * terms.inverse[kj];
      }
  });
}

void ConditionalMixture::directional(const MixturePoints& at, const Points& v, double w,
                                     std::span<double> first, std::span<double> second) const {
  SELFNORM_CHECK(v.rows == at.y.rows && v.columns == at.y.columns);
  SELFNORM_CHECK(first.empty() || first.size() == at.y.rows);
  SELFNORM_CHECK(second.empty() || second.size() == at.y.rows);
  for_each_point(*this, at, w, [&](uint64_t point, size_t i, const MixtureRow* row) {
    const Directional out = row == nullptr      ? Directional{kNan, kNan}
                            : row->is_inside(i) ? directional_at(*row, i, v.row(point))
                                                : Directional{};
    if (!first.empty()) first[point] = out.first;
    if (!second.empty()) second[point] = out.second;
  });
}

}  // namespace selfnorm
