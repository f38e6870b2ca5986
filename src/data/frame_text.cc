#include "frame_text.h"

#include <fmt/format.h>

#include "number.h"
#include "quote.h"
#include "selfnorm/base/error.h"

namespace selfnorm {

void fail_text(const Frame& frame, const FrameColumn& column, const char* role) {
  for (uint64_t row = 0; row < frame.rows; ++row) {
    if (column.level[row] == kMissingLevel || is_number(column.levels[column.level[row]])) continue;
    throw DataError(frame.file, frame.line[row],
                    fmt::format("in {} {}: found {}, expected a number", role, quoted_text(column.name),
                                quoted_text(column.levels[column.level[row]])));
  }
  throw DataError(frame.file, 0,
                  fmt::format("{} {} was read as categorical, expected numbers; leave it out of the "
                              "categorical columns",
                              role, quoted_text(column.name)));
}

}  // namespace selfnorm
