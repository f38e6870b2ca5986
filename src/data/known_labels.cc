#include "selfnorm/data/known_labels.h"

#include <fmt/format.h>

#include "quote.h"
#include "selfnorm/base/error.h"

namespace selfnorm {

std::string_view label_key(std::string_view label) {
  bool plus = label.size() > 1 && label[0] == '+' && label[1] >= '0' && label[1] <= '9';
  return plus ? label.substr(1) : label;
}

KnownLabels::KnownLabels(std::span<const std::string> labels) {
  for (uint32_t k = 0; k < labels.size(); ++k)
    if (keys_.add(label_key(labels[k])) != k)
      throw Error(fmt::format("the model names the label {} twice", quoted_text(labels[k])));
  if (!labels.empty()) example_ = labels[0];
}

std::string KnownLabels::unseen(std::string_view label) const {
  return fmt::format(
      "found label {}, which was not seen in training; expected one of the model's {} labels, such as {}",
      quoted_text(label), keys_.size(), quoted_text(example_));
}

}  // namespace selfnorm
