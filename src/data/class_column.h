// The classes of the rows of a table of states, from an array of labels or a list of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "selfnorm/data/array_file.h"
#include "selfnorm/data/example_source.h"
#include "selfnorm/data/known_labels.h"

namespace selfnorm {

class ClassColumn {
 public:
  // Array files are read in place, row by row; other files (text, idx, gzip) are read whole, here.
  static ClassColumn from_file(const std::string& path, const StatesOptions& options);
  static ClassColumn from_array(ArrayView labels, const StatesOptions& options);

  uint64_t size() const { return size_; }
  uint32_t operator[](uint64_t row) const;  // throws DataError naming the file and the row
  // Rows begin .. end-1 are not needed for now.
  void release(uint64_t begin, uint64_t end) const { array_.release(begin, end - begin); }

 private:
  explicit ClassColumn(std::string name, const StatesOptions& options);
  uint32_t number(const std::string& label, uint64_t row) const;
  std::string array_label(uint64_t row) const;

  std::string name_;
  std::optional<KnownLabels> known_;
  bool keeps_unseen_ = false;
  uint32_t classes_ = Dataset::kNoTarget;  // without known labels
  ArrayView array_;
  std::vector<uint32_t> numbers_;  // instead of the array
  uint64_t size_ = 0;
};

}  // namespace selfnorm
