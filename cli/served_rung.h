// Which log-probabilities `score` gives of a model whose rungs are in its audit record, a CRF or a regressor:
// what
// --raw, --amortised, --exact or --rung ask for, else the cheapest rung that is certified to be precise
// enough, else exact ones.
#pragma once

#include <string>
#include <vector>

#include "classifier/served_kind.h"
#include "selfnorm/runtime/ladder_layout.h"

namespace selfnorm::cli {

struct OfferedRungs {
  std::vector<runtime::Rung> certified;  // empty: nothing was measured
  std::vector<std::string> names;        // that can be asked for, besides exact
  std::string exact = "exact";           // what exact ones are called
};

// Raw and amortised scores are called so, others by the kind of their rung. Throws Error for more than one of
// those options, and for what the model does not have.
ServedKind served_rung(const Arguments& arguments, const OfferedRungs& offered);

// "raw within 7.1, level within 6.8 (99% of inputs, confidence 99% for all)"; of none certified "nothing".
std::string rungs_text(const std::vector<runtime::Rung>& rungs);

}  // namespace selfnorm::cli
