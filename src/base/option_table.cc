#include "base/option_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <set>
#include <type_traits>

#include "base/failure.h"

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

// 1e-7 for 1e-07.
std::string shortest(double value) {
  std::string out = fmt::format("{}", value);
  if (const size_t e = out.find("e-0"); e != std::string::npos) out.erase(e + 2, 1);
  return out;
}

template <class T>
T parsed(const Option& option, const std::string& text) {
  const auto refuse = [&](const char* expected) {
    throw_error("{} is '{}'; expected {}", option_name(option.name), text, expected);
  };
  if constexpr (std::is_same_v<T, std::string>) {
    return text;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text != "true" && text != "false") refuse("true or false");
    return text == "true";
  } else if constexpr (std::is_arithmetic_v<T>) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      refuse(std::is_integral_v<T> ? "a whole number" : "a number");
    return value;
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    return text == "auto" ? T() : T(parsed<double>(option, text));
  } else {
    T values;
    for (size_t begin = 0; !text.empty() && begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      values.push_back(parsed<typename T::value_type>(option, text.substr(begin, end - begin)));
      begin = end + 1;
    }
    return values;
  }
}

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

std::string with_options(std::string_view text) {
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t open = std::min(text.find('`', begin), text.size());
    out += text.substr(begin, open - begin);
    if (open == text.size()) break;
    const size_t close = text.find('`', open + 1);
    SELFNORM_CHECK(close != std::string_view::npos);
    const std::string_view option = text.substr(open + 1, close - open - 1);
    const size_t space = std::min(option.find(' '), option.size());
    out += option_text(option.substr(0, space), option.substr(std::min(space + 1, option.size())));
    begin = close + 1;
  }
  return out;
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

Option& Option::of(const std::string& owning_families) {
  families = owning_families;
  return *this;
}

Option& Option::off(const std::string& flag, const std::string& what) {
  off_name = flag;
  off_text = what;
  return *this;
}

Option& Option::short_form(const std::string& flag) {
  letter = flag;
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
  if (has_low && has_high && !is_low_open && !is_high_open) return shortest(low) + ".." + shortest(high);
  const std::string from = has_low ? (is_low_open ? "> " : ">= ") + shortest(low) : "";
  const std::string to = has_high ? (is_high_open ? "< " : "<= ") + shortest(high) : "";
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
    require_range(is_in, option_name(name).c_str(), v,
                  expected.empty() ? "a finite number" : expected.c_str());
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
          for (const double v : *f) {
            if (std::isnan(v)) throw_error("{} has to be numbers", option_name(name));
            if (std::isfinite(low) || std::isfinite(high)) check(v);
          }
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (!choices.empty()) require_one_of(option_name(name).c_str(), *f, choices);
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

OptionTable& OptionTable::of(const std::string& families) {
  for (Option& option : rows_) option.families = families;
  return *this;
}

void OptionTable::set(const Options& given) {
  std::set<std::string> seen;
  for (const auto& [name, value] : given) {
    std::string dashed = name;
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    if (!seen.insert(dashed).second) throw_error("found the option '{}' twice, written in two ways", name);
    const auto exists = [this](const std::string& n) { return find(n) != nullptr; };
    if (const std::string now = present_name(dashed, exists); !now.empty()) dashed = now;
    Option* option = find(dashed);
    if (option == nullptr) {
      std::vector<std::string> names;
      for (const Option& row : rows_) names.push_back(option_name(row.name));
      throw_error("found the option '{}'; expected one of {}", name, fmt::join(names, ", "));
    }
    const std::string now = present_value(dashed, value.text());
    const std::string& text = now.empty() ? value.text() : now;
    std::visit([&](auto* field) { *field = parsed<std::remove_cvref_t<decltype(*field)>>(*option, text); },
               option->field);
  }
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
    throw_error("{} belongs to {}, found {}; leave it out or change that",
                option_name(is_off ? option->off_flag() : option->name), option->owner, option->found);
  }
}

std::string OptionTable::fingerprint() const {
  std::string out;
  for (const Option& option : rows_) out += fmt::format("{}={}\n", option.name, option.value());
  return out;
}

}  // namespace selfnorm
