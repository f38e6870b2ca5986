#include "base/former_names.h"

#include <array>

namespace selfnorm {
namespace {

struct FormerName {
  std::string_view former, present;
};
constexpr std::array kFormerNames = {
    FormerName{"ignore", "drop"},
    FormerName{"iterations", "steps"},
    FormerName{"noise", "proposal"},
    FormerName{"noise-power", "proposal-power"},
    FormerName{"noise-sharing", "proposal-sharing"},
    FormerName{"normalizer", "normalizer-hidden"},
    FormerName{"precision", "arithmetic"},
    FormerName{"samples", "number"},
    FormerName{"defence", "defensive"},
    FormerName{"weight", "weight-column"},
};

struct FormerValue {
  std::string_view option, former, present;
};
constexpr std::array kFormerValues = {
    FormerValue{"normalizer", "learned", "constant"},
};

}  // namespace

std::string present_name(std::string_view name, const std::function<bool(const std::string&)>& exists) {
  if (exists(std::string(name))) return "";
  for (const auto& [former, present] : kFormerNames)
    if (former == name && exists(std::string(present))) return std::string(present);
  return "";
}

std::string present_value(std::string_view option, std::string_view value) {
  for (const auto& [name, former, present] : kFormerValues)
    if (name == option && former == value) return std::string(present);
  return "";
}

}  // namespace selfnorm
