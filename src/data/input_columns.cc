#include "input_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace selfnorm {
namespace {

constexpr const char* kNoValue = "it has no value in the training rows";
constexpr const char* kConstant = "it has one value alone in the training rows";

// With m the power of two next to max |x| all sums are of x / m, so that nothing overflows or underflows.
void learn_numeric(const FrameColumn& from, std::span<const uint64_t> rows, bool standardise,
                   LearnedColumn& to) {
  std::vector<double> x;
  for (const uint64_t row : rows)
    if (!std::isnan(from.number[row])) x.push_back(from.number[row]);
  to.column.has_missing = x.size() < rows.size();
  if (x.empty()) {
    to.reason = kNoValue;
    return;
  }
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  const bool is_constant = *least == *most;
  if (!standardise) {
    to.is_used = true;
    return;
  }
  to.is_used = !is_constant || to.column.has_missing;
  if (!to.is_used) to.reason = kConstant;
  to.column.has_value = !is_constant;
  if (is_constant) return;
  const double m = std::scalbn(1.0, std::ilogb(std::max(std::abs(*least), std::abs(*most))));
  const double n = static_cast<double>(x.size());
  double mean = 0, first = 0, second = 0;
  for (const double value : x) mean += value / m / n;
  for (const double value : x) {
    const double d = value / m - mean;
    first += d / n;
    second += d * d / n;
  }
  to.column.mean = m * (mean + first);
  to.column.scale =
      std::max(m * std::sqrt(std::max(0.0, second - first * first)), std::numeric_limits<double>::min());
}

void learn_categorical(const FrameColumn& from, std::span<const uint64_t> rows, bool standardise,
                       LearnedColumn& to) {
  std::vector<uint64_t> count(from.levels.size());
  uint64_t missing = 0;
  for (const uint64_t row : rows) ++(from.level[row] == kMissingLevel ? missing : count[from.level[row]]);
  std::vector<uint32_t> order(count.size());
  std::iota(order.begin(), order.end(), 0u);
  std::erase_if(order, [&](uint32_t level) { return count[level] == 0; });
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return count[a] != count[b] ? count[a] > count[b] : from.levels[a] < from.levels[b];
  });
  const uint64_t present = rows.size() - missing;
  to.column.has_missing = missing > 0;
  if (order.empty()) {
    to.reason = kNoValue;
  } else if (order.size() == 1 && missing == 0 && standardise) {
    to.reason = kConstant;
  } else if (order.size() == present && present >= kLeastOwnLevels) {
    to.reason = fmt::format("its {} values in the training rows are all different texts", present);
  } else {
    to.is_used = true;
  }
  if (order.size() > kMostLevels && to.is_used) {
    to.reason = fmt::format("it has {} levels; the {} most frequent are kept, the others are one",
                            order.size(), kMostLevels);
    order.resize(kMostLevels);
  }
  for (const uint32_t level : order) to.column.levels.push_back(from.levels[level]);
}

}  // namespace

LearnedColumn learn_column(const FrameColumn& from, std::span<const uint64_t> rows, bool standardise) {
  LearnedColumn to;
  to.column.name = from.name;
  to.column.is_numeric = from.is_numeric;
  if (from.is_numeric)
    learn_numeric(from, rows, standardise, to);
  else
    learn_categorical(from, rows, standardise, to);
  return to;
}

}  // namespace selfnorm
