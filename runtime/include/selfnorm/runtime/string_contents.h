// Scans of the string lists of model files; throw FormatError, whose message begins with `where`.
#pragma once

#include <string>

#include "selfnorm/runtime/label_index.h"

namespace selfnorm::runtime {

// Offsets that rise from 0 to the end of the bytes.
void check_strings(const StringTable& strings, const std::string& where);
// Slots that hold numbers of strings, and find every string, or an equal one before it.
void check_index(const LabelIndex& index, const StringTable& strings, const std::string& where);

}  // namespace selfnorm::runtime
