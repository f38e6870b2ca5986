#include "data/dataset.h"

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kManyExamples = size_t{1} << 20;

void append_row(const Features& from, uint64_t row, Features& to) {
  if (from.is_sparse) {
    const uint64_t begin = from.sparse.begin[row], size = from.sparse.begin[row + 1] - begin;
    const auto column = std::span<const uint32_t>(from.sparse.column).subspan(begin, size);
    const auto value = std::span<const float>(from.sparse.value).subspan(begin, size);
    to.sparse.column.append(column);
    to.sparse.value.append(value);
    to.sparse.begin.push_back(to.sparse.column.size());
    from.sparse.were_read(row, row + 1);
  } else {
    auto values = from.dense.row(row);
    to.dense.values.insert(to.dense.values.end(), values.begin(), values.end());
    ++to.dense.rows;
  }
}

}  // namespace

Dataset subset(const Dataset& data, std::span<const uint64_t> examples) {
  const auto& file = data.features.sparse.column.file();
  Dataset out = file && examples.size() > kManyExamples
                    ? subset_in_files(data, examples, Listed::are_taken, file->folder())
                    : unnamed_subset(data, examples);
  out.labels = data.labels;
  out.feature_names = data.feature_names;
  return out;
}

Dataset subset_in_files(const Dataset& data, std::span<const uint64_t> examples, Listed listed,
                        const std::string& folder) {
  SELFNORM_CHECK(data.features.is_sparse && !data.is_joint());
  const auto file = [&] { return std::make_shared<NumberFile>(folder); };
  Dataset out;
  SparseMatrix& x = out.features.sparse;
  x.columns = data.features.sparse.columns;
  x.begin = StoredArray<uint64_t>(file());
  x.begin.push_back(0);
  x.column = StoredArray<uint32_t>(file());
  x.value = StoredArray<float>(file());
  out.target = StoredArray<uint32_t>(file());
  const auto take = [&](uint64_t i) {
    append_row(data.features, i, out.features);
    out.target.push_back(data.target[i]);
    if (!data.weight.empty()) out.weight.push_back(data.weight[i]);
  };
  if (listed == Listed::are_taken) {
    for (const uint64_t i : examples) take(i);
  } else {
    auto next = examples.begin();
    for (uint64_t i = 0; i < data.examples(); ++i)
      if (next != examples.end() && *next == i)
        ++next;
      else
        take(i);
  }
  x.begin.seal();
  x.column.seal();
  x.value.seal();
  out.target.seal();
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
