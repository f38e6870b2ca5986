#include "selfnorm/data/write.h"

#include <fmt/format.h>

#include <iterator>

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

}  // namespace selfnorm
