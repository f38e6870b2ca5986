#include "selfnorm/data/write.h"

#include <fmt/format.h>

#include <iterator>

#include "matrix.h"
#include "npy.h"
#include "selfnorm/base/atomic_file.h"
#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

void append_row(const Features& features, uint64_t row, std::string& line) {
  auto pair = [&](uint64_t column, float value) {
    fmt::format_to(std::back_inserter(line), " {}:{}", column + 1, value);
  };
  if (features.is_sparse) {
    const SparseMatrix& x = features.sparse;
    for (uint64_t k = x.begin[row]; k < x.begin[row + 1]; ++k) pair(x.column[k], x.value[k]);
  } else {
    std::span<const float> values = features.dense.row(row);
    for (size_t j = 0; j < values.size(); ++j)
      if (values[j] != 0 || j + 1 == values.size()) pair(j, values[j]);
  }
  line += '\n';
}

// A label must survive as one token that is not taken for a comment, a pair or nothing.
void check_labels(const Dataset& data) {
  for (const std::string& label : data.labels)
    if (label.empty() || label[0] == '#' || label.find_first_of(" \t\r\n:") != std::string::npos)
      throw Error(fmt::format("label '{}' cannot be written in svmlight format", label));
}

void write_npy(const Points& points, AtomicFile& file) {
  const uint64_t shape[] = {points.rows, points.columns};
  file.write(npy_header("<f4", shape));
  file.write({reinterpret_cast<const char*>(points.data), points.size() * sizeof(float)});
}

}  // namespace

void write_svmlight(const Dataset& data, const std::string& path) {
  if (!data.weight.empty()) throw Error("weights cannot be written in svmlight format");
  check_labels(data);
  AtomicFile file(path);
  std::string line;
  for (uint64_t e = 0; e < data.examples(); ++e) {
    if (!data.is_joint()) {
      if (data.target[e] == Dataset::kNoTarget)
        throw Error("a row without a label cannot be written in svmlight format");
      line = data.labels[data.target[e]];
      append_row(data.features, e, line);
      file.write(line);
      continue;
    }
    for (uint64_t row = data.group_begin[e]; row < data.group_begin[e + 1]; ++row) {
      line = fmt::format("{} qid:{}", row - data.group_begin[e] == data.target[e] ? 1 : 0, e + 1);
      append_row(data.features, row, line);
      file.write(line);
    }
  }
  file.commit();
}

std::string csv_field(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_of(",\"\r\n") == std::string::npos &&
                        !text.starts_with(' ') && !text.ends_with(' ');
  if (is_plain) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void csv_lines(const Points& points, const std::vector<std::string>& names,
               const std::function<void(const std::string&)>& write) {
  std::string line;
  for (uint32_t j = 0; j < points.columns; ++j)
    line += (j > 0 ? "," : "") + (names.empty() ? fmt::format("x{}", j + 1) : csv_field(names[j]));
  write(line + "\n");
  for (uint64_t i = 0; i < points.rows; ++i) {
    line.clear();
    fmt::format_to(std::back_inserter(line), "{}\n", fmt::join(points.row(i), ","));
    write(line);
  }
}

void check_points_path(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".npy"))
    throw Error(fmt::format("cannot write points to {}: expected a name that ends with .csv or .npy", path));
}

void write_points(const Points& points, const std::vector<std::string>& names, const std::string& path) {
  check_points_path(path);
  if (!names.empty() && names.size() != points.columns)
    throw Error(fmt::format("found {} names for {} columns", names.size(), points.columns));
  for (uint64_t i = 0; i < points.rows; ++i) {
    const std::string message = value_error(points.row(i));
    if (!message.empty()) throw Error(fmt::format("cannot write {}: row {}: {}", path, i + 1, message));
  }
  AtomicFile file(path);
  if (path.ends_with(".csv")) {
    csv_lines(points, names, [&file](const std::string& line) { file.write(line); });
  } else {
    write_npy(points, file);
  }
  file.commit();
}

}  // namespace selfnorm
