#include "proposal/density/mixture_em.h"

#include <algorithm>
#include <cmath>

#include "base/memory.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "math/random.h"
#include "proposal/density/gaussian_terms.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {
namespace {

constexpr size_t kEmTile = 128, kEmPieces = 8;

// sum_i p_ik (1, x_j, x_i x_j) over the rows, (1 + d + d (d + 1) / 2) x stride, and sum_i log q(x_i).
struct Statistics {
  size_t stride = 0;
  std::vector<double> sum;
  double log_likelihood = 0;
};

class Expectation {
 public:
  Expectation(uint32_t dimension, std::vector<double> rows)
      : d_(dimension), n_(rows.size() / dimension), rows_(std::move(rows)) {}

  size_t rows() const { return n_; }
  const std::vector<double>& values() const { return rows_; }

  // make_worker() is called for each piece; worker(begin, end, share) fills the shares of these rows and
  // returns the sum of their log q.
  template <class MakeWorker>
  Statistics sums(size_t stride, const MakeWorker& make_worker) const {
    const size_t width = 1 + d_ + d_ * (d_ + 1) / 2,
                 grain = std::max(kEmTile, (n_ + kEmPieces - 1) / kEmPieces);
    const size_t pieces = (n_ + grain - 1) / grain;
    std::vector<Statistics> part(pieces);
    parallel_ranges(n_, grain, [&](size_t begin, size_t end) {
      Statistics& own = part[begin / grain];
      own.sum.assign(width * stride, 0);
      std::vector<double> share(kEmTile * stride), feature(kEmTile * width);
      auto worker = make_worker();
      for (size_t first = begin; first < end; first += kEmTile) {
        const size_t last = std::min(end, first + kEmTile);
        own.log_likelihood += worker(first, last, share.data());
        for (size_t i = first; i < last; ++i) fill_features(i, feature.data() + (i - first) * width);
        gemm_transposed(width, stride, last - first, feature.data(), width, share.data(), stride,
                        own.sum.data(), stride);
      }
    });
    for (size_t p = 1; p < pieces; ++p) {
      for (size_t j = 0; j < part[0].sum.size(); ++j) part[0].sum[j] += part[p].sum[j];
      part[0].log_likelihood += part[p].log_likelihood;
    }
    part[0].stride = stride;
    return std::move(part[0]);
  }

  Statistics sums(const GaussianTerms& terms) const {
    return sums(terms.stride(), [&] {
      return [this, &terms, sum = TermSum(terms)](size_t begin, size_t end, double* share) mutable {
        double log_likelihood = 0;
        const auto row = [&](size_t i, double* x) { std::copy_n(rows_.data() + (begin + i) * d_, d_, x); };
        sum.for_each(end - begin, row, [&](size_t i, size_t r) {
          log_likelihood += sum.value(r);
          std::ranges::copy(sum.share(r), share + i * terms.stride());
        });
        return log_likelihood;
      };
    });
  }

 private:
  void fill_features(size_t i, double* out) const {
    const double* x = rows_.data() + i * d_;
    *out++ = 1;
    for (size_t j = 0; j < d_; ++j) *out++ = x[j];
    for (size_t a = 0; a < d_; ++a)
      for (size_t b = 0; b <= a; ++b) *out++ = x[a] * x[b];
  }

  size_t d_, n_;
  std::vector<double> rows_;
};

// a and S_0 of the header.
struct Prior {
  double rows = 0;
  std::vector<double> covariance;  // d x d
};

Prior prior_of(const PrecisionRoot& all, size_t components) {
  const uint32_t d = all.dimension();
  const double shrink = std::pow(static_cast<double>(components), -2.0 / d);
  Prior prior{static_cast<double>(d) + 1, std::vector<double>(size_t{d} * d)};
  const std::span<const double> factor = all.inverse();
  for (size_t i = 0; i < d; ++i)
    for (size_t j = 0; j <= i; ++j) {
      const double product = dot(factor.data() + i * (i + 1) / 2, factor.data() + j * (j + 1) / 2, j + 1);
      prior.covariance[i * d + j] = prior.covariance[j * d + i] = shrink * product;
    }
  return prior;
}

// log det S + tr(S_0 S^-1) = -2 log det W + sum_i W_i S_0 W_i'.
double spread_of(const PrecisionRoot& root, const Prior& prior) {
  const uint32_t d = root.dimension();
  double out = -2 * root.log_determinant();
  for (size_t i = 0; i < d; ++i) {
    const double* row = root.values().data() + i * (i + 1) / 2;
    for (size_t j = 0; j <= i; ++j) out += row[j] * dot(prior.covariance.data() + j * d, row, i + 1);
  }
  return out;
}

// m_k = sum p x / n_k, S_k = (sum p (x - m)(x - m)' + a S_0) / (n_k + a), w_k = n_k / n.
MixtureComponents maximised(const Statistics& sums, uint32_t d, const Prior& prior) {
  MixtureComponents out;
  const auto at = [&](size_t place, size_t k) { return sums.sum[place * sums.stride + k]; };
  std::vector<double> covariance(size_t{d} * d);
  for (size_t k = 0; k < sums.stride; ++k) {
    const double count = at(0, k);
    if (!(count >= 1)) continue;
    out.logit.push_back(std::log(count));
    for (size_t a = 0, place = 1 + d; a < d; ++a)
      for (size_t b = 0; b <= a; ++b, ++place)
        covariance[a * d + b] =
            (at(place, k) - at(1 + a, k) * at(1 + b, k) / count + prior.rows * prior.covariance[a * d + b]) /
            (count + prior.rows);
    for (size_t j = 0; j < d; ++j) out.mean.push_back(at(1 + j, k) / count);
    out.roots.push_back(PrecisionRoot::of_covariance(d, covariance));
  }
  return out;
}

GaussianTerms terms_of(const MixtureComponents& c) {
  return mixture_terms(log_shares(c.logit), c.mean, c.roots);
}

Points chosen_rows(const Points& data, const EmOptions& options, std::vector<float>& store) {
  if (data.rows <= options.rows) return data;
  const std::vector<uint64_t> order = random_permutation(data.rows, RandomStream(options.seed, 1));
  store = data.take(std::span(order).first(options.rows));
  return {store.data(), options.rows, data.columns};
}

constexpr size_t kGrain = 2048;

}  // namespace

EmResult fit_mixture(const Points& data, const EmOptions& options) {
  require_finite_points(data);
  std::vector<float> store;
  const Points used = chosen_rows(data, options, store);
  const uint32_t d = data.columns;
  const size_t wanted = std::min<uint64_t>(options.components, std::max<uint64_t>(1, used.rows / (d + 1)));
  require_memory(static_cast<double>(wanted) * d * d * 8 * (kEmPieces + 3), "the covariances of a mixture",
                 "use fewer components or gaussian:diagonal");
  const ColumnMoments moments = column_moments(used);
  std::vector<double> rows(used.size());
  standardise(used, moments, rows);
  const PrecisionRoot all = fitted_root(used, moments);
  std::vector<double> to_standard;
  for (const double s : moments.scale) to_standard.push_back(1 / s);
  const Expectation expectation(d, std::move(rows));

  const std::vector<uint32_t> nearest =
      plus_plus_clusters(expectation.values(), d, static_cast<uint32_t>(wanted), options.seed);
  const size_t clusters = *std::ranges::max_element(nearest) + size_t{1};
  const Prior prior = prior_of(all.unscaled(to_standard), clusters);
  const Statistics start = expectation.sums(clusters, [&] {
    return [&](size_t begin, size_t end, double* share) {
      std::fill_n(share, (end - begin) * clusters, 0.0);
      for (size_t i = begin; i < end; ++i) share[(i - begin) * clusters + nearest[i]] = 1;
      return 0.0;
    };
  });

  EmResult out;
  out.components = maximised(start, d, prior);
  const auto n = static_cast<double>(expectation.rows());
  for (uint64_t iteration = 0; iteration < options.iterations; ++iteration) {
    const Statistics sums = expectation.sums(terms_of(out.components));
    double spread = 0;
    for (const PrecisionRoot& root : out.components.roots) spread += spread_of(root, prior);
    out.trace.push_back((sums.log_likelihood - 0.5 * prior.rows * spread) / n);
    const size_t last = out.trace.size() - 1;
    if (last > 0 && out.trace[last] - out.trace[last - 1] < options.tolerance * d) break;
    out.components = maximised(sums, d, prior);
  }
  for (size_t k = 0; k < out.components.roots.size(); ++k) {
    out.components.roots[k] = out.components.roots[k].unscaled(moments.scale);
    for (size_t j = 0; j < d; ++j) {
      double& m = out.components.mean[k * d + j];
      m = moments.mean[j] + moments.scale[j] * m;
    }
  }
  return out;
}

std::vector<uint32_t> plus_plus_clusters(std::span<const double> rows, uint32_t dimension, uint32_t clusters,
                                         uint64_t seed) {
  const size_t d = dimension, n = rows.size() / d;
  RandomStream random(seed, 0);
  std::vector<uint32_t> nearest(n);
  const auto square_distance = [&](size_t i, size_t centre) {
    double sum = 0;
    for (size_t j = 0; j < d; ++j) {
      const double away = rows[i * d + j] - rows[centre * d + j];
      sum += away * away;
    }
    return sum;
  };
  // To the nearest centre, were this row a centre too.
  std::vector<double> distance(n), candidate(n), best(n);
  const auto distances_with = [&](size_t centre, const std::vector<double>& before, bool is_first) {
    return ordered_sum(n, kGrain, [&](size_t begin, size_t end) {
      double sum = 0;
      for (size_t i = begin; i < end; ++i) {
        const double own = square_distance(i, centre);
        candidate[i] = is_first ? own : std::min(before[i], own);
        sum += candidate[i];
      }
      return sum;
    });
  };
  double total = distances_with(random.below(n), distance, true);
  distance.swap(candidate);
  const auto draws = 2 + static_cast<uint32_t>(std::log(static_cast<double>(clusters)));
  for (uint32_t k = 1; k < clusters && total > 0; ++k) {
    double least = 0;
    for (uint32_t draw = 0; draw < draws; ++draw) {
      double left = random.uniform() * total;
      size_t centre = 0;
      for (size_t i = 0; i < n; ++i) {
        if (distance[i] > 0) centre = i;  // the last one with mass, should rounding leave some over
        if ((left -= distance[i]) < 0) break;
      }
      const double sum = distances_with(centre, distance, false);
      if (draw > 0 && sum >= least) continue;
      least = sum;
      best.swap(candidate);
    }
    for (size_t i = 0; i < n; ++i)
      if (best[i] < distance[i]) nearest[i] = k;
    distance.swap(best);
    total = least;
  }
  return nearest;
}

}  // namespace selfnorm
