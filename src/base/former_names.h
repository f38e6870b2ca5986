// Names that options had in earlier versions. A former name is understood wherever an option of that name no
// longer exists and the one it became does, so each pair is written once for all commands.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace selfnorm {

// The name that `name` (without dashes in front) has now; empty when it has no former meaning here.
// `exists`: whether this command or table has an option of that name.
std::string present_name(std::string_view name, const std::function<bool(const std::string&)>& exists);

// The same of a word that is the value of an option: "constant" for "learned" of normalizer.
std::string present_value(std::string_view option, std::string_view value);

}  // namespace selfnorm
