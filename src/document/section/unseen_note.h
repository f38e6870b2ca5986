// What a page says of labels that were not in the training data.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "document/document.h"

namespace selfnorm {

// `units` are "inputs" or "tokens"; nothing for 0.
inline void note_unseen(uint64_t unseen, const char* units, ReportDocument& document) {
  if (unseen == 0) return;
  document.notes.push_back(fmt::format(
      "{} {} have a label that the model has not seen: they count as wrong, and likelihoods leave "
      "them out; with them NLL is infinite.",
      unseen, units));
}

}  // namespace selfnorm
