// Which format of read_sequences.h a file has, by its first lines.
#pragma once

#include <string_view>

#include "selfnorm/data/sequence/read_sequences.h"

namespace selfnorm {

inline constexpr size_t kFormatSample = size_t{1} << 16;

// CoNLL-U: every line but comments has ten tab-separated columns, of which the first is an id, and so is the
// first one. Attributes: every line has tabs, not always as many, and at least half of the fields after the
// first hold ':' or '='. Columns otherwise. `sample` is the first kFormatSample bytes; a last line without
// its end counts only when it is all there is.
SequenceFormat sequence_format(std::string_view sample);

}  // namespace selfnorm
