#include "grammar/config_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/failure.h"
#include "base/near_name.h"
#include "base/option_table.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::cli {
namespace {

std::vector<std::string> all_option_names(const CommandTable& table) {
  std::vector<std::string> names;
  for (const CommandRow& command : table) {
    for (const OptionRow& option : command.options) {
      if (!option.is_positional) names.push_back(option.name);
    }
  }
  return names;
}

std::string name_suggestion(const std::string& name, const std::vector<std::string>& names) {
  const std::string best = nearest(name, names);
  return best.empty() ? ""
                      : fmt::format("; did you mean '{}'?", best.substr(best.rfind("--", 0) == 0 ? 2 : 0));
}

// CLI11 takes time by the square of a value's parts, and memory by that of a section's, [a.b.c].
constexpr size_t kLongestConfig = size_t{1} << 16, kLongestSection = 200;

std::vector<CLI::ConfigItem> config_items(const std::string& path, const std::string& text) {
  if (text.size() > kLongestConfig)
    throw_error("{}: found {} bytes, expected a TOML file of options, of at most {}", path, text.size(),
                kLongestConfig);
  uint64_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t bracket = text.find_first_not_of(" \t", begin);
    if (bracket < end && text[bracket] == '[' && end - bracket > kLongestSection)
      throw_at(path, number, "found a section of {} bytes, expected a command such as [train.density]",
               end - bracket);
    begin = end + 1;
  }
  std::istringstream lines(text);
  try {
    return CLI::ConfigTOML().from_config(lines);
  } catch (const CLI::Error& error) {
    throw_error("{}: {}; expected TOML", path, runtime::shortened(error.what()));
  }
}

}  // namespace

std::vector<std::string> option_words(const CommandRow& command, const nlohmann::ordered_json& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : options.items()) {
    const OptionRow* option = command.find("--" + name);
    const bool is_positional = option == nullptr && (option = command.find(name)) != nullptr;
    if (option == nullptr) throw_error("unknown option '{}' of '{}'", runtime::shortened(name), command.path);
    const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
    if (written.empty() || value.is_null() || value == false) continue;
    if (!is_positional) words.push_back(fmt::format("--{}={}", name, written));
  }
  return words;
}

std::vector<std::string> config_words(const CommandTable& table, const CommandRow& command,
                                      const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    throw_error("cannot read the config file {}: expected a TOML file", path);
  return config_words(table, command, path, {std::istreambuf_iterator<char>(file), {}});
}

std::vector<std::string> config_words(const CommandTable& table, const CommandRow& command,
                                      const std::string& path, const std::string& text) {
  const std::vector<CLI::ConfigItem> items = config_items(path, text);
  const std::vector<std::string> known = all_option_names(table);
  std::vector<std::string> words;
  for (const CLI::ConfigItem& item : items) {
    const std::string section = fmt::format("{}", fmt::join(item.parents, " "));
    if (item.name == "++" || item.name == "--") {  // CLI11's marks of a section's begin and end
      const bool is_start = std::ranges::any_of(table, [&](const CommandRow& row) {
        return row.path == section || row.path.starts_with(section + " ");
      });
      if (!is_start && !section.empty())
        throw_error("{}: section [{}] is no command", path, runtime::shortened(section));
      continue;
    }
    const CommandRow* owner = section.empty() ? &command : find(table, section);
    if (owner == nullptr)
      throw_error("{}: section [{}] is no command", path,
                  runtime::shortened(fmt::format("{}", fmt::join(item.parents, "."))));
    const std::string name = "--" + item.name;
    if (owner->find(name) == nullptr) {
      if (section.empty() && std::ranges::find(known, name) != known.end()) continue;
      const std::string now = present_name(
          item.name, [owner](const std::string& one) { return owner->find("--" + one) != nullptr; });
      if (now.empty())
        throw_error("{}: unknown option '{}'{}", path, runtime::shortened(item.fullname()),
                    name_suggestion(name, known));  // a former name is replaced by the parser
    }
    if (item.name == "allow-code")
      throw_error("{}: allow-code is given on the command line, not in a file", path);
    if (owner == &command) words.push_back(fmt::format("{}={}", name, fmt::join(item.inputs, ",")));
  }
  return words;
}

}  // namespace selfnorm::cli
