#include "data/table/target_ends.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"

namespace selfnorm {

double TargetEnds::place(size_t i) const {
  if (!std::isfinite(low[i])) return high[i];
  if (!std::isfinite(high[i])) return low[i];
  return low[i] + 0.5 * (high[i] - low[i]);
}

std::vector<uint64_t> rows_without_ends(const Frame& frame, const TargetColumns& columns) {
  std::vector<uint64_t> out = rows_without_targets(frame, {columns.name});
  if (columns.kind != "interval") return out;
  const std::vector<uint64_t> high = rows_without_targets(frame, {columns.high});
  std::vector<uint64_t> both;
  std::ranges::set_intersection(out, high, std::back_inserter(both));
  return both;
}

TargetEnds target_ends(const Frame& frame, const TargetColumns& columns, std::span<const uint64_t> rows) {
  TargetEnds out;
  if (columns.kind != "interval") {
    out.low = numeric_targets(frame, {columns.name}, rows);
    out.high = out.low;
    if (columns.kind == "number") return out;
    const bool is_count = columns.kind == "count";
    for (size_t i = 0; i < rows.size(); ++i) {
      const double k = out.low[i];
      if (k != std::round(k) || (is_count && k < 0))
        throw_at(frame.file, frame.line[rows[i]], "in the target column {}: found {}, expected {}",
                 columns.name, k, is_count ? "a count, 0, 1, 2, ..." : "a level, a whole number");
      out.low[i] = k - 0.5;
      out.high[i] = k + 0.5;
    }
    return out;
  }
  // Missing ends stand for infinite ones, so text is looked for where there are values.
  const auto ends = [&](const std::string& name, double missing) {
    std::vector<uint64_t> there;
    const std::vector<uint64_t> without = rows_without_targets(frame, {name});
    for (const uint64_t row : rows)
      if (!std::ranges::binary_search(without, row)) there.push_back(row);
    const std::vector<double> values = numeric_targets(frame, {name}, there);
    std::vector<double> all(rows.size(), missing);
    for (size_t i = 0, j = 0; i < rows.size() && j < there.size(); ++i)
      if (rows[i] == there[j]) all[i] = values[j++];
    return all;
  };
  out.low = ends(columns.name, -INFINITY);
  out.high = ends(columns.high, INFINITY);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (std::isinf(out.low[i]) && std::isinf(out.high[i]))
      throw_at(frame.file, frame.line[rows[i]],
               "found neither a lower nor an upper end ({}, {}), expected one of them; leave such rows out",
               columns.name, columns.high);
    if (out.low[i] > out.high[i])
      throw_at(frame.file, frame.line[rows[i]],
               "found {} {} above {} {}, expected the lower end of a target first", columns.name, out.low[i],
               columns.high, out.high[i]);
  }
  return out;
}

}  // namespace selfnorm
