// What part the rows that are shown had in the model. A certificate speaks of inputs that had none.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "document/document.h"

namespace selfnorm {

enum class RowsPart {
  kNone,
  kChoseStep,  // the step of training that did best on them was kept, and constants were fitted to them
  kTrained
};

// What a page says of labels that were not in the training data.
// `units` are "inputs" or "tokens"; nothing for 0.
inline void note_unseen(uint64_t unseen, const char* units, ReportDocument& document) {
  if (unseen == 0) return;
  document.notes.push_back(fmt::format(
      "{} {} have a label that the model has not seen: they count as wrong, and likelihoods leave "
      "them out; with them NLL is infinite.",
      unseen, units));
}

}  // namespace selfnorm
