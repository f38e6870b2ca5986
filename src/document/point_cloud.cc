#include "document/point_cloud.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "audit/stream.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kColumns = 48, kRows = 32;
constexpr size_t kMedians = 16;     // bins of x
constexpr double kDecades = 30;     // largest / smallest of an axis that is better logarithmic
constexpr double kTail = 0.005;     // beyond a grid, on each side
constexpr double kMargin = 0.03;    // of the range of points
constexpr double kDistinct = 1e-9;  // relative width of what is more than one value
constexpr double kLow = 0.05, kHigh = 0.95;
constexpr uint32_t kOverHeat = 1;  // a colour that is not the heat's

double on_scale(double value, bool logarithmic) { return logarithmic ? std::log(value) : value; }

// The cell of a grid over the range of the axis; what lies beyond is in the outermost.
size_t cell_of(double value, const Axis& axis, size_t cells) {
  const double low = on_scale(*axis.low, axis.logarithmic), high = on_scale(*axis.high, axis.logarithmic);
  const double place = (on_scale(value, axis.logarithmic) - low) / (high - low) * static_cast<double>(cells);
  return static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(cells - 1)));
}

Heat counted(const PointCloud& cloud, const Panel& panel) {
  std::vector<double> count(kColumns * kRows, 0.0);
  for (size_t i = 0; i < cloud.x.size(); ++i)
    ++count[cell_of(cloud.y[i], panel.y, kRows) * kColumns + cell_of(cloud.x[i], panel.x, kColumns)];
  Heat out{.columns = kColumns,
           .rows = kRows,
           .label = cloud.name,
           .most = *std::max_element(count.begin(), count.end()),
           .scale = HeatScale::logarithm};
  for (const double c : count) out.value.push_back(out.shade(c));
  return out;
}

// Points in the order of x are cut into bins of equal count; equal x stay together.
std::vector<std::vector<size_t>> bins_of(const std::vector<double>& x) {
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  std::vector<std::vector<size_t>> bins;
  size_t begin = 0;
  for (size_t b = 1; b <= kMedians; ++b) {
    size_t end = std::max(begin, order.size() * b / kMedians);
    while (end > begin && end < order.size() && x[order[end]] == x[order[end - 1]]) ++end;
    if (end > begin)
      bins.emplace_back(order.begin() + static_cast<ptrdiff_t>(begin),
                        order.begin() + static_cast<ptrdiff_t>(end));
    begin = end;
  }
  return bins;
}

void add_medians(const PointCloud& cloud, Panel& panel) {
  Series median{.name = "median", .x = {}, .y = {}, .stroke = Stroke::line, .colour = kOverHeat};
  std::vector<double> low, high;
  const auto inside = [](double value, const Axis& axis) { return std::clamp(value, *axis.low, *axis.high); };
  for (const std::vector<size_t>& bin : bins_of(cloud.x)) {
    Quantiles x, y;
    for (const size_t i : bin) {
      x.add(cloud.x[i]);
      y.add(cloud.y[i]);
    }
    median.x.push_back(inside(x.quantile(0.5), panel.x));
    median.y.push_back(inside(y.quantile(0.5), panel.y));
    low.push_back(inside(y.quantile(kLow), panel.y));
    high.push_back(inside(y.quantile(kHigh), panel.y));
  }
  if (median.x.size() < 2) return;  // one value of x: no line
  Series band{.name = "5% to 95%", .x = median.x, .y = high, .stroke = Stroke::region, .colour = kOverHeat};
  band.x.insert(band.x.end(), median.x.rbegin(), median.x.rend());
  band.y.insert(band.y.end(), low.rbegin(), low.rend());
  panel.series.push_back(std::move(band));
  panel.series.push_back(std::move(median));
}

void say_beyond(const std::vector<double>& values, Axis& axis) {
  const auto beyond = std::count_if(values.begin(), values.end(), [&](double v) {
    return !ShownRange{*axis.low, *axis.high}.holds(v);
  });
  if (beyond > 0) axis.label += fmt::format(" ({} beyond, counted at the edges)", beyond);
}

void fill_range(const std::vector<double>& values, Axis& axis) {
  if (axis.low && axis.high) return;
  const ShownRange range = shown_range(values, axis.logarithmic);
  axis.low = axis.low.value_or(range.low);
  axis.high = axis.high.value_or(range.high);
}

bool is_point(const Series& s, size_t i) { return std::isfinite(s.x[i]) && std::isfinite(s.y[i]); }

// At most three of begin .. end-1.
void keep_extremes(const Series& s, size_t begin, size_t end, std::vector<size_t>& kept) {
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
  out.reserve(kept.size());
  for (const size_t i : kept) out.push_back(std::move(values[i]));
  values = std::move(out);
}

}  // namespace

bool spans_decades(const std::vector<double>& values) {
  if (values.empty()) return false;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least > 0 && *most > kDecades * *least;
}

ShownRange widened(ShownRange range, bool logarithmic) {
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.high - range.low > kDistinct * size) return range;
  if (logarithmic) return {range.low / 2, range.high * 2};
  const double half = size > 0 ? size / 2 : 0.5;
  return {range.low - half, range.high + half};
}

ShownRange shown_range(const std::vector<double>& values, bool logarithmic) {
  SELFNORM_CHECK(!values.empty());
  Quantiles sorted;
  for (const double v : values) sorted.add(v);
  const double tail = values.size() > kMostDrawn ? kTail : 0;
  const ShownRange range = widened({sorted.quantile(tail), sorted.quantile(1 - tail)}, logarithmic);
  if (tail > 0) return range;
  if (logarithmic) {
    const double factor = std::pow(range.high / range.low, kMargin);
    return {range.low / factor, range.high * factor};
  }
  const double margin = kMargin * (range.high - range.low);
  return {range.low - margin, range.high + margin};
}

void draw_cloud(const PointCloud& cloud, Panel& panel) {
  SELFNORM_CHECK(!cloud.x.empty() && cloud.y.size() == cloud.x.size() &&
                 cloud.example.size() == cloud.x.size());
  for (size_t i = 0; i < cloud.x.size(); ++i)
    SELFNORM_CHECK(std::isfinite(cloud.x[i]) && std::isfinite(cloud.y[i]) &&
                   (!panel.x.logarithmic || cloud.x[i] > 0) && (!panel.y.logarithmic || cloud.y[i] > 0));
  fill_range(cloud.x, panel.x);
  fill_range(cloud.y, panel.y);
  if (cloud.x.size() > kMostDrawn) {
    panel.heat = counted(cloud, panel);
    add_medians(cloud, panel);
    say_beyond(cloud.x, panel.x);
    say_beyond(cloud.y, panel.y);
    return;
  }
  Series points{.name = cloud.name, .x = cloud.x, .y = cloud.y, .stroke = Stroke::points};
  for (const uint64_t example : cloud.example) points.labels.push_back(fmt::format("input {}", example));
  panel.series.push_back(std::move(points));
}

Series thinned(Series series, size_t most) {
  SELFNORM_CHECK(most >= 8);
  const size_t n = series.x.size();
  if (n <= most) return series;
  const size_t buckets = (most - 2) / 3;
  std::vector<size_t> kept{0, n - 1};
  for (size_t b = 0; b < buckets; ++b) keep_extremes(series, b * n / buckets, (b + 1) * n / buckets, kept);
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (auto* values : {&series.x, &series.y, &series.error, &series.x_end}) select(*values, kept);
  select(series.labels, kept);
  return series;
}

}  // namespace selfnorm
