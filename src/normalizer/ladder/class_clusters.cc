#include "normalizer/ladder/class_clusters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "math/random.h"

namespace selfnorm {
namespace {

constexpr size_t kPointsAtOnce = 256;
constexpr uint64_t kClusterStream = 0x636c7573;  // "clus"

struct Nearest {
  uint32_t cluster = 0;
  float distance = 0;
};

class Means {
 public:
  Means(size_t clusters, size_t width) : values_(clusters * width), square_(clusters), width_(width) {}

  size_t clusters() const { return square_.size(); }
  float* row(size_t j) { return values_.data() + j * width_; }
  void measure() {
    for (size_t j = 0; j < clusters(); ++j) {
      double sum = 0;
      for (size_t i = 0; i < width_; ++i)
        sum += static_cast<double>(row(j)[i]) * static_cast<double>(row(j)[i]);
      square_[j] = static_cast<float>(sum);
    }
  }
  // Of n points.
  void nearest(const float* points, size_t n, Nearest* out) const {
    std::vector<float> products(n * clusters());
    gemm_by_rows(n, clusters(), width_, points, width_, values_.data(), width_, products.data(), clusters());
    for (size_t i = 0; i < n; ++i) {
      const float* p = products.data() + i * clusters();
      uint32_t best = 0;
      float least = square_[0] - 2 * p[0];
      for (uint32_t j = 1; j < clusters(); ++j) {
        const float distance = square_[j] - 2 * p[j];
        if (distance < least) least = distance, best = j;
      }
      double own = 0;
      for (size_t k = 0; k < width_; ++k)
        own += static_cast<double>(points[i * width_ + k]) * static_cast<double>(points[i * width_ + k]);
      out[i] = {best, std::max(0.0f, static_cast<float>(own) + least)};
    }
  }

 private:
  std::vector<float> values_, square_;
  size_t width_;
};

// n classes without replacement, the more likely the heavier: those of the smallest -log(u) / v.
std::vector<uint64_t> drawn(std::span<const double> weight, size_t n, uint64_t seed) {
  RandomStream random(seed, kClusterStream);
  std::vector<std::pair<double, uint64_t>> key;
  for (uint64_t k = 0; k < weight.size(); ++k)
    key.emplace_back(-std::log(1 - random.uniform()) / std::max(weight[k], 1e-300), k);
  std::nth_element(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(n - 1), key.end());
  std::vector<uint64_t> out;
  for (size_t i = 0; i < n; ++i) out.push_back(key[i].second);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<uint32_t> cluster_classes(const ScoreRows& rows, std::span<const double> weight,
                                      const ClusterOptions& options) {
  const uint64_t classes = rows.classes(), width = rows.width();
  const size_t clusters = options.clusters;
  SELFNORM_CHECK(clusters >= 1 && clusters <= classes && weight.size() == classes);
  // Half of the sample by weight, so that heavy classes are in it; all where there is room.
  std::vector<uint64_t> sample;
  if (const uint64_t most = options.sampled * clusters; classes <= most) {
    sample.resize(classes);
    std::iota(sample.begin(), sample.end(), 0);
  } else {
    sample = drawn(weight, most / 2, options.seed + 1);
    const std::vector<double> flat(classes, 1.0);
    const std::vector<uint64_t> more = drawn(flat, most / 2, options.seed + 2);
    sample.insert(sample.end(), more.begin(), more.end());
    std::sort(sample.begin(), sample.end());
    sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
  }
  std::vector<float> points(sample.size() * width);
  const bool is_whole = sample.size() == classes;
  parallel_ranges(sample.size(), kPointsAtOnce, [&](size_t begin, size_t end) {
    if (is_whole) return rows.points({begin, end}, points.data() + begin * width);
    for (size_t i = begin; i < end; ++i) rows.points({sample[i], sample[i] + 1}, points.data() + i * width);
  });

  Means means(clusters, width);
  {
    std::vector<double> own;
    own.reserve(sample.size());
    for (const uint64_t k : sample) own.push_back(weight[k]);
    const std::vector<uint64_t> first = drawn(own, clusters, options.seed);
    for (size_t j = 0; j < clusters; ++j) std::copy_n(points.data() + first[j] * width, width, means.row(j));
  }
  std::vector<Nearest> nearest(sample.size());
  for (uint64_t iteration = 0; iteration < options.iterations; ++iteration) {
    means.measure();
    parallel_ranges(sample.size(), kPointsAtOnce, [&](size_t begin, size_t end) {
      means.nearest(points.data() + begin * width, end - begin, nearest.data() + begin);
    });
    std::vector<double> sum(clusters * width), total(clusters);
    for (size_t i = 0; i < sample.size(); ++i) {
      const double v = weight[sample[i]];
      total[nearest[i].cluster] += v;
      double* into = sum.data() + nearest[i].cluster * width;
      const float* x = points.data() + i * width;
      for (size_t k = 0; k < width; ++k) into[k] += v * static_cast<double>(x[k]);
    }
    std::vector<size_t> worst(sample.size());
    std::iota(worst.begin(), worst.end(), 0);
    const auto empty = static_cast<size_t>(std::count(total.begin(), total.end(), 0.0));
    std::partial_sort(worst.begin(),
                      worst.begin() + static_cast<std::ptrdiff_t>(std::min(empty, worst.size())), worst.end(),
                      [&](size_t a, size_t b) {
                        const double x = weight[sample[a]] * static_cast<double>(nearest[a].distance),
                                     y = weight[sample[b]] * static_cast<double>(nearest[b].distance);
                        return x != y ? x > y : a < b;
                      });
    size_t used = 0;
    for (size_t j = 0; j < clusters; ++j) {
      float* row = means.row(j);
      if (total[j] > 0) {
        for (size_t k = 0; k < width; ++k) row[k] = static_cast<float>(sum[j * width + k] / total[j]);
      } else {
        std::copy_n(points.data() + worst[used++] * width, width, row);
      }
    }
  }

  means.measure();
  std::vector<Nearest> all(classes);
  parallel_ranges(classes, kPointsAtOnce, [&](size_t begin, size_t end) {
    std::vector<float> block((end - begin) * width);
    rows.points({begin, end}, block.data());
    means.nearest(block.data(), end - begin, all.data() + begin);
  });
  std::vector<uint32_t> out(classes), size(clusters);
  for (uint64_t k = 0; k < classes; ++k) ++size[out[k] = all[k].cluster];
  // A cluster that nothing is nearest to takes the worst fitted class of one that has others.
  for (uint32_t j = 0; j < clusters; ++j) {
    if (size[j] > 0) continue;
    uint64_t worst = classes;
    for (uint64_t k = 0; k < classes; ++k)
      if (size[out[k]] > 1 &&
          (worst == classes || weight[k] * static_cast<double>(all[k].distance) >
                                   weight[worst] * static_cast<double>(all[worst].distance)))
        worst = k;
    --size[out[worst]];
    ++size[out[worst] = j];
    all[worst].distance = 0;
  }
  return out;
}

}  // namespace selfnorm
