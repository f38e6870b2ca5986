#include "document/thinned.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

bool is_point(const Series& s, size_t i) { return std::isfinite(s.x[i]) && std::isfinite(s.y[i]); }

// At most three of begin .. end-1.
void keep(const Series& s, size_t begin, size_t end, std::vector<size_t>& kept) {
  size_t lowest = end, highest = end, interruption = end;
  for (size_t i = begin; i < end; ++i) {
    if (!is_point(s, i)) {
      interruption = std::min(interruption, i);
      continue;
    }
    if (lowest == end || s.y[i] < s.y[lowest]) lowest = i;
    if (highest == end || s.y[i] > s.y[highest]) highest = i;
  }
  for (const size_t i : {lowest, highest, interruption}) {
    if (i < end) kept.push_back(i);
  }
}

template <class T>
void select(std::vector<T>& values, const std::vector<size_t>& kept) {
  if (values.empty()) return;
  std::vector<T> out;
  for (const size_t i : kept) out.push_back(std::move(values[i]));
  values = std::move(out);
}

}  // namespace

Series thinned(Series series, size_t most) {
  SELFNORM_CHECK(most >= 8);
  const size_t n = series.x.size();
  if (n <= most) return series;
  const size_t buckets = (most - 2) / 3;
  std::vector<size_t> kept{0, n - 1};
  for (size_t b = 0; b < buckets; ++b) keep(series, b * n / buckets, (b + 1) * n / buckets, kept);
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (auto* values : {&series.x, &series.y, &series.error, &series.x_end}) select(*values, kept);
  select(series.labels, kept);
  return series;
}

}  // namespace selfnorm
