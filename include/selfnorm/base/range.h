// The one message about an option out of its range.
#pragma once

namespace selfnorm {

// Throws Error("name = value is out of range; expected ...") unless `good` and the value is finite.
void require_range(bool good, const char* name, double value, const char* expected);

}  // namespace selfnorm
