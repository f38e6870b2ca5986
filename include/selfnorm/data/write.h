// Datasets to files; a file appears whole or not at all.
#pragma once

#include <string>

#include "selfnorm/data/dataset.h"

namespace selfnorm {

// One-based indices and shortest round-trip decimals, so reading gives the same bits back; joint data get
// qid:1, qid:2, ... with target 1 for the chosen alternative and 0 for the others. A dense row leaves its
// zeros out, except in the last column, which keeps the width. Weights have no place in the format: a
// weighted dataset is an Error.
void write_svmlight(const Dataset& data, const std::string& path);

}  // namespace selfnorm
