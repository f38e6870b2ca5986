// Options, each declared once: name, field, meaning, range, and when it applies. The command line, TOML
// files, validation, run records, fingerprints, completions, the manual and the reference page are made from
// these rows. A table is bound to one struct: `regressor_option_table(options)` reads and writes `options`.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "selfnorm/options.h"

namespace selfnorm {

// How texts name an option: learning-rate, --learning-rate (the program) or learning_rate (Python).
enum class OptionStyle { plain, flag, keyword };
void name_options_as(OptionStyle style);
std::string option_name(std::string_view name);
// "--objective snl"; the word alone when it is empty.
std::string option_text(std::string_view name, std::string_view value);

// Names that options had in earlier versions. A former name is understood wherever an option of that name no
// longer exists and the one it became does, so each pair is written once for all commands.

// The name that `name` (without dashes in front) has now; empty when it has no former meaning here.
// `exists`: whether this command or table has an option of that name.
std::string present_name(std::string_view name, const std::function<bool(const std::string&)>& exists);
// The same of a word that is the value of an option: "constant" for "learned" of normalizer.
std::string present_value(std::string_view option, std::string_view value);

using OptionField =
    std::variant<bool*, int*, uint32_t*, uint64_t*, double*, std::string*, std::optional<double>*,
                 std::vector<double>*, std::vector<uint32_t>*, std::vector<std::string>*>;

// Whether a value may be empty, and what a person would look for.
enum class OptionKind { value, file, directory };

struct Option {
  std::string name;  // "learning-rate"; of a bool that is on at first the flag is "no-NAME"
  OptionField field;
  std::string text;           // what it means, without its range
  std::string off_text = {};  // of a bool that is on at first: what the flag does
  std::string off_name = {};  // and what it is called, when not "no-NAME"
  std::string letter = {};    // "-o": another form of the flag
  std::vector<std::string> choices = {};
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool is_low_open = false, is_high_open = false;
  OptionKind kind = OptionKind::value;
  std::string readers = {};            // "snl, nce": the objectives that read it; empty: all
  std::string families = {};           // "density,regressor": those whose models it is for; empty: all
  std::string owner = {}, found = {};  // it does nothing here: it belongs to `owner`, and this was found

  Option& at_least(double value);
  Option& above(double value);
  Option& in(double low, double high);  // both ends included
  Option& below(double value);          // together with at_least or above
  Option& one_of(std::vector<std::string> words);
  Option& of_kind(OptionKind what);
  Option& of(const std::string& owning_families);
  Option& off(const std::string& name, const std::string& what);  // off_name, off_text
  Option& short_form(const std::string& flag);                    // letter
  // Unless `applies`, the option belongs to `owner` and does nothing here; the first reason stands.
  Option& only(bool applies, const std::string& owner, const std::string& found);

  std::string range() const;  // ">= 1", "1..100", "0 or more, below 1"; empty: any
  std::string help() const;   // "snl, nce: what it means; >= 1"
  std::string value() const;  // as written in a record; numbers in their shortest form
  bool is_flag() const { return std::holds_alternative<bool*>(field); }
  std::string off_flag() const { return off_name.empty() ? "no-" + name : off_name; }
  void validate() const;  // throws Error naming the option, the value and what is expected
};

class OptionTable {
 public:
  Option& add(const std::string& name, OptionField field, const std::string& text);
  Option* find(const std::string& name);
  const std::vector<Option>& rows() const { return rows_; }
  std::vector<Option>& rows() { return rows_; }
  // Those of another struct, after these.
  void append(OptionTable other);
  // All rows are for models of these families.
  OptionTable& of(const std::string& families);

  // The values given by name, underscores for dashes as well. Throws Error for a name that is none of them
  // and for a value of another kind.
  void set(const Options& given);
  // Throws Error for the first value out of its range or none of its choices.
  void validate() const;
  // The options that differ from those of `initial`, the same table of another struct, and do nothing.
  std::vector<const Option*> idle(const OptionTable& initial) const;
  // "NAME belongs to OWNER, found FOUND; leave it out or change that", thrown for the first of these.
  void refuse_idle(const OptionTable& initial) const;
  // One line of all values that shape the result: equal text means equal values.
  std::string fingerprint() const;

 private:
  std::vector<Option> rows_;
};

}  // namespace selfnorm
