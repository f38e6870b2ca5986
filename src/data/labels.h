// Labels to class numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "selfnorm/data/known_labels.h"
#include "selfnorm/data/read.h"
#include "selfnorm/data/string_index.h"

namespace selfnorm {

// Labels as first spelled, numbered by first appearance.
class LabelTable {
 public:
  uint32_t add(std::string_view label);
  const std::vector<std::string>& spellings() const { return spellings_; }

 private:
  StringIndex keys_;
  std::vector<std::string> spellings_;
};

// The class number of a label while reading: of the schema, else of the table. A label that the schema lacks
// and that is kept is put into the table.
class LabelRule {
 public:
  explicit LabelRule(const ReadOptions& options);
  std::string number(std::string_view label, LabelTable& table,
                     uint32_t& target) const;  // returns what is wrong, or nothing

 private:
  bool require_, keep_unseen_;
  std::optional<KnownLabels> known_;
};

// Of data read by a schema; `table` has the labels it lacks.
UnseenLabels unseen_labels(const Dataset& data, const LabelTable& table);

// Sorts labels (numerically when all are integers, otherwise bytewise); returns old number -> new number.
std::vector<uint32_t> sort_labels(std::vector<std::string>& labels);

}  // namespace selfnorm
