#include "attribute_fields.h"

#include <fmt/format.h>

#include "number.h"
#include "quote.h"

namespace selfnorm {

std::string parse_attribute(std::string_view field, AttributeField& attribute) {
  attribute.name.clear();
  attribute.value = 1;
  size_t i = 0;
  for (; i < field.size() && field[i] != ':'; ++i) {
    const bool is_escape =
        field[i] == '\\' && i + 1 < field.size() && (field[i + 1] == ':' || field[i + 1] == '\\');
    attribute.name += field[is_escape ? ++i : i];
  }
  if (attribute.name.empty())
    return fmt::format("found the attribute {}, expected a name before its value", quoted_text(field));
  if (i == field.size()) return {};
  const std::string number(field.substr(i + 1));
  const char* const end = number.data() + number.size();
  if (parse_float(number.data(), end, attribute.value) != end)
    return fmt::format("{} as the value of {}; a colon within a name is written \\:", number_error(number),
                       quoted_text(attribute.name));
  return {};
}

}  // namespace selfnorm
