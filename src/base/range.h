// The one message about an option out of its range, and the one about a word that is none of those expected.
#pragma once

#include <string>
#include <vector>

namespace selfnorm {

// Throws Error("name = value is out of range; expected ...") unless `good` and the value is finite.
void require_range(bool good, const char* name, double value, const char* expected);

// Throws Error("name 'value' is not known; expected one of ...") unless value is one of the choices.
void require_one_of(const char* name, const std::string& value, const std::vector<std::string>& choices);

}  // namespace selfnorm
