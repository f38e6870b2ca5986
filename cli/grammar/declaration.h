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
#include <map>
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

  // One or more files, read as one: their names separated by line feeds (data/input/source.h).
  Declaration& files(const std::string& name, std::string& value, const std::string& words,
                     bool required = false) {
    std::vector<std::string>& list = lists_.emplace_back();
    CLI::Option* added = app_.add_option(name, list, words)->required(required);
    stores_.emplace_back([&value, &list] { value = CLI::detail::join(list, "\n"); });
    record({.name = name,
            .kind = ValueKind::kFile,
            .text = words,
            .is_positional = true,
            .is_required = required,
            .is_repeated = true},
           added, value);
    return *this;
  }
  // The options of these names are chosen by the data where they are not given, and people are told so.
  Declaration& chosen(const std::vector<std::string>& names) {
    for (OptionRow& row : row_.options) {
      if (std::ranges::find(names, row.name) == names.end()) continue;
      row.is_chosen = true;
      app_.get_option(row.name)->default_str(row.shown_default());
    }
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

  // The rows of a table, or those that are named, with their fields. What is written otherwise than it is
  // stored (a flag that turns off, lists, a number or auto) is stored by store().
  Declaration& options(const OptionTable& table, const std::vector<std::string>& names = {}) {
    for (const Option& row : table.rows())
      if (names.empty() || std::ranges::find(names, row.name) != names.end())
        std::visit([&](auto* field) { declare(row, *field); }, row.field);
    return *this;
  }
  // All of the table of `values`; check() throws Error for what is out of its range or does nothing.
  template <typename Values>
  Declaration& checked(OptionTable (*table)(Values&), Values& values) {
    options(table(values));
    checks_.emplace_back([table, &values, initial = values]() mutable {
      const OptionTable given = table(values);
      given.validate();
      given.refuse_idle(table(initial));
    });
    return *this;
  }
  void store() const {
    for (const auto& step : stores_) step();
  }
  void check() const {
    for (const auto& check : checks_) check();
  }

  const CommandRow& row() const { return row_; }
  CLI::App& app() { return app_; }
  // Every option by name (without dashes) with the value it has now.
  nlohmann::ordered_json values() const {
    nlohmann::ordered_json all;
    for (const auto& [name, read] : readers_) all[name] = read();
    return all;
  }
  // The options whose value is not the default, with the families they are for.
  std::map<std::string, std::string> changed() const {
    std::map<std::string, std::string> out;
    const nlohmann::ordered_json now = values();
    for (const OptionRow& option : row_.options) {
      if (option.is_positional) continue;
      const nlohmann::ordered_json& value = now.at(option.name.substr(2));
      const std::string initial = option.kind == ValueKind::kFlag ? "false" : option.initial;
      if (written(value) != initial) out.emplace(option.name, option.families);
    }
    return out;
  }

 private:
  template <typename T>
  CLI::Option* added(const Option& row, T& value) {
    return app_.add_option((row.letter.empty() ? "--" : row.letter + ",--") + row.name, value, row.help())
        ->take_last();
  }
  static OptionRow row_of(const Option& row, ValueKind kind, std::string initial) {
    return {.name = "--" + row.name,
            .short_name = row.letter,
            .kind = kind,
            .text = row.help(),
            .initial = std::move(initial),
            .choices = row.choices,
            .families = row.families};
  }
  void flag(const Option& row, const std::string& name, bool& value) {
    OptionRow flag = row_of(row, ValueKind::kFlag, "");
    flag.name = "--" + name;
    CLI::Option* added = app_.add_flag(flag.name, value, flag.text)->take_last();
    record(std::move(flag), added, value);
  }
  // `value` becomes true when the flag is given; "--name=false" undoes a config file's true.
  void declare(const Option& row, bool& field) {
    if (!field) return flag(row, row.name, field);
    bool& is_off = flags_.emplace_back(false);
    flag(row, row.off_flag(), is_off);
    stores_.emplace_back([&field, &is_off] { field = !is_off; });
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  void declare(const Option& row, T& field) {
    CLI::Option* number = added(row, field)->check(CLI::Validator(number_error<T>, "", ""));
    record(row_of(row, std::is_integral_v<T> ? ValueKind::kInteger : ValueKind::kReal,
                  written(nlohmann::ordered_json(field))),
           number, field);
  }
  void declare(const Option& row, std::string& field) {
    const ValueKind kind = !row.choices.empty()                ? ValueKind::kChoice
                           : row.kind == OptionKind::file      ? ValueKind::kFile
                           : row.kind == OptionKind::directory ? ValueKind::kDirectory
                                                               : ValueKind::kText;
    CLI::Option* word =
        added(row, field)
            ->check(row.choices.empty() ? CLI::Validator(empty_error, "", "") : member_of(row.choices));
    record(row_of(row, kind, field), word, field);
  }
  // A value that is written as text: read(flag, word) makes it.
  template <typename T, typename Read>
  void declare_word(const Option& row, T& field, const std::string& initial, Read read) {
    std::string& word = words_.emplace_back(initial);
    declare(row, word);
    stores_.emplace_back([&field, &word, read, name = "--" + row.name] { field = read(name.c_str(), word); });
  }
  // Words separated by commas, one or more in each mention of it.
  void declare(const Option& row, std::vector<std::string>& field) {
    declare_word(row, field, row.value(), [](const char*, const std::string& w) { return listed_words(w); });
    row_.options.back().is_list = true;
  }
  void declare(const Option& row, std::vector<double>& field) {
    declare_word(row, field, row.value(), listed_numbers);
  }
  void declare(const Option& row, std::vector<uint32_t>& field) {
    declare_word(row, field, field.empty() ? "none" : row.value(), listed_widths);
  }
  void declare(const Option& row, std::optional<double>& field) {
    declare_word(row, field, row.value(),
                 [low = row.low, high = row.high](const char* name, const std::string& word) {
                   return number_or_auto(name, word, low, high);
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
      if (stop == end && error == std::errc::result_out_of_range)
        return "expected a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
               std::to_string(std::numeric_limits<T>::max()) + ", received '" + given + "'";
      if (is_parsed && (std::is_signed_v<T> || given.find('-') == std::string::npos)) return {};
      return "expected a whole number, received '" + given + "'";
    }
  }
  // CLI::IsMember would repeat the choices in the help text.
  static CLI::Validator member_of(const std::vector<std::string>& choices) {
    return CLI::Validator(
        [choices](const std::string& given) {
          if (std::ranges::find(choices, given) != choices.end()) return std::string();
          return "expected " + CLI::detail::join(choices, "|") + ", received '" + given + "'";
        },
        "", "");
  }
  static std::string written(const nlohmann::ordered_json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
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
  std::list<std::vector<std::string>> lists_;
  std::vector<std::function<void()>> stores_, checks_;
};

}  // namespace selfnorm::cli
