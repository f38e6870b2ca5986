// Labels to class numbers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "selfnorm/data/read.h"
#include "selfnorm/data/string_index.h"

namespace selfnorm {

// What makes two labels the same class: a plus sign before a digit does not count.
std::string_view label_key(std::string_view label);

// Labels as first spelled, numbered by first appearance.
class LabelTable {
 public:
  uint32_t add(std::string_view label);
  const std::vector<std::string>& spellings() const { return spellings_; }

 private:
  StringIndex keys_;
  std::vector<std::string> spellings_;
};

// The classes of a model.
class KnownLabels {
 public:
  explicit KnownLabels(std::span<const std::string> labels);
  std::optional<uint32_t> find(std::string_view label) const { return keys_.find(label_key(label)); }
  std::string unseen(std::string_view label) const;  // the error message

 private:
  StringIndex keys_;
  std::string example_;
};

// The class number of a label while reading: of the schema, else of the table.
class LabelRule {
 public:
  explicit LabelRule(const ReadOptions& options);
  std::string number(std::string_view label, LabelTable& table,
                     uint32_t& target) const;  // returns what is wrong, or nothing

 private:
  bool require_;
  std::optional<KnownLabels> known_;
};

// Sorts labels (numerically when all are integers, otherwise bytewise); returns old number -> new number.
std::vector<uint32_t> sort_labels(std::vector<std::string>& labels);

}  // namespace selfnorm
