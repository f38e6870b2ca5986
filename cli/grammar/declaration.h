// Declares one command's options to CLI11 and to the command table at the same time. Included only by the
// parser's own files: CLI11 is slow to compile.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <list>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "base/option_table.h"
#include "grammar/command_table.h"
#include "grammar/option_list.h"

namespace selfnorm::cli {

class Declaration {
 public:
  Declaration(CLI::App& app, CommandRow row) : app_(app), row_(std::move(row)) {}

  template <typename T>
  Declaration& option(const std::string& name, T& value, const std::string& text, ValueKind kind) {
    CLI::Option* added = app_.add_option(name, value, text)->take_last();
    if constexpr (std::is_arithmetic_v<T>) added->check(CLI::Validator(number_error<T>, "", ""));
    if constexpr (std::is_same_v<T, std::string>) added->check(CLI::Validator(empty_error, "", ""));
    record({.name = name, .kind = kind, .text = text, .initial = written(value)}, added, value);
    return *this;
  }
  // With a one-letter form too, such as "-o".
  Declaration& integer(const std::string& letter, const std::string& name, uint64_t& value,
                       const std::string& words) {
    CLI::Option* added = app_.add_option(letter + "," + name, value, words)->take_last();
    added->check(CLI::Validator(number_error<uint64_t>, "", ""));
    record({.name = name,
            .short_name = letter,
            .kind = ValueKind::kInteger,
            .text = words,
            .initial = written(value)},
           added, value);
    return *this;
  }
  Declaration& file(const std::string& letter, const std::string& name, std::string& value,
                    const std::string& words) {
    CLI::Option* added = app_.add_option(letter + "," + name, value, words)->take_last();
    added->check(CLI::Validator(empty_error, "", ""));
    record({.name = name, .short_name = letter, .kind = ValueKind::kFile, .text = words, .initial = value},
           added, value);
    return *this;
  }
  Declaration& text(const std::string& name, std::string& value, const std::string& words) {
    return option(name, value, words, ValueKind::kText);
  }
  // Words separated by commas, one or more in each mention of it.
  Declaration& list(const std::string& name, std::string& value, const std::string& words) {
    option(name, value, words, ValueKind::kText);
    row_.options.back().is_list = true;
    return *this;
  }
  Declaration& file(const std::string& name, std::string& value, const std::string& words) {
    return option(name, value, words, ValueKind::kFile);
  }
  template <typename T>
  Declaration& integer(const std::string& name, T& value, const std::string& words) {
    return option(name, value, words, ValueKind::kInteger);
  }
  Declaration& real(const std::string& name, double& value, const std::string& words) {
    return option(name, value, words, ValueKind::kReal);
  }
  Declaration& choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
                      const std::string& words) {
    CLI::Option* added = app_.add_option(name, value, words)->take_last()->check(member_of(choices));
    record({.name = name, .kind = ValueKind::kChoice, .text = words, .initial = value, .choices = choices},
           added, value);
    return *this;
  }
  // `value` becomes true when the flag is given; "--name=false" undoes a config file's true.
  Declaration& flag(const std::string& name, bool& value, const std::string& words) {
    record({.name = name, .kind = ValueKind::kFlag, .text = words},
           app_.add_flag(name, value, words)->take_last(), value);
    return *this;
  }
  template <typename T>
  Declaration& positional(const std::string& name, T& value, const std::string& words, bool required = true,
                          ValueKind kind = ValueKind::kFile) {
    CLI::Option* added = app_.add_option(name, value, words)->required(required);
    record({.name = name,
            .kind = kind,
            .text = words,
            .is_positional = true,
            .is_required = required,
            .is_repeated = !std::is_same_v<T, std::string>},
           added, value);
    return *this;
  }

  // A positional for people only: another one takes its word.
  Declaration& shown_positional(const std::string& name, const std::string& words) {
    row_.options.push_back(
        {.name = name, .kind = ValueKind::kFile, .text = words, .is_positional = true, .is_required = true});
    return *this;
  }
  Declaration& positional_choice(const std::string& name, std::string& value,
                                 const std::vector<std::string>& choices, const std::string& words) {
    CLI::Option* added = app_.add_option(name, value, words)->required()->check(member_of(choices));
    record({.name = name,
            .kind = ValueKind::kChoice,
            .text = words,
            .choices = choices,
            .is_positional = true,
            .is_required = true},
           added, value);
    return *this;
  }

  // The rows of a table, with their fields. What is written otherwise than it is stored (a flag that turns
  // off, lists, a number or auto) is stored by store().
  Declaration& options(const OptionTable& table) {
    for (const Option& row : table.rows()) std::visit([&](auto* field) { declare(row, *field); }, row.field);
    return *this;
  }
  void store() const {
    for (const auto& step : stores_) step();
  }

  const CommandRow& row() const { return row_; }
  CLI::App& app() { return app_; }
  // Every option by name (without dashes) with the value it has now.
  nlohmann::ordered_json values() const {
    nlohmann::ordered_json all;
    for (const auto& [name, read] : readers_) all[name] = read();
    return all;
  }

 private:
  void declare(const Option& row, bool& field) {
    if (!field) {
      flag("--" + row.name, field, row.help());
      return;
    }
    bool& is_off = flags_.emplace_back(false);
    flag("--no-" + row.name, is_off, row.help());
    stores_.emplace_back([&field, &is_off] { field = !is_off; });
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  void declare(const Option& row, T& field) {
    option("--" + row.name, field, row.help(),
           std::is_integral_v<T> ? ValueKind::kInteger : ValueKind::kReal);
  }
  void declare(const Option& row, std::string& field) {
    if (!row.choices.empty())
      choice("--" + row.name, field, row.choices, row.help());
    else
      option("--" + row.name, field, row.help(),
             row.kind == OptionKind::file        ? ValueKind::kFile
             : row.kind == OptionKind::directory ? ValueKind::kDirectory
                                                 : ValueKind::kText);
  }
  void declare(const Option& row, std::vector<std::string>& field) {
    std::string& word = words_.emplace_back(row.value());
    list("--" + row.name, word, row.help());
    stores_.emplace_back([&field, &word] { field = listed_words(word); });
  }
  void declare(const Option& row, std::vector<double>& field) {
    std::string& word = words_.emplace_back(row.value());
    text("--" + row.name, word, row.help());
    stores_.emplace_back(
        [&field, &word, name = "--" + row.name] { field = listed_numbers(name.c_str(), word); });
  }
  void declare(const Option& row, std::vector<uint32_t>& field) {
    std::string& word = words_.emplace_back(field.empty() ? "none" : row.value());
    text("--" + row.name, word, row.help());
    stores_.emplace_back(
        [&field, &word, name = "--" + row.name] { field = listed_widths(name.c_str(), word); });
  }
  void declare(const Option& row, std::optional<double>& field) {
    std::string& word = words_.emplace_back(row.value());
    text("--" + row.name, word, row.help());
    stores_.emplace_back([&field, &word, name = "--" + row.name, low = row.low, high = row.high] {
      field = number_or_auto(name.c_str(), word, low, high);
    });
  }

  // A shell variable that turned out empty, most likely.
  static std::string empty_error(const std::string& given) {
    return given.empty() ? "expected a value, received an empty one" : "";
  }

  // CLI11 lets nan pass for a number and wraps -1 into an unsigned one.
  template <typename T>
  static std::string number_error(const std::string& given) {
    T parsed{};
    const bool is_parsed = CLI::detail::lexical_cast(given, parsed);
    if constexpr (std::is_floating_point_v<T>) {
      if (is_parsed && std::isfinite(parsed)) return {};
      return "expected a finite number, received '" + given + "'";
    } else {
      T exact{};
      const char* end = given.data() + given.size();
      const auto [stop, error] = std::from_chars(given.data() + (given[0] == '+' ? 1 : 0), end, exact);
      if (stop == end && error == std::errc::result_out_of_range) {
        return "expected a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
               std::to_string(std::numeric_limits<T>::max()) + ", received '" + given + "'";
      }
      if (is_parsed && (std::is_signed_v<T> || given.find('-') == std::string::npos)) return {};
      return "expected a whole number, received '" + given + "'";
    }
  }
  // CLI::IsMember would repeat the choices in the help text.
  static CLI::Validator member_of(const std::vector<std::string>& choices) {
    return CLI::Validator(
        [choices](const std::string& given) {
          if (std::find(choices.begin(), choices.end(), given) != choices.end()) return std::string();
          return "expected " + CLI::detail::join(choices, "|") + ", received '" + given + "'";
        },
        "", "");
  }
  template <typename T>
  static std::string written(const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
      return value;
    else
      return nlohmann::json(value).dump();
  }
  template <typename T>
  void record(OptionRow option, CLI::Option* added, const T& value) {
    added->type_name(option.placeholder());
    if (!option.initial.empty()) added->default_str(option.initial);
    const std::string name = option.is_positional ? option.name : option.name.substr(2);
    readers_.emplace_back(name, [&value] { return nlohmann::ordered_json(value); });
    row_.options.push_back(std::move(option));
  }

  CLI::App& app_;
  CommandRow row_;
  std::vector<std::pair<std::string, std::function<nlohmann::ordered_json()>>> readers_;
  std::list<bool> flags_;
  std::list<std::string> words_;
  std::vector<std::function<void()>> stores_;
};

}  // namespace selfnorm::cli
