// Text where numbers were expected.
#pragma once

#include "selfnorm/data/frame.h"

namespace selfnorm {

// DataError at the first text of a categorical column that is no number; `role` stands before its name.
[[noreturn]] void fail_text(const Frame& frame, const FrameColumn& column, const char* role);

}  // namespace selfnorm
