// Groups of alternatives (`qid:`) from rows in file order.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "bad_rows.h"
#include "selfnorm/data/dataset.h"

namespace selfnorm {

// A group with a bad row, without exactly one choice or with the qid of an earlier
// group is left out whole.
class Groups {
 public:
  Groups(BadRows& bad, bool require_choice) : bad_(bad), require_choice_(require_choice) {}

  void row(uint64_t qid, uint64_t line, bool chosen);  // after the row was appended to the features
  void bad_row(std::optional<uint64_t> qid);
  // Sets targets and groups, and drops the rows of bad groups; returns their numbers.
  std::vector<uint64_t> finish(Dataset& data);

 private:
  void close();

  BadRows& bad_;
  bool require_choice_;
  std::unordered_set<uint64_t> seen_;
  std::vector<uint64_t> begin_{0};
  std::vector<uint32_t> target_;
  std::vector<uint64_t> dropped_;  // numbers of bad groups
  uint64_t rows_ = 0;
  uint64_t qid_ = 0, line_ = 0, chosen_ = 0;
  uint32_t choice_ = Dataset::kNoTarget;
  bool spoilt_ = false;  // the open group has a bad row
  bool open_ = false;
  bool spoil_next_ = false;
  std::optional<uint64_t> spoilt_qid_;
};

}  // namespace selfnorm
