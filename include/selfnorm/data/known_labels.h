// The classes of a model by label, as the readers find them: "+7" and "7" are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "selfnorm/data/string_index.h"

namespace selfnorm {

// What makes two labels the same class: a plus sign before a digit does not count.
std::string_view label_key(std::string_view label);

class KnownLabels {
 public:
  explicit KnownLabels(std::span<const std::string> labels);  // throws Error when two are the same
  std::optional<uint32_t> find(std::string_view label) const { return keys_.find(label_key(label)); }
  std::string unseen(std::string_view label) const;  // the error message

 private:
  StringIndex keys_;
  std::string example_;
};

}  // namespace selfnorm
