// Attributes of a CRFsuite file: name, or name:value; in a name '\:' is a colon and '\\' a backslash.
#pragma once

#include <string>
#include <string_view>

namespace selfnorm {

struct AttributeField {
  std::string name;
  float value = 1;
};

// What is wrong with the field, or nothing.
std::string parse_attribute(std::string_view field, AttributeField& attribute);

}  // namespace selfnorm
