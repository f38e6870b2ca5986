// The one table of commands and options. The parser fills it while it declares the options; config files,
// shell completions, the manual page and "did you mean" all read it.
#pragma once

#include <string>
#include <vector>

namespace selfnorm::cli {

// In the order of OptionRow::placeholder().
enum class ValueKind { kFlag, kText, kFile, kDirectory, kInteger, kReal, kChoice };

struct OptionRow {
  std::string name{};        // "--alpha", or the word of a positional such as "TRAIN"
  std::string short_name{};  // "-o"; empty when there is none
  ValueKind kind = ValueKind::kText;
  std::string text{};
  std::string initial{};               // the default as written on a command line; empty when there is none
  std::vector<std::string> choices{};  // kChoice only
  std::string families{};              // "density,regressor": whose models it is for; empty: all
  bool is_positional = false;
  bool is_required = false;  // positionals only
  bool is_repeated = false;  // positionals only
  bool is_chosen = false;    // the data choose it where it is not given, and not `initial`
  bool is_list = false;      // may be given several times: "--target a --target b" is "--target a,b"

  std::string placeholder() const;  // "X", "N", "FILE", ...; empty for a flag
  std::string shown_default() const { return is_chosen ? "by the data" : initial; }
};

struct CommandRow {
  std::string path;  // "train classifier"
  std::string text;
  std::vector<OptionRow> options;

  const OptionRow* find(const std::string& option) const;
  std::string usage() const;  // "selfnorm train classifier [TRAIN] [options]"
};

using CommandTable = std::vector<CommandRow>;

const CommandRow* find(const CommandTable& table, const std::string& path);

// The words that may follow `prefix` ("" or "train") in a command path, each once, in the table's order.
std::vector<std::string> next_words(const CommandTable& table, const std::string& prefix);

// The longest command path at the front of `arguments`; throws Error when no command starts there, naming the
// nearest one.
std::string command_path(const CommandTable& table, const std::vector<std::string>& arguments);

// Throws Error for an argument "--name" the command does not have, naming the nearest one.
void check_option_names(const CommandRow& command, const std::vector<std::string>& arguments);

// What is made of the table: a completion script for bash, zsh or fish; the manual page selfnorm(1); the
// reference page docs/reference.md, with the registry of objectives.
std::string completions(const CommandTable& table, const std::string& shell);
std::string manual(const CommandTable& table, const std::string& version);
std::string reference(const CommandTable& table);  // Markdown

}  // namespace selfnorm::cli
