// Rows of a text file as they are written, for people to look at.
#pragma once

#include <map>
#include <span>
#include <string>

#include "data/read.h"

namespace selfnorm {

// By their numbers (RowNumbers): the line of a row, or of quotes lines, with its middle left out
// above 200 bytes, and blanks for control characters. Nothing of what has no text: standard input, arrays,
// rows that are not there.
std::map<uint64_t, std::string> row_texts(const std::string& path, const ReadOptions& options,
                                          std::span<const uint64_t> numbers);

// One line of about 200 bytes at most: control characters are blanks, "..." is what was left out.
std::string shown_row(std::string_view text);

}  // namespace selfnorm
