#include "family/density/train/column_moments.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"

namespace selfnorm {
namespace {

constexpr double kFloatStep = 0x1p-23;  // of a 32-bit float near 1
constexpr double kCoarsest = 0.02;      // largest step of a float, in standard deviations
constexpr double kShareOfOne = 0.5;     // of a column's variance
constexpr uint64_t kRowsForOutliers = 20;

std::string column_name(const std::vector<std::string>& names, size_t j) {
  return names.empty() ? fmt::format("column {}", j) : fmt::format("column '{}'", names[j]);
}

bool has_levels(const std::vector<uint32_t>& levels, size_t j) { return !levels.empty() && levels[j] > 0; }

std::string drop_word(const std::vector<std::string>& names, size_t j) {
  return names.empty() ? std::to_string(j) : names[j];
}

}  // namespace

ColumnReading::ColumnReading(uint32_t columns)
    : mean(columns),
      square(columns),
      lower(columns, INFINITY),
      upper(columns, -INFINITY),
      whole(columns, true) {}

bool ColumnReading::is_whole() const {
  return std::ranges::all_of(whole, [](bool of_column) { return of_column; });
}

// Welford's update, so that a large mean does not hide a small variance.
void ColumnReading::add(std::span<const float> row) {
  const double count = static_cast<double>(++rows);
  for (size_t j = 0; j < row.size(); ++j) {
    const double x = row[j], delta = x - mean[j];
    mean[j] += delta / count;
    square[j] += delta * (x - mean[j]);
    lower[j] = std::min(lower[j], x);
    upper[j] = std::max(upper[j], x);
    whole[j] = whole[j] && x >= 0 && x == std::floor(x);
  }
}

double ColumnReading::deviation(size_t j) const { return std::sqrt(square[j] / static_cast<double>(rows)); }

void require_spread(const ColumnReading& moments, const std::vector<std::string>& names,
                    const std::vector<uint32_t>& levels) {
  for (size_t j = 0; j < moments.mean.size(); ++j) {
    if (has_levels(levels, j)) continue;
    const double deviation = moments.deviation(j);
    if (moments.lower[j] == moments.upper[j])
      throw_error(
          "{} is {} in all {} training rows, as 32-bit floats: a constant has no density; leave it out with "
          "`drop {}`",
          column_name(names, j), moments.lower[j], moments.rows, drop_word(names, j));
    const double step = kFloatStep * std::max(std::abs(moments.lower[j]), std::abs(moments.upper[j]));
    // One far value widens the steps of the others no further than its own share of the spread.
    if (step > kCoarsest * deviation)
      throw_error(
          "{} has mean {:.6g} and standard deviation {:.3g}: 32-bit floats are {:.3g} apart there; subtract "
          "a constant first, or leave it out with `drop {}`",
          column_name(names, j), moments.mean[j], deviation, step, drop_word(names, j));
  }
}

std::vector<std::string> column_warnings(const ColumnReading& moments, const std::vector<std::string>& names,
                                         const std::vector<uint32_t>& levels) {
  std::vector<std::string> out;
  for (size_t j = 0; j < moments.mean.size() && moments.rows >= kRowsForOutliers; ++j) {
    if (has_levels(levels, j)) continue;
    const double low = moments.mean[j] - moments.lower[j], high = moments.upper[j] - moments.mean[j];
    const double far = std::max(low, high);
    if (far * far <= kShareOfOne * moments.square[j]) continue;
    out.push_back(fmt::format(
        "{}: the value {:.6g} is {:.0f} standard deviations from the mean and most of the variance; the "
        "others lie close together beside it. Look at that row, or leave it out",
        column_name(names, j), high > low ? moments.upper[j] : moments.lower[j], far / moments.deviation(j)));
  }
  if (levels.empty() && moments.is_whole())
    out.push_back(with_options(
        "all values are whole numbers, which have no density: its likelihood is without bound. Use `space "
        "counts` or categorical, or add uniform noise from 0 to 1 first"));
  return out;
}

}  // namespace selfnorm
