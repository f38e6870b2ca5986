#include "experiments/density/real_table.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <set>

#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNoiseStream = 0xDE0;

std::vector<double> numbers_of_line(const std::string& line) {
  std::vector<double> out;
  size_t at = 0;
  while ((at = line.find_first_not_of(", \t\r", at)) != std::string::npos) {
    const size_t end = std::min(line.size(), line.find_first_of(", \t\r", at));
    double value = 0;
    const auto parsed = std::from_chars(line.data() + at, line.data() + end, value);
    if (parsed.ec == std::errc() && parsed.ptr == line.data() + end) out.push_back(value);
    at = end;
  }
  return out;
}

// The largest power of ten from 1 to 1e-6 that all values are multiples of, or 0.
double unit_of(const std::set<double>& values) {
  for (const double inverse : {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}) {
    bool fits = true;
    for (const double v : values) {
      const double scaled = v * inverse;
      fits = fits && std::abs(scaled - std::round(scaled)) < 1e-6 * std::max(1.0, std::abs(scaled));
      if (!fits) break;
    }
    if (fits) return 1 / inverse;
  }
  return 0;
}

}  // namespace

RealTable read_real_table(const std::string& name, const std::string& path, uint64_t seed) {
  std::ifstream in(path);
  if (!in) throw Error(fmt::format("{}: cannot be opened", path));
  RealTable out;
  out.name = name;
  std::vector<std::vector<double>> rows;
  std::set<std::vector<double>> seen;
  std::string line;
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    std::vector<double> row = numbers_of_line(line);
    if (row.empty()) continue;
    if (out.columns == 0) out.columns = static_cast<uint32_t>(row.size());
    if (row.size() != out.columns)
      throw DataError(path, number,
                      fmt::format("{} numbers; expected {} as in the first row", row.size(), out.columns));
    if (!seen.insert(row).second) {
      ++out.duplicates;
      continue;
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw Error(fmt::format("{}: no row with a number", path));
  out.values.resize(rows.size() * out.columns);
  for (uint32_t j = 0; j < out.columns; ++j) {
    std::set<double> distinct;
    for (const auto& row : rows) distinct.insert(row[j]);
    const double unit = 2 * distinct.size() < rows.size() ? unit_of(distinct) : 0;
    if (unit > 0) ++out.dequantised;
    RandomStream random(seed, kNoiseStream + j);
    for (size_t i = 0; i < rows.size(); ++i)
      out.values[i * out.columns + j] = static_cast<float>(rows[i][j] + unit * random.uniform());
  }
  return out;
}

}  // namespace selfnorm
