// JSON lines, an object a line, as a table: every key is a column, in the order of their first appearance. A
// value is text, a number, true, false or null (missing, as a key that is not there); lists and objects are
// errors. Objects of one line after the other are the rows of the table, which has one line more: its header.
#pragma once

#include <memory>
#include <string>

#include "data/input/source.h"

namespace selfnorm {

// The input begins with a brace, which no other format of lines does.
bool is_json_lines(Input& input);
// The whole input as a CSV with a header. Throws DataError naming the line.
std::string json_lines_table(Input& input);
// The same input, or the table of its JSON lines; "NAME (as a table)" in messages.
std::unique_ptr<Input> opened_table(std::unique_ptr<Input> input);

}  // namespace selfnorm
