#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "proposal/density/mixture_em.h"
#include "proposal/density/precision_root.h"
#include "proposal/direction/direction_mixture.h"

namespace selfnorm {
namespace {

using Coordinate = DirectionMixture::Coordinate;
using CoordinateKind = Coordinate::Kind;

constexpr double kMostConcentration = 1e5;
constexpr uint64_t kDirectionStream = 0xD1EC, kMostKernels = 10'000;
constexpr size_t kDirectionPieces = 8, kDirectionTile = 64;
constexpr double kDistances = 8e8;  // products of rows and features
constexpr double kNeighbourFactor = 4;
constexpr double kPriorRows = 1;

double norm_of(const double* x, size_t n) { return std::sqrt(dot(x, x, n)); }

class DirectionEm {
 public:
  DirectionEm(const Points& data, const DirectionMap& map, const DirectionFitOptions& options)
      : map_(map),
        options_(options),
        width_(DirectionMixture::features(map)),
        n_(data.rows),
        phi_(n_ * width_) {
    for (size_t i = 0; i < n_; ++i)
      DirectionMixture::apply(map, data.row(i).data(), phi_.data() + i * width_);
    mean_.resize(width_);
    for (size_t i = 0; i < n_; ++i)
      for (size_t f = 0; f < width_; ++f) mean_[f] += phi_[i * width_ + f] / static_cast<double>(n_);
  }

  DirectionFit run() {
    // k-means++ sees real coordinates in units of their spread.
    std::vector<double> seen = phi_;
    for (const Coordinate& c : DirectionMixture::coordinates(map_)) {
      if (c.kind != CoordinateKind::real) continue;
      const size_t f = c.feature;
      const double scale = std::sqrt(variance(f));
      for (size_t i = 0; i < n_; ++i) {
        seen[i * width_ + f] = (phi_[i * width_ + f] - mean_[f]) / scale;
        seen[i * width_ + f + 1] = 0;
      }
    }
    const auto nearest =
        plus_plus_clusters(seen, static_cast<uint32_t>(width_), options_.components, options_.seed);
    const size_t k = *std::ranges::max_element(nearest) + size_t{1};
    Sums sums{std::vector<double>(k), std::vector<double>(k * width_), 0};
    for (size_t i = 0; i < n_; ++i) {
      ++sums.component[nearest[i]];
      add_scaled(1.0, phi_.data() + i * width_, sums.feature.data() + nearest[i] * width_, width_);
    }
    DirectionFit out;
    for (uint64_t i = 0;; ++i) {
      out.density = maximised(sums);
      sums = expectation(*out.density);
      out.trace.push_back(sums.log_likelihood / static_cast<double>(n_));
      const size_t last = out.trace.size() - 1;
      if (i == options_.iterations ||
          (last > 0 && out.trace[last] - out.trace[last - 1] < options_.tolerance))
        return out;
    }
  }

 private:
  struct Sums {
    std::vector<double> component, feature;  // K; K x features
    double log_likelihood = 0;
  };

  // Of a real coordinate with the features f, f + 1.
  double variance(size_t f) const { return std::max(-2 * mean_[f + 1] - mean_[f] * mean_[f], 1e-12); }

  std::unique_ptr<DirectionMixture> maximised(const Sums& sums) const {
    const size_t k = sums.component.size();
    std::vector<double> log_weight(k), eta(k * width_);
    const double shrink = std::pow(static_cast<double>(k), -2.0 / map_.dimension());
    for (size_t c = 0; c < k; ++c) {
      const double rows = sums.component[c] + kPriorRows;
      log_weight[c] = std::log(rows);
      for (const Coordinate& at : DirectionMixture::coordinates(map_)) {
        const double* sum = sums.feature.data() + c * width_ + at.feature;
        double* own = eta.data() + c * width_ + at.feature;
        if (at.kind == CoordinateKind::real)
          normal_terms(sum, sums.component[c], at.feature, shrink, own);
        else if (at.kind == CoordinateKind::levels)
          level_terms(sum, sums.component[c], at, own);
        else
          turning_terms(sum, rows, at, shrink, own);
      }
    }
    return std::make_unique<DirectionMixture>(map_, std::move(log_weight), std::move(eta));
  }

  void normal_terms(const double* sum, double rows, size_t f, double shrink, double* own) const {
    const double count = std::max(rows, 1e-9), m = sum[0] / count;
    const double spread = std::max(-2 * sum[1] - count * m * m, 0.0) + kPriorRows * variance(f) * shrink;
    own[1] = 1 / std::max(spread / (rows + kPriorRows), 1e-6 * variance(f));
    own[0] = m * own[1];
  }

  void turning_terms(const double* sum, double rows, const Coordinate& at, double shrink, double* own) const {
    const size_t size = at.size;
    const double length = norm_of(sum, size),
                 narrow = 1 - (1 - norm_of(mean_.data() + at.feature, size)) * shrink;
    const double r = std::min((length + kPriorRows * narrow) / rows, 1 - 1e-9);
    const double kappa = size == 3 ? fisher_concentration(r, kMostConcentration)
                                   : von_mises_concentration(r, kMostConcentration);
    for (size_t i = 0; i < size; ++i) own[i] = length > 0 ? kappa * sum[i] / length : 0;
  }

  // The shares of all rows as if half a row more had each level, so that none is 0.
  void level_terms(const double* sum, double rows, const Coordinate& at, double* own) const {
    const double n = static_cast<double>(n_), all = n + 0.5 * static_cast<double>(at.size + 1);
    double zero = rows + kPriorRows;
    for (size_t l = 0; l < at.size; ++l) {
      own[l] = sum[l] + kPriorRows * (n * mean_[at.feature + l] + 0.5) / all;
      zero -= own[l];
    }
    for (size_t l = 0; l < at.size; ++l) own[l] = std::log(own[l] / std::max(zero, kPriorRows * 0.5 / all));
  }

  Sums expectation(const DirectionMixture& q) const {
    const size_t k = q.components(), grain = (n_ + kDirectionPieces - 1) / kDirectionPieces;
    std::vector<double> start(k), eta(width_ * k);
    q.terms(start, eta);
    std::vector<Sums> part((n_ + grain - 1) / grain);
    parallel_ranges(n_, grain, [&](size_t first, size_t end) {
      Sums& own = part[first / grain];
      own = {std::vector<double>(k), std::vector<double>(k * width_), 0};
      std::vector<double> share(kDirectionTile * k);
      for (size_t tile = first; tile < end; tile += kDirectionTile) {
        const size_t n = std::min(kDirectionTile, end - tile);
        for (size_t i = 0; i < n; ++i)
          std::ranges::copy(start, share.begin() + static_cast<std::ptrdiff_t>(i * k));
        gemm(n, k, width_, phi_.data() + tile * width_, width_, eta.data(), k, 1.0, share.data(), k);
        for (size_t i = 0; i < n; ++i) {
          const LogSumExp total = exp_in_place(share.data() + i * k, k);
          own.log_likelihood += total.value();
          scale(1 / total.sum, share.data() + i * k, k);
          add_scaled(1.0, share.data() + i * k, own.component.data(), k);
        }
        gemm_transposed(k, width_, n, share.data(), k, phi_.data() + tile * width_, width_,
                        own.feature.data(), width_);
      }
    });
    for (size_t p = 1; p < part.size(); ++p) {
      add_scaled(1.0, part[p].component.data(), part[0].component.data(), k);
      add_scaled(1.0, part[p].feature.data(), part[0].feature.data(), k * width_);
      part[0].log_likelihood += part[p].log_likelihood;
    }
    return std::move(part[0]);
  }

  const DirectionMap& map_;
  const DirectionFitOptions& options_;
  size_t width_, n_;
  std::vector<double> phi_, mean_;
};

// Rows that kernels stand on.
uint64_t most_kernels(const DirectionMap& map) {
  const auto width = static_cast<double>(DirectionMixture::features(map));
  return std::min(kMostKernels, static_cast<uint64_t>(std::sqrt(kDistances / width)));
}

std::vector<float> some_rows(const Points& data, uint64_t most, uint64_t seed) {
  std::vector<uint64_t> order = random_permutation(data.rows, RandomStream(seed, kDirectionStream));
  order.resize(std::min(data.rows, most));
  return data.take(order);
}

}  // namespace

DirectionFit fit_direction_mixture(const Points& data, const DirectionMap& map,
                                   const DirectionFitOptions& options) {
  require_finite_points(data);
  SELFNORM_CHECK(options.components > 0);
  const std::vector<float> rows = some_rows(data, options.rows, options.seed);
  return DirectionEm({rows.data(), rows.size() / data.columns, data.columns}, map, options).run();
}

namespace {

// Of the features that are levels, with half a row more of each level.
std::vector<double> level_shares(const Points& rows, const DirectionMap& map) {
  std::vector<double> share(DirectionMixture::features(map));
  for (const Coordinate& c : DirectionMixture::coordinates(map)) {
    if (c.kind != CoordinateKind::levels) continue;
    const double all = static_cast<double>(rows.rows) + 0.5 * static_cast<double>(c.size + 1);
    for (size_t l = 0; l < c.size; ++l) share[c.feature + l] = 0.5 / all;
    for (uint64_t i = 0; i < rows.rows; ++i)
      if (const auto l = static_cast<size_t>(rows.row(i)[c.column]); l > 0)
        share[c.feature + l - 1] += 1 / all;
  }
  return share;
}

// theta_l = (1 - m) [l = x] + m share_l, m = 1 / (1 + concentration), as logits.
void level_kernel(float x, const double* share, size_t size, double concentration, double* out) {
  const double mixed = 1 / (1 + concentration);
  double zero = 1;
  for (size_t l = 0; l < size; ++l) zero -= share[l];
  const double none = (x == 0 ? 1 - mixed : 0) + mixed * zero;
  for (size_t l = 0; l < size; ++l)
    out[l] = std::log(((static_cast<size_t>(x) == l + 1 ? 1 - mixed : 0) + mixed * share[l]) / none);
}

// Variances of the real coordinates, by column.
std::vector<double> column_spreads(const Points& rows) {
  std::vector<double> spread(rows.columns), mean(rows.columns);
  const auto n = static_cast<double>(rows.rows);
  for (size_t j = 0; j < rows.columns; ++j) {
    for (uint64_t i = 0; i < rows.rows; ++i) mean[j] += static_cast<double>(rows.row(i)[j]) / n;
    for (uint64_t i = 0; i < rows.rows; ++i)
      spread[j] += std::pow(static_cast<double>(rows.row(i)[j]) - mean[j], 2) / n;
    spread[j] = std::max(spread[j], 1e-12);
  }
  return spread;
}

// concentration(i): that of the kernel around row i.
template <class Concentration>
std::unique_ptr<DirectionMixture> kernels_of(const Points& centres, const DirectionMap& map,
                                             const Concentration& concentration) {
  const size_t width = DirectionMixture::features(map);
  std::vector<double> eta(centres.rows * width);
  const std::vector<double> spread = column_spreads(centres), share = level_shares(centres, map);
  for (uint64_t i = 0; i < centres.rows; ++i) {
    double* own = eta.data() + i * width;
    const double narrow = concentration(i);
    DirectionMixture::apply(map, centres.row(i).data(), own);
    for (const Coordinate& c : DirectionMixture::coordinates(map)) {
      double* at = own + c.feature;
      if (c.kind == CoordinateKind::real) {
        at[1] = narrow / spread[c.column];
        at[0] = static_cast<double>(centres.row(i)[c.column]) * at[1];
      } else if (c.kind == CoordinateKind::levels) {
        level_kernel(centres.row(i)[c.column], share.data() + c.feature, c.size, narrow, at);
      } else {
        for (size_t s = 0; s < c.size; ++s) at[s] *= narrow;
      }
    }
  }
  return std::make_unique<DirectionMixture>(map, std::vector<double>(centres.rows, 0.0), std::move(eta));
}

// phi without -x^2 / 2, real coordinates in standard deviations: n x width.
std::vector<double> comparable_rows(const Points& rows, const DirectionMap& map) {
  const size_t width = DirectionMixture::features(map);
  const std::vector<double> spread = column_spreads(rows);
  std::vector<double> out(rows.rows * width);
  for (uint64_t i = 0; i < rows.rows; ++i) {
    DirectionMixture::apply(map, rows.row(i).data(), out.data() + i * width);
    for (const Coordinate& c : DirectionMixture::coordinates(map)) {
      if (c.kind != CoordinateKind::real) continue;
      out[i * width + c.feature] /= std::sqrt(spread[c.column]);
      out[i * width + c.feature + 1] = 0;
    }
  }
  return out;
}

}  // namespace

double kernel_concentration(const Points& data, const DirectionMap& map, uint64_t seed) {
  constexpr uint64_t kTried = 6000;
  const std::vector<float> rows = some_rows(data, std::min(kTried, most_kernels(map)), seed);
  const uint64_t n = rows.size() / data.columns,
                 judges = std::max<uint64_t>(1, std::min<uint64_t>(n / 5, 1000));
  if (n < 3) return 1;
  const Points all{rows.data(), n, data.columns};
  std::vector<double> log_q(judges);
  double best = 1, most = -kInfinity;
  for (double concentration = 0.25; concentration <= kMostConcentration; concentration *= 2) {
    density_log_prob(*kernels_of(all.slice(judges, n), map, [=](uint64_t) { return concentration; }),
                     all.slice(0, judges), log_q);
    double sum = 0;
    for (const double l : log_q) sum += l;
    if (sum <= most) continue;
    most = sum;
    best = concentration;
  }
  return best;
}

std::unique_ptr<DirectionMixture> fit_direction_kernels(const Points& data, const DirectionMap& map,
                                                        double concentration, uint64_t seed) {
  require_finite_points(data);
  const std::vector<float> rows = some_rows(data, most_kernels(map), seed);
  const double chosen = concentration > 0 ? concentration : kernel_concentration(data, map, seed);
  return kernels_of({rows.data(), rows.size() / data.columns, data.columns}, map,
                    [chosen](uint64_t) { return chosen; });
}

std::vector<std::unique_ptr<DirectionMixture>> fit_neighbour_kernels(const Points& data,
                                                                     const DirectionMap& map,
                                                                     std::span<const uint32_t> neighbours,
                                                                     uint64_t seed) {
  require_finite_points(data);
  const size_t width = DirectionMixture::features(map);
  const std::vector<float> rows = some_rows(data, most_kernels(map), seed);
  const Points centres{rows.data(), rows.size() / data.columns, data.columns};
  const size_t n = centres.rows;
  const std::vector<double> phi = comparable_rows(centres, map);
  std::vector<double> concentration(neighbours.size() * n);
  parallel_ranges(n, kDirectionTile, [&](size_t begin, size_t end) {
    std::vector<double> distance(n);
    for (size_t i = begin; i < end; ++i) {
      for (size_t k = 0; k < n; ++k) {
        double sum = 0;
        for (size_t f = 0; f < width; ++f) {
          const double away = phi[i * width + f] - phi[k * width + f];
          sum += away * away;
        }
        distance[k] = sum;
      }
      for (size_t c = 0; c < neighbours.size(); ++c) {
        const size_t place = std::min<size_t>(neighbours[c], n - 1);  // 0: the row itself
        const auto nearest = distance.begin() + static_cast<std::ptrdiff_t>(place);
        std::nth_element(distance.begin(), nearest, distance.end());
        concentration[c * n + i] =
            n == 1 ? 1 : std::min(kMostConcentration, kNeighbourFactor / std::max(*nearest, 1e-12));
      }
    }
  });
  std::vector<std::unique_ptr<DirectionMixture>> out;
  for (size_t c = 0; c < neighbours.size(); ++c)
    out.push_back(kernels_of(centres, map, [&](uint64_t i) { return concentration[c * n + i]; }));
  return out;
}

}  // namespace selfnorm
