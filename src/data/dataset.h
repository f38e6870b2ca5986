// What every reader produces and every trainer consumes: rows of features with a target, or groups of
// alternatives with one chosen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/stored_array.h"
#include "data/string_index.h"

namespace selfnorm {

// The numbers that rows have in their input, from 0. What is no row (a blank line, a comment, a bad row that
// was skipped) has a number too, so row i has number i only where there is nothing of the kind before it.
class RowNumbers {
 public:
  // Something that is no row stands after the first `rows` rows; in the order of the input.
  void skip(uint64_t rows) { before_.push_back(rows); }

  uint64_t operator[](uint64_t row) const {
    return row + static_cast<uint64_t>(std::ranges::upper_bound(before_, row) - before_.begin());
  }
  // What was said of it, in that order.
  const std::vector<uint64_t>& skipped() const { return before_; }

 private:
  std::vector<uint64_t> before_;  // rows before each
};

// Row-major n x d, float32.
struct DenseMatrix {
  uint64_t rows = 0;
  uint32_t columns = 0;
  std::vector<float> values;

  std::span<const float> row(uint64_t i) const { return {values.data() + i * columns, columns}; }
};

// Compressed sparse rows; the columns of a row are strictly increasing and zero-based (files are one-based).
struct SparseMatrix {
  uint32_t columns = 0;
  StoredArray<uint64_t> begin{0};  // rows + 1 offsets into column/value
  StoredArray<uint32_t> column;
  StoredArray<float> value;

  uint64_t rows() const { return begin.size() - 1; }
  // Rows first .. end - 1 were looked at (NumberFile::was_read).
  void were_read(uint64_t first, uint64_t end) const {
    if (column.file() && first < end) column.was_read(2 * (begin[end] - begin[first]) + 2 * (end - first));
  }
};

// Exactly one of the two matrices is in use.
struct Features {
  bool is_sparse = true;
  SparseMatrix sparse;
  DenseMatrix dense;

  uint64_t rows() const { return is_sparse ? sparse.rows() : dense.rows; }
  uint32_t columns() const { return is_sparse ? sparse.columns : dense.columns; }
};

// Multiclass: row i has class target[i], an index into labels; `group_begin` is empty. Joint (conditional
// logit, `qid:` groups): rows are alternatives, group g owns rows group_begin[g] .. group_begin[g+1]-1 and
// target[g] is the place of the one chosen; labels is empty.
struct Dataset {
  // The target of a row without a label (with ReadOptions::require_labels false alone).
  static constexpr uint32_t kNoTarget = 0xFFFFFFFFu;
  // The target of a row whose label the model has not seen (ReadOptions::keep_unseen): it has probability 0.
  static constexpr uint32_t kUnseenTarget = 0xFFFFFFFEu;

  Features features;
  StoredArray<uint32_t> target;
  ClassNames labels;                       // class index -> label as written in the file
  std::vector<float> weight;               // one per example (row or group); empty means all 1
  std::vector<uint64_t> group_begin;       // groups + 1 offsets, or empty
  std::vector<std::string> feature_names;  // column -> name; empty when the format has none
  RowNumbers numbers;                      // of the examples in the file; not kept by subset

  // The entry of a cache that has its arrays (data/dataset_cache.h); empty: they are in memory. And the
  // digest of the record that these arrays were found with: by now another run may have made the entry anew.
  std::string stored_in, stored_as;

  bool is_joint() const { return !group_begin.empty(); }
  uint64_t examples() const { return is_joint() ? group_begin.size() - 1 : features.rows(); }
  uint32_t classes() const { return static_cast<uint32_t>(labels.size()); }
};

// The examples listed, in that order (labels and names are kept whole). Many of a data set in files are in
// files too, without names, in the same folder.
Dataset subset(const Dataset& data, std::span<const uint64_t> examples);

// The same without labels and names: what it costs does not depend on how many classes or features there are.
Dataset unnamed_subset(const Dataset& data, std::span<const uint64_t> examples);

// The examples listed, or all others, in files without names in this folder: sparse rows, without labels and
// names. The list is in order.
enum class Listed { are_taken, are_left_out };
Dataset subset_in_files(const Dataset& data, std::span<const uint64_t> examples, Listed listed,
                        const std::string& folder);

// The examples whose label is not unseen.
std::vector<uint64_t> seen_examples(const Dataset& data);

// A row of features as its stored entries, dense or sparse alike:
// visit(column, value) for every stored entry of a row.
template <class Visit>
void for_each_entry(const Features& x, uint64_t row, const Visit& visit) {
  if (x.is_sparse) {
    for (uint64_t p = x.sparse.begin[row]; p < x.sparse.begin[row + 1]; ++p)
      visit(x.sparse.column[p], x.sparse.value[p]);
  } else {
    const auto values = x.dense.row(row);
    for (uint32_t j = 0; j < values.size(); ++j) visit(j, values[j]);
  }
}

}  // namespace selfnorm
