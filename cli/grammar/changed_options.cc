#include "grammar/changed_options.h"

#include <fmt/format.h>

#include "grammar/parser.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {

std::set<std::string> changed_options(const Arguments& arguments) {
  std::set<std::string> changed;
  const CommandTable table = command_table();
  for (const OptionRow& option : find(table, arguments.command)->options) {
    if (option.is_positional) continue;
    const nlohmann::ordered_json& value = arguments.options.at(option.name.substr(2));
    const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
    const std::string initial = option.kind == ValueKind::kFlag ? "false" : option.initial;
    if (written != initial) changed.insert(option.name);
  }
  return changed;
}

void refuse_options(const Arguments& arguments, const std::vector<std::string>& options,
                    const std::string& why) {
  const std::set<std::string> changed = changed_options(arguments);
  for (const std::string& option : options)
    if (changed.contains(option)) throw Error(fmt::format("{}: {}", option, why));
}

std::vector<std::string> density_options() {
  return {"--method", "--samples", "--precision", "--seed", "--drop", "--array"};
}

std::vector<std::string> class_options() {
  return {"--candidates",    "--candidates-file", "--top",         "--totals",
          "--timing",        "--limit",           "--target",      "--labels",
          "--weight-column", "--skip-bad",        "--weight-name", "--bias-name"};
}

std::vector<std::string> regressor_options() { return {"--draw", "--feature"}; }

}  // namespace selfnorm::cli
