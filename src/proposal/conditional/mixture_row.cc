#include "mixture_row.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "selfnorm/base/error.h"
#include "selfnorm/math/kernels.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

const double kHalfLogTwoPi = std::log(2 * std::numbers::pi) / 2;

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
                  const std::function<void(uint32_t, uint64_t, uint64_t, MixtureRow&)>& body) {
  constexpr uint64_t kPoints = 2048, kRows = 256;  // of a piece
  SELFNORM_CHECK(at.parameters.columns == mixture.shape().parameters());
  SELFNORM_CHECK(at.y.columns == mixture.shape().dimension && at.row.size() == at.y.rows);
  SELFNORM_CHECK(std::ranges::is_sorted(at.row));
  if (at.row.empty()) return;
  SELFNORM_CHECK(at.row.back() < at.parameters.rows);
  const uint64_t grain = std::clamp<uint64_t>(kPoints * at.parameters.rows / at.y.rows, uint64_t{1}, kRows);
  parallel_ranges(at.parameters.rows, grain, [&](size_t first, size_t last) {
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
  });
}

}  // namespace selfnorm
