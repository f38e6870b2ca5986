#include "normalizer/point_enumeration.h"

#include <cmath>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr uint64_t kEnumeratedAtOnce = uint64_t{1} << 16;
constexpr uint64_t kGrain = 1024;

struct ScoredPoints {
  uint64_t begin = 0;  // number of the first
  Points x;
  std::span<double> s;
};

// body(block) for the blocks of all points, in order.
template <class Body>
void each_block(const Energy& energy, const Body& body) {
  const Support support = energy.support();
  const uint64_t points = countable_points(support);
  if (points == 0)
    throw_error("log Z by enumeration needs finitely many points, at most {}; choose importance or annealed",
                kMostPoints);
  const uint32_t d = energy.dimension();
  std::vector<float> x(std::min(points, kEnumeratedAtOnce) * d);
  std::vector<double> s(std::min(points, kEnumeratedAtOnce));
  for (uint64_t begin = 0; begin < points; begin += kEnumeratedAtOnce) {
    const uint64_t rows = std::min(points - begin, kEnumeratedAtOnce);
    parallel_ranges(rows, kGrain, [&](size_t from, size_t to) {
      enumerate_points(support, begin + from, begin + to, std::span(x).subspan(from * d, (to - from) * d));
    });
    const Points block{x.data(), rows, d};
    energy.score(block, std::span(s).first(rows));
    for (uint64_t i = 0; i < rows; ++i)
      if (std::isnan(s[i]) || s[i] == INFINITY)
        throw_error(
            "log Z by enumeration: the score of point {} is {}; the model is damaged or training diverged",
            begin + i, s[i]);
    body(ScoredPoints{begin, block, std::span(s).first(rows)});
  }
}

}  // namespace

uint64_t countable_points(const Support& support) {
  if (support.space != Support::Space::levels) return 0;
  uint64_t points = 1;
  for (const uint32_t n : support.levels) {
    if (n == 0 || points > kMostPoints / n) return 0;
    points *= n;
  }
  return points;
}

void enumerate_points(const Support& support, uint64_t begin, uint64_t end, std::span<float> out) {
  const size_t d = support.levels.size();
  SELFNORM_CHECK(out.size() == (end - begin) * d);
  for (uint64_t i = begin; i < end; ++i) {
    uint64_t rest = i;
    for (size_t j = d; j-- > 0; rest /= support.levels[j])
      out[(i - begin) * d + j] = static_cast<float>(rest % support.levels[j]);
  }
}

LogZEstimate enumerate_log_z(const Energy& energy) {
  LogSumExp total;
  uint64_t points = 0;
  each_block(energy, [&](const ScoredPoints& block) {
    points += block.s.size();
    total.merge(exp_in_place(block.s.data(), block.s.size()));
  });
  const double value = total.value();
  return {"enumeration", value, value, value, static_cast<double>(points), points, 0, total};
}

std::vector<double> enumerate_mean(const Energy& energy, size_t count, const PointFunction& f) {
  const LogZEstimate log_z = enumerate_log_z(energy);
  std::vector<double> mean(count);
  each_block(energy, [&](const ScoredPoints& block) {
    const size_t rows = block.s.size(), units = (rows + kGrain - 1) / kGrain;
    std::vector<double> parts(units * count);
    parallel_ranges(rows, kGrain, [&](size_t begin, size_t end) {
      std::vector<double> value(count);
      for (size_t i = begin; i < end; ++i) {
        f(block.x.row(i), value);
        add_scaled(std::exp(log_z.log_prob(block.s[i])), value.data(), parts.data() + begin / kGrain * count,
                   count);
      }
    });
    for (size_t u = 0; u < units; ++u) add_scaled(1, parts.data() + u * count, mean.data(), count);
  });
  return mean;
}

}  // namespace selfnorm
