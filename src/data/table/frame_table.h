// Tables as frames.
#pragma once

#include "data/input/source.h"
#include "data/table/frame.h"

namespace selfnorm {

// Opens the same bytes again, after a byte order mark.
class Reopening {
 public:
  virtual ~Reopening() = default;
  virtual std::unique_ptr<Input> open() const = 0;
};

// A column that is not declared is read as numbers until a text is found in it; then it alone is read again,
// so a file is read at most twice.
Frame read_table_frame(const Reopening& file, char separator, const FrameOptions& options);

// An empty field, NA, N/A, NaN, null, none or ? in any case.
bool is_missing(std::string_view field);

// Text where numbers were expected.

// DataError at the first text of a categorical column that is no number; `role` stands before its name.
[[noreturn]] void fail_text(const Frame& frame, const FrameColumn& column, const char* role);

}  // namespace selfnorm
