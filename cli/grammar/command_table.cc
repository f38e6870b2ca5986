#include "grammar/command_table.h"

#include <algorithm>

#include "base/failure.h"
#include "base/near_name.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::cli {
namespace {

std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : fmt::format("did you mean '{}'? ", best);
}

bool is_option(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

}  // namespace

std::string OptionRow::placeholder() const {
  constexpr const char* words[] = {"", "TEXT", "FILE", "DIR", "N", "X"};
  return kind == ValueKind::kChoice ? fmt::format("{}", fmt::join(choices, "|"))
                                    : words[static_cast<size_t>(kind)];
}

const OptionRow* CommandRow::find(const std::string& option) const {
  const auto row = std::ranges::find_if(options, [&](const auto& o) { return o.name == option; });
  return row == options.end() ? nullptr : &*row;
}

std::string CommandRow::usage() const {
  std::string line = "selfnorm " + path;
  bool has_options = false;
  for (const OptionRow& option : options) {
    has_options |= !option.is_positional;
    if (!option.is_positional) continue;
    const std::string word = option.name + (option.is_repeated ? "..." : "");
    line += option.is_required ? " " + word : " [" + word + "]";
  }
  return line + (has_options ? " [options]" : "");
}

const CommandRow* find(const CommandTable& table, const std::string& path) {
  const auto row = std::ranges::find_if(table, [&](const auto& c) { return c.path == path; });
  return row == table.end() ? nullptr : &*row;
}

std::vector<std::string> next_words(const CommandTable& table, const std::string& prefix) {
  std::vector<std::string> words;
  for (const CommandRow& command : table) {
    std::string rest = command.path;
    if (!prefix.empty()) {
      if (rest.rfind(prefix + " ", 0) != 0) continue;
      rest = rest.substr(prefix.size() + 1);
    }
    const std::string word = rest.substr(0, rest.find(' '));
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

std::string command_path(const CommandTable& table, const std::vector<std::string>& arguments) {
  std::string path;
  for (const std::string& argument : arguments) {
    if (find(table, path) != nullptr || is_option(argument)) break;
    const std::vector<std::string> words = next_words(table, path);
    if (std::ranges::find(words, argument) == words.end()) {
      throw_error("unknown command '{}'; {}commands here: {}",
                  runtime::shortened(path.empty() ? argument : fmt::format("{} {}", path, argument)),
                  suggestion(argument, words), fmt::join(words, ", "));
    }
    if (!path.empty()) path += ' ';
    path += argument;
  }
  if (find(table, path) != nullptr) return path;
  throw_error("{}; expected one of: {} (see 'selfnorm help')",
              path.empty() ? "no command given" : fmt::format("'{}' is not a whole command", path),
              fmt::join(next_words(table, path), ", "));
}

void check_option_names(const CommandRow& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const OptionRow& option : command.options) {
    if (!option.is_positional) names.push_back(option.name);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") return;
    if (argument.rfind("--", 0) != 0) continue;
    const std::string name = argument.substr(0, argument.find('='));
    if (name == "--help") continue;
    const OptionRow* option = command.find(name);
    if (option == nullptr) {
      throw_error("unknown option '{}' of '{}'; {}see 'selfnorm {} --help'", runtime::shortened(name),
                  command.path, suggestion(name, names), command.path);
    }
    if (option->kind != ValueKind::kFlag && name == argument) ++i;
  }
}

}  // namespace selfnorm::cli
