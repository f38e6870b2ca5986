// Which format of read_sequences.h a file has, by its first lines.
#pragma once

#include <string_view>

#include "selfnorm/data/sequence/read_sequences.h"

namespace selfnorm {

inline constexpr size_t kFormatSample = size_t{1} << 16;

// CoNLL-U: the first line that is no comment, and half of them at least, have ten tab-separated columns, of
// which the first begins with a digit; so that one bad line is an error of CoNLL-U. Attributes: every line
// has tabs; not always as many, and at least half of the fields after the first hold ':' or '='; or as many
// everywhere, and all of them do. Where there is one such field it may be a label after all: not when there
// are as many of them as of first fields or more, which then do not all hold ':' or '='. Columns otherwise.
// `sample` is the first kFormatSample bytes; a last line without its end counts only when it is all there is.
SequenceFormat sequence_format(std::string_view sample);

}  // namespace selfnorm
