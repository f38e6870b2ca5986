#include "experiments/regression/table.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <set>

#include "data/table/frame.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct NumberedRow {
  uint64_t line;
  std::vector<double> values;
};

// The rows of a text of numbers; lines without any are skipped.
std::vector<NumberedRow> read_numbers(const std::string& path) {
  constexpr const char* kBlanks = " \t\r";
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(fmt::format("{}: cannot be opened; expected a file of numbers", path));
  std::vector<NumberedRow> out;
  std::string line;
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    std::vector<double> row;
    size_t at = 0;
    while ((at = line.find_first_not_of(kBlanks, at)) != std::string::npos) {
      const size_t end = std::min(line.size(), line.find_first_of(kBlanks, at));
      double value = 0;
      const auto parsed = std::from_chars(line.data() + at, line.data() + end, value);
      if (parsed.ec != std::errc() || parsed.ptr != line.data() + end || !std::isfinite(value))
        throw DataError(path, number,
                        fmt::format("'{}'; expected a finite number", line.substr(at, end - at)));
      row.push_back(value);
      at = end;
    }
    if (!row.empty()) out.push_back({number, std::move(row)});
  }
  if (out.empty()) throw Error(fmt::format("{}: no numbers; expected at least one", path));
  return out;
}

// Whole numbers below `count`, in the order of the file.
std::vector<uint64_t> read_places(const std::string& path, uint64_t count, const char* what) {
  std::vector<uint64_t> out;
  for (const NumberedRow& row : read_numbers(path)) {
    for (const double value : row.values) {
      if (value < 0 || value != std::floor(value) || value >= static_cast<double>(count))
        throw DataError(path, row.line,
                        fmt::format("{}; expected a {} from 0 to {}", value, what, count - 1));
      out.push_back(static_cast<uint64_t>(value));
    }
  }
  return out;
}

FrameColumn column_of(std::string name, const std::vector<NumberedRow>& rows, uint64_t place) {
  FrameColumn out{.name = std::move(name)};
  for (const NumberedRow& row : rows) out.number.push_back(row.values[place]);
  return out;
}

}  // namespace

RegressionTable read_regression_table(const std::string& folder) {
  const std::string path = folder + "/data.txt";
  const std::vector<NumberedRow> rows = read_numbers(path);
  const uint64_t columns = rows[0].values.size();
  RegressionTable out;
  out.frame.file = path;
  out.frame.rows = rows.size();
  for (const NumberedRow& row : rows) {
    if (row.values.size() != columns)
      throw DataError(path, row.line,
                      fmt::format("{} numbers; expected {} as in the first row", row.values.size(), columns));
    out.frame.line.push_back(row.line);
  }
  for (const uint64_t place : read_places(folder + "/index_features.txt", columns, "column"))
    out.frame.columns.push_back(column_of(fmt::format("x{}", place), rows, place));
  out.frame.columns.push_back(
      column_of("y", rows, read_places(folder + "/index_target.txt", columns, "column").front()));

  std::set<std::vector<double>> distinct;
  for (const NumberedRow& row : rows) distinct.insert(row.values);
  out.repeated = rows.size() - distinct.size();
  out.distinct_targets = target_distinct(out.frame.columns.back().number, 1, 0).distinct;

  constexpr uint64_t kMostSplits = 1000;
  const uint64_t splits = read_places(folder + "/n_splits.txt", kMostSplits, "number").front();
  for (uint64_t k = 0; k < splits; ++k) {
    const auto part = [&](const char* name) {
      return read_places(fmt::format("{}/index_{}_{}.txt", folder, name, k), rows.size(), "row");
    };
    RegressionTable::Split split{part("train"), part("test")};
    std::vector<bool> is_trained(rows.size());
    for (const uint64_t row : split.train) is_trained[row] = true;
    for (const uint64_t row : split.test)
      if (is_trained[row])
        throw Error(fmt::format(
            "{}: row {} is in index_train_{}.txt and in index_test_{}.txt; expected every row in one of them",
            folder, row, k, k));
    out.splits.push_back(std::move(split));
  }
  return out;
}

}  // namespace selfnorm
