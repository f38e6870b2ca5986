#include "base/option_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>

#include "base/range.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::atomic<OptionStyle> option_style = OptionStyle::plain;

template <class T>
constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

template <class T>
std::string written(const T& value) {
  if constexpr (std::is_same_v<T, std::optional<double>>)
    return value ? fmt::format("{}", *value) : "auto";
  else if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>)
    return fmt::format("{}", value);
  else
    return fmt::format("{}", fmt::join(value, ","));
}

}  // namespace

void name_options_as(OptionStyle style) { option_style = style; }

std::string option_name(std::string_view name) {
  std::string out(name);
  if (option_style == OptionStyle::flag) return "--" + out;
  if (option_style == OptionStyle::keyword) std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

std::string option_text(std::string_view name, std::string_view value) {
  return value.empty() ? option_name(name)
                       : fmt::format("{}{}{}", option_name(name),
                                     option_style == OptionStyle::keyword ? "=" : " ", value);
}

Option& Option::at_least(double value) {
  low = value;
  return *this;
}

Option& Option::above(double value) {
  low = value;
  is_low_open = true;
  return *this;
}

Option& Option::in(double from, double to) {
  low = from;
  high = to;
  return *this;
}

Option& Option::below(double value) {
  high = value;
  is_high_open = true;
  return *this;
}

Option& Option::one_of(std::vector<std::string> words) {
  choices = std::move(words);
  return *this;
}

Option& Option::of_kind(OptionKind what) {
  kind = what;
  return *this;
}

Option& Option::unrecorded() {
  is_recorded = false;
  return *this;
}

Option& Option::only(bool applies, const std::string& whose, const std::string& instead) {
  if (applies || !owner.empty()) return *this;
  owner = whose;
  found = instead;
  return *this;
}

std::string Option::range() const {
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  if (has_low && has_high && !is_low_open && !is_high_open) return fmt::format("{}..{}", low, high);
  const std::string from = has_low ? fmt::format("{} {}", is_low_open ? ">" : ">=", low) : "";
  const std::string to = has_high ? fmt::format("{} {}", is_high_open ? "<" : "<=", high) : "";
  return from + (has_low && has_high ? ", " : "") + to;
}

std::string Option::help() const {
  const std::string& what = off_text.empty() ? text : off_text;
  const std::string limits = range();
  return (readers.empty() ? "" : readers + ": ") + what + (limits.empty() ? "" : "; " + limits);
}

std::string Option::value() const {
  return std::visit([](const auto* f) { return written(*f); }, field);
}

void Option::validate() const {
  const auto check = [this](double v) {
    const bool is_in = (is_low_open ? v > low : v >= low) && (is_high_open ? v < high : v <= high);
    const std::string expected = range();
    require_range(is_in, name.c_str(), v, expected.empty() ? "a finite number" : expected.c_str());
  };
  std::visit(
      [&](const auto* f) {
        using T = std::remove_cvref_t<decltype(*f)>;
        if constexpr (is_number<T>) {
          check(static_cast<double>(*f));
        } else if constexpr (std::is_same_v<T, std::optional<double>>) {
          if (*f) check(**f);
        } else if constexpr (std::is_same_v<T, std::vector<uint32_t>>) {
          for (const uint32_t v : *f) check(v);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          for (const double v : *f)
            if (std::isnan(v)) throw Error(fmt::format("{} has to be numbers", name));
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (!choices.empty()) require_one_of(name.c_str(), *f, choices);
        }
      },
      field);
}

Option& OptionTable::add(const std::string& name, OptionField field, const std::string& text) {
  rows_.push_back({.name = name, .field = field, .text = text});
  return rows_.back();
}

Option* OptionTable::find(const std::string& name) {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Option& o) { return o.name == name; });
  return row == rows_.end() ? nullptr : &*row;
}

void OptionTable::append(OptionTable other) {
  rows_.insert(rows_.end(), std::move_iterator(other.rows_.begin()), std::move_iterator(other.rows_.end()));
}

void OptionTable::validate() const {
  for (const Option& option : rows_) option.validate();
}

std::vector<const Option*> OptionTable::idle(const OptionTable& initial) const {
  SELFNORM_CHECK(initial.rows_.size() == rows_.size());
  std::vector<const Option*> out;
  for (size_t i = 0; i < rows_.size(); ++i)
    if (!rows_[i].owner.empty() && rows_[i].value() != initial.rows_[i].value()) out.push_back(&rows_[i]);
  return out;
}

void OptionTable::refuse_idle(const OptionTable& initial) const {
  for (const Option* option : idle(initial)) {
    const bool is_off = option->is_flag() && option->value() == "false";
    throw Error(fmt::format("{} belongs to {}, found {}; leave it out or change that",
                            option_name((is_off ? "no-" : "") + option->name), option->owner, option->found));
  }
}

std::string OptionTable::fingerprint() const {
  std::string out;
  for (const Option& option : rows_)
    if (option.is_recorded) out += fmt::format("{}={}\n", option.name, option.value());
  return out;
}

}  // namespace selfnorm
