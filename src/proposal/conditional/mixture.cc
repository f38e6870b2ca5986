#include "proposal/conditional/mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "math/process/shared_loop.h"
#include "proposal/conditional/mixture_row.h"
#include "proposal/density/gaussian_terms.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr float kLargestParameter = std::numeric_limits<float>::max();
constexpr uint32_t kMostDimensions = 64, kMostComponents = 4096;

// The float32 next to a bound, inside.
float inner(double bound, float toward) {
  if (std::abs(bound) > kLargestParameter) return std::copysign(kLargestParameter, static_cast<float>(bound));
  const auto near = static_cast<float>(bound);
  const bool is_outside = toward > 0 ? near < bound : near > bound;
  return is_outside ? std::nextafter(near, toward * kLargestParameter) : near;
}

void require_bounds(const MixtureShape& shape) {
  const size_t d = shape.dimension;
  if (shape.lower.size() != d || shape.upper.size() != d)
    throw_error(
        "a mixture of {} dimensions has {} lower and {} upper bounds; expected one of each a dimension, "
        "infinite where there is none",
        d, shape.lower.size(), shape.upper.size());
  for (size_t j = 0; j < d; ++j)
    if (!(inner(shape.lower[j], 1) < inner(shape.upper[j], -1)))
      throw_error(
          "the support of coordinate {} of y is [{}, {}]; expected a lower bound below the upper one, as "
          "float32",
          j, shape.lower[j], shape.upper[j]);
}

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

// Which component a draw of q_w is of: below 0 the broad one, else as `chosen` takes it.
double draw_choice(RandomStream& random, double w) {
  return w > 0 && random.uniform() < w ? -1 : random.uniform();
}

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

ConditionalMixture::ConditionalMixture(MixtureShape shape) : shape_(std::move(shape)) {
  const size_t d = shape_.dimension;
  require_range(d >= 1 && d <= kMostDimensions, "dimension", static_cast<double>(d), "1 to 64");
  require_range(shape_.components >= 1 && shape_.components <= kMostComponents, "components",
                shape_.components, "1 to 4096");
  require_range(shape_.least_scale > 0, "least_scale", shape_.least_scale, "a number above 0");
  require_range(shape_.spread > 0, "spread", shape_.spread, "a number above 0");
  require_range(shape_.broad_scale > 0, "broad_scale", shape_.broad_scale, "a number above 0");
  require_range(true, "broad_mean", shape_.broad_mean, "a number");
  if (!shape_.lower.empty() || !shape_.upper.empty()) require_bounds(shape_);
  if (std::ranges::all_of(shape_.lower, [](double b) { return std::isinf(b); }) &&
      std::ranges::all_of(shape_.upper, [](double b) { return std::isinf(b); })) {
    shape_.lower.clear();
    shape_.upper.clear();
  }
  for (size_t j = 0; j < d; ++j) {
    const double lower = is_bounded() ? shape_.lower[j] : -kInfinity;
    const double upper = is_bounded() ? shape_.upper[j] : kInfinity;
    broad_.push_back(TruncatedNormal::of(shape_.broad_mean, shape_.broad_scale, lower, upper));
    least_.push_back(inner(lower, 1));
    most_.push_back(inner(upper, -1));
  }
}

float ConditionalMixture::within(double y, uint32_t j) const {
  return std::clamp(static_cast<float>(y), least_[j], most_[j]);
}

void ConditionalMixture::log_prob(const MixturePoints& at, std::span<double> log_q,
                                  std::span<double> log_g) const {
  SELFNORM_CHECK(log_q.empty() || log_q.size() == at.y.rows);
  SELFNORM_CHECK(log_g.empty() || log_g.size() == at.y.rows);
  const auto evaluate_row = [&](uint32_t r, uint64_t begin, uint64_t end, MixtureRow& row) {
    const bool is_finite = !log_q.empty() && row.set(at.parameters.row(r));
    for (; begin < end; begin += kMixtureBlock) {
      const size_t n = std::min<size_t>(kMixtureBlock, end - begin);
      row.load(at.y, begin, n);
      if (!log_g.empty())
        for (size_t i = 0; i < n; ++i) log_g[begin + i] = row.is_inside(i) ? row.log_broad(i) : -kInfinity;
      if (is_finite) {
        row.evaluate();
        for (size_t i = 0; i < n; ++i) log_q[begin + i] = row.is_inside(i) ? row.log_prob(i) : -kInfinity;
      } else if (!log_q.empty()) {
        std::ranges::fill(log_q.subspan(begin, n), std::numeric_limits<double>::quiet_NaN());
      }
    }
  };
  for_each_row(*this, at, 0, evaluate_row,
               {MixtureOutput::of_points(log_q), MixtureOutput::of_points(log_g)});
}

std::vector<ConditionalMixture::Component> ConditionalMixture::components(
    std::span<const float> parameters) const {
  SELFNORM_CHECK(parameters.size() == shape_.parameters());
  MixtureRow row(*this, 0);
  if (!row.set(parameters)) throw Error("a mixture has parameters that are not finite; expected numbers");
  std::vector<Component> out;
  const size_t d = shape_.dimension;
  for (size_t k = 0; k < shape_.components; ++k) {
    Component& c = out.emplace_back(Component{row.weight(k), {}, {}});
    for (size_t j = 0; j < d; ++j) {
      c.mean.push_back(static_cast<double>(parameters[shape_.components + k * d + j]));
      c.scale.push_back(row.scale(k * d + j));
    }
  }
  return out;
}

double broadened(double log_q, double log_g, double w) {
  broaden({&log_q, 1}, {&log_g, 1}, w);
  return log_q;
}

void broaden(std::span<double> log_q, std::span<const double> log_g, double w) {
  SELFNORM_CHECK(w >= 0 && w <= 1 && log_q.size() == log_g.size());
  const LogWeights weights{std::log1p(-w), std::log(w)};
  const size_t whole = log_q.size() / kMixtureVector * kMixtureVector;
  log_weighted_sums(whole, weights, log_q.data(), log_g.data());
  if (whole == log_q.size()) return;
  double q[kMixtureVector] = {}, g[kMixtureVector] = {};
  std::ranges::copy(log_q.subspan(whole), q);
  std::ranges::copy(log_g.subspan(whole), g);
  log_weighted_sums(kMixtureVector, weights, q, g);
  std::copy_n(q, log_q.size() - whole, log_q.begin() + static_cast<ptrdiff_t>(whole));
}

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

void ConditionalMixture::sample_between(std::span<const float> parameters, double w, const Between& between,
                                        RandomStream& random, std::span<float> y) const {
  SELFNORM_CHECK(shape_.dimension == 1 && between.from < between.to);
  MixtureRow row(*this, 0);
  if (!row.set(parameters)) {
    std::ranges::fill(y, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  // log of the integral over an interval: -tilt^2 / 2 + log_volume, up to the height of the normal.
  const auto log_integral = [](const TruncatedNormal& n) { return n.log_volume - 0.5 * n.tilt * n.tilt; };
  std::vector<TruncatedNormal> part;
  std::vector<double> log_mass;
  const auto add = [&](double weight, double mean, double scale) {
    if (!(weight > 0)) return;
    const double lower = is_bounded() ? shape_.lower[0] : -kInfinity,
                 upper = is_bounded() ? shape_.upper[0] : kInfinity;
    part.push_back(TruncatedNormal::of(mean, scale, between.from, between.to));
    log_mass.push_back(std::log(weight) + log_integral(part.back()) -
                       log_integral(TruncatedNormal::of(mean, scale, lower, upper)));
  };
  for (size_t k = 0; k < shape_.components; ++k)
    add((1 - w) * row.weight(k), static_cast<double>(parameters[shape_.components + k]), row.scale(k));
  add(w, shape_.broad_mean, shape_.broad_scale);
  const LogSumExp total = exp_in_place(log_mass.data(), log_mass.size());
  for (float& value : y) {
    double u = random.uniform() * total.sum;
    size_t k = 0;
    while (k + 1 < part.size() && u >= log_mass[k]) u -= log_mass[k++];
    value = within(std::clamp(part[k].draw(random), between.from, between.to), 0);
  }
}

void ConditionalMixture::sample_numbers(uint64_t rows, double w, uint64_t seed, std::span<double> choice,
                                        std::span<double> normal) const {
  SELFNORM_CHECK(!is_bounded() && choice.size() % rows == 0 &&
                 normal.size() == choice.size() * shape_.dimension);
  const size_t each = choice.size() / rows, width = each * shape_.dimension;
  parallel_ranges(rows, std::max<size_t>(1, 1024 / width), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      RandomStream random(seed, i);
      for (double& u : choice.subspan(i * each, each)) u = draw_choice(random, w);
      fill_normals(random, normal.subspan(i * width, width));
    }
  });
}

// Stream i: which component for each of the draws of row i, then their coordinates.
void ConditionalMixture::sample(const Points& parameters, uint64_t each, double w, uint64_t seed,
                                std::span<float> y) const {
  SELFNORM_CHECK(w >= 0 && w <= 1 && parameters.columns == shape_.parameters());
  const size_t d = shape_.dimension, components = shape_.components, width = each * d;
  SELFNORM_CHECK(y.size() == parameters.rows * width);
  if (y.empty()) return;
  const size_t grain = std::max<size_t>(1, 1024 / width);
  const auto draw_rows = [&](size_t begin, size_t end) {
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
      for (size_t& k : component) {
        const double u = draw_choice(random, w);
        k = u < 0 ? components : chosen(row, components, u);
      }
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
  };
  shared_ranges(parameters.rows, grain, draw_rows, owned(y, width));
}

}  // namespace selfnorm
