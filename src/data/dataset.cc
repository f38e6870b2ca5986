#include "data/dataset.h"

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

void append_row(const Features& from, uint64_t row, Features& to) {
  if (from.is_sparse) {
    const uint64_t begin = from.sparse.begin[row], size = from.sparse.begin[row + 1] - begin;
    const auto column = std::span(from.sparse.column).subspan(begin, size);
    const auto value = std::span(from.sparse.value).subspan(begin, size);
    to.sparse.column.insert(to.sparse.column.end(), column.begin(), column.end());
    to.sparse.value.insert(to.sparse.value.end(), value.begin(), value.end());
    to.sparse.begin.push_back(to.sparse.column.size());
  } else {
    auto values = from.dense.row(row);
    to.dense.values.insert(to.dense.values.end(), values.begin(), values.end());
    ++to.dense.rows;
  }
}

}  // namespace

Dataset subset(const Dataset& data, std::span<const uint64_t> examples) {
  Dataset out = unnamed_subset(data, examples);
  out.labels = data.labels;
  out.feature_names = data.feature_names;
  return out;
}

Dataset unnamed_subset(const Dataset& data, std::span<const uint64_t> examples) {
  Dataset out;
  out.features.is_sparse = data.features.is_sparse;
  out.features.sparse.columns = data.features.sparse.columns;
  out.features.dense.columns = data.features.dense.columns;
  if (data.is_joint()) out.group_begin.push_back(0);
  if (!data.features.is_sparse && !data.is_joint())
    out.features.dense.values.reserve(examples.size() * data.features.dense.columns);
  for (uint64_t e : examples) {
    SELFNORM_CHECK(e < data.examples());
    uint64_t begin = data.is_joint() ? data.group_begin[e] : e;
    uint64_t end = data.is_joint() ? data.group_begin[e + 1] : e + 1;
    for (uint64_t row = begin; row < end; ++row) append_row(data.features, row, out.features);
    if (data.is_joint()) out.group_begin.push_back(out.features.rows());
    out.target.push_back(data.target[e]);
    if (!data.weight.empty()) out.weight.push_back(data.weight[e]);
  }
  return out;
}

std::vector<uint64_t> seen_examples(const Dataset& data) {
  std::vector<uint64_t> out;
  for (uint64_t i = 0; i < data.examples(); ++i)
    if (data.target[i] != Dataset::kUnseenTarget) out.push_back(i);
  return out;
}

}  // namespace selfnorm
