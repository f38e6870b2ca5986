#include "proposal/conditional/mixture_row.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

const double kHalfLogTwoPi = std::log(2 * std::numbers::pi) / 2;

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
void for_each_point(const ConditionalMixture& mixture, const MixturePoints& at, double w, const Body& body,
                    std::initializer_list<MixtureOutput> outputs) {
  for_each_row(
      mixture, at, w,
      [&](uint32_t r, uint64_t begin, uint64_t end, MixtureRow& row) {
        const bool is_finite = row.set(at.parameters.row(r));
        for (; begin < end; begin += kMixtureBlock) {
          const size_t n = std::min<size_t>(kMixtureBlock, end - begin);
          row.load(at.y, begin, n);
          if (is_finite) row.evaluate();
          for (size_t i = 0; i < n; ++i) body(begin + i, i, is_finite ? &row : nullptr);
        }
      },
      outputs);
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

MixtureRow::MixtureRow(const ConditionalMixture& mixture, double w)
    : mixture_(mixture), components_(mixture.shape().components), log_rest_(std::log1p(-w)) {
  SELFNORM_CHECK(w >= 0 && w <= 1);
  const size_t d = mixture.shape().dimension, count = components_ + (w > 0 ? 1 : 0);
  const size_t padded = whole_vectors(components_ * d);
  constant_.resize(count);
  anchor_.resize(count * d);
  inverse_.resize(count * d);
  tilt_.resize(count * d);
  weight_.resize(components_);
  scale_.resize(padded);
  log_scale_.resize(padded);
  slope_.resize(padded);
  if (mixture.is_bounded()) cells_.resize(components_ * d);
  y_.resize(d * kMixtureBlock);
  share_.resize(count * kMixtureBlock);
  moments_.resize(count * (1 + 2 * d));
  if (w > 0) {
    constant_[components_] = std::log(w);
    for (size_t j = 0; j < d; ++j) {
      const TruncatedNormal& g = mixture.broad()[j];
      constant_[components_] -= g.log_volume;
      anchor_[components_ * d + j] = g.anchor;
      inverse_[components_ * d + j] = 1 / g.scale;
      tilt_[components_ * d + j] = g.tilt;
    }
  }
  terms_ = {count, d, constant_.data(), anchor_.data(), inverse_.data(), tilt_.data()};
}

bool MixtureRow::set(std::span<const float> parameters) {
  if (!std::ranges::all_of(parameters, [](float p) { return std::isfinite(p); })) return false;
  std::ranges::fill(moments_, 0.0);
  const size_t d = terms_.dimension, cells = components_ * d;
  const float* const mean = parameters.data() + components_;
  std::copy_n(parameters.begin(), components_, weight_.begin());
  const LogSumExp total = exp_in_place(weight_.data(), components_);
  const double log_rest = log_rest_ - std::log(total.sum);
  for (size_t k = 0; k < components_; ++k) {
    constant_[k] = static_cast<double>(parameters[k]) - total.max + log_rest;
    weight_[k] /= total.sum;
  }
  std::copy_n(mean + cells, cells, slope_.begin());
  std::fill(slope_.begin() + static_cast<ptrdiff_t>(cells), slope_.end(), 0.0);
  const MixtureShape& shape = mixture_.shape();
  mixture_scales(cells, shape.least_scale, {scale_.data(), log_scale_.data(), slope_.data()});
  if (shape.spread != 1)
    for (size_t kj = 0; kj < cells; ++kj) {
      scale_[kj] *= shape.spread;
      slope_[kj] *= shape.spread;
      log_scale_[kj] += std::log(shape.spread);
    }
  for (size_t k = 0, kj = 0; k < components_; ++k)
    for (size_t j = 0; j < d; ++j, ++kj) {
      inverse_[kj] = 1 / scale_[kj];
      if (cells_.empty()) {
        anchor_[kj] = mean[kj];
        constant_[k] -= log_scale_[kj] + kHalfLogTwoPi;
        continue;
      }
      cells_[kj] = TruncatedNormal::of(mean[kj], scale_[kj], shape.lower[j], shape.upper[j]);
      anchor_[kj] = cells_[kj].anchor;
      tilt_[kj] = cells_[kj].tilt;
      constant_[k] -= cells_[kj].log_volume;
    }
  return true;
}

void MixtureRow::load(const Points& y, uint64_t begin, size_t n) {
  loaded_ = n;
  std::fill_n(is_inside_, n, true);
  const auto from = mixture_.least(), to = mixture_.most();
  for (size_t j = 0; j < terms_.dimension; ++j) {
    double* const out = y_.data() + j * kMixtureBlock;
    const float* in = y.data + begin * y.columns + j;
    const float stand = std::clamp(0.0f, from[j], to[j]);
    for (size_t i = 0; i < n; ++i, in += y.columns) {
      const bool is_good = *in >= from[j] && *in <= to[j];
      is_inside_[i] &= is_good;
      out[i] = is_good ? *in : stand;
    }
    std::fill(out + n, out + whole_vectors(n), stand);
  }
}

double MixtureRow::log_broad(size_t i) const {
  double sum = 0;
  for (size_t j = 0; j < terms_.dimension; ++j)
    sum += mixture_.broad()[j].log_density(y_[j * kMixtureBlock + i]);
  return sum;
}

void MixtureRow::evaluate() {
  mixture_shares(terms_, loaded_, y_.data(), {share_.data(), log_sum_, inverse_sum_});
}

void MixtureRow::add_moments(std::span<const double> c) {
  for (size_t i = 0; i < loaded_; ++i) c_[i] = is_inside_[i] ? c[i] * inverse_sum_[i] : 0;
  std::fill(c_ + loaded_, c_ + whole_vectors(loaded_), 0.0);
  mixture_moments(terms_, loaded_, y_.data(), share_.data(), c_, moments_.data());
}

void for_each_row(const ConditionalMixture& mixture, const MixturePoints& at, double w,
                  const std::function<void(uint32_t, uint64_t, uint64_t, MixtureRow&)>& body,
                  std::initializer_list<MixtureOutput> outputs) {
  constexpr uint64_t kPoints = 2048, kRows = 256;  // of a piece
  SELFNORM_CHECK(at.parameters.columns == mixture.shape().parameters());
  SELFNORM_CHECK(at.y.columns == mixture.shape().dimension && at.row.size() == at.y.rows);
  SELFNORM_CHECK(std::ranges::is_sorted(at.row));
  if (at.row.empty()) return;
  SELFNORM_CHECK(at.row.back() < at.parameters.rows);
  const uint64_t grain = std::clamp<uint64_t>(kPoints * at.parameters.rows / at.y.rows, uint64_t{1}, kRows);
  const auto run_rows = [&](size_t first, size_t last) {
    const auto begin = std::ranges::lower_bound(at.row, first),
               end = std::lower_bound(begin, at.row.end(), last);
    if (begin == end) return;
    MixtureRow memory(mixture, w);
    for (auto i = begin; i != end;) {
      const auto next = std::find_if(i, end, [row = *i](uint32_t r) { return r != row; });
      body(*i, static_cast<uint64_t>(i - at.row.begin()), static_cast<uint64_t>(next - at.row.begin()),
           memory);
      i = next;
    }
  };
  const size_t units = (at.parameters.rows + grain - 1) / grain;
  Communicator* const all = sharing(units);
  if (all == nullptr) return parallel_ranges(at.parameters.rows, grain, run_rows);
  std::vector<SharedArray> arrays;
  for (const MixtureOutput& output : outputs)
    arrays.push_back(shared_array(*all, units, output.data, [&](size_t unit) {
      const size_t row = std::min(at.parameters.rows, unit * grain);
      const auto point = std::ranges::lower_bound(at.row, row) - at.row.begin();
      return (output.is_of_points ? static_cast<size_t>(point) : row) * output.each;
    }));
  const UnitShare own = all->share(units);
  const size_t first = own.begin * grain,
               last = std::max(first, std::min(at.parameters.rows, own.end * grain));
  all->share_work(
      [&] {
        parallel_ranges(last - first, grain,
                        [&](size_t begin, size_t end) { run_rows(first + begin, first + end); });
      },
      std::move(arrays));
}

void ConditionalMixture::add_gradient(const MixturePoints& at, double w, std::span<const double> weight,
                                      std::span<float> d) const {
  const size_t width = shape_.parameters();
  SELFNORM_CHECK(weight.size() == at.y.rows && d.size() == at.parameters.rows * width);
  const auto add_row = [&](uint32_t r, uint64_t begin, uint64_t end, MixtureRow& row) {
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
  };
  for_each_row(*this, at, w, add_row, {MixtureOutput::of_rows(d, width)});
}

void ConditionalMixture::log_prob_gradient(const MixturePoints& at, double w, std::span<double> dy) const {
  const size_t dimension = shape_.dimension;
  SELFNORM_CHECK(dy.size() == at.y.rows * dimension);
  const auto differentiate = [&](uint64_t point, size_t i, const MixtureRow* row) {
    const std::span<double> out = dy.subspan(point * dimension, dimension);
    std::ranges::fill(out, row == nullptr ? kNan : 0);
    if (row == nullptr || !row->is_inside(i)) return;
    const MixtureTerms& terms = row->terms();
    for (size_t k = 0; k < terms.count; ++k)
      for (size_t j = 0; j < dimension; ++j) {
        const size_t kj = k * dimension + j;
        out[j] -= row->share(k, i) * (row->offset(k, j, i) + terms.tilt[kj]) * terms.inverse[kj];
      }
  };
  for_each_point(*this, at, w, differentiate, {MixtureOutput::of_points(dy, dimension)});
}

void ConditionalMixture::directional(const MixturePoints& at, const Points& v, double w,
                                     std::span<double> first, std::span<double> second) const {
  SELFNORM_CHECK(v.rows == at.y.rows && v.columns == at.y.columns);
  SELFNORM_CHECK(first.empty() || first.size() == at.y.rows);
  SELFNORM_CHECK(second.empty() || second.size() == at.y.rows);
  const auto differentiate = [&](uint64_t point, size_t i, const MixtureRow* row) {
    const Directional out = row == nullptr      ? Directional{kNan, kNan}
                            : row->is_inside(i) ? directional_at(*row, i, v.row(point))
                                                : Directional{};
    if (!first.empty()) first[point] = out.first;
    if (!second.empty()) second[point] = out.second;
  };
  for_each_point(*this, at, w, differentiate,
                 {MixtureOutput::of_points(first), MixtureOutput::of_points(second)});
}

}  // namespace selfnorm
