#include "fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "quote.h"

namespace selfnorm {
namespace {

std::string_view trim(std::string_view field) {
  while (field.starts_with(' ')) field.remove_prefix(1);
  while (field.ends_with(' ')) field.remove_suffix(1);
  return field;
}

// "-1,25" and "1,5e-3", with the comma there.
bool is_decimal(std::string_view field, size_t comma) {
  const size_t sign = field.starts_with('-') || field.starts_with('+') ? 1 : 0;
  const size_t end = std::min(field.find_first_not_of("0123456789", comma + 1), field.size());
  return comma > sign && field.find_first_not_of("0123456789", sign) == comma && end > comma + 1 &&
         (end == field.size() || field[end] == 'e' || field[end] == 'E');
}

}  // namespace

std::string Fields::split(std::string_view record, char separator) {
  views_.clear();
  is_open_ = false;
  unquoted_.clear();
  unquoted_.reserve(2 * record.size() + 1);  // never moves while views point into it
  for (;;) {
    size_t end;
    if (record.starts_with('"')) {
      size_t close = record.find('"', 1);
      while (close != std::string_view::npos && close + 1 < record.size() && record[close + 1] == '"')
        close = record.find('"', close + 2);
      is_open_ = close == std::string_view::npos;
      if (is_open_) return fmt::format("found {}, a quoted field that is never closed", quoted_text(record));
      end = close + 1 == record.size() ? std::string_view::npos : close + 1;
      if (end != std::string_view::npos && record[end] != separator)
        return fmt::format("found {} after a closing quote, expected {}", quoted_text(record.substr(end, 1)),
                           quoted_text({&separator, 1}));
      views_.push_back(trim(unquote(record.substr(1, close - 1))));
    } else {
      end = record.find(separator);
      views_.push_back(trim(record.substr(0, end)));
    }
    if (separator == ';') views_.back() = with_point(views_.back());
    if (end == std::string_view::npos) return {};
    record.remove_prefix(end + 1);
  }
}

std::string_view Fields::unquote(std::string_view field) {
  if (field.find('"') == std::string_view::npos) return field;
  size_t begin = unquoted_.size();
  for (size_t i = 0; i < field.size(); ++i) {
    unquoted_ += field[i];
    if (field[i] == '"') ++i;
  }
  size_t size = unquoted_.size() - begin;
  unquoted_ += '\0';
  return std::string_view(unquoted_).substr(begin, size);
}

std::string_view Fields::with_point(std::string_view field) {
  const size_t comma = field.find(',');
  if (comma == std::string_view::npos || !is_decimal(field, comma)) return field;
  const size_t begin = unquoted_.size();
  unquoted_.append(field.substr(0, comma)).append(".").append(field.substr(comma + 1)).append(1, '\0');
  return std::string_view(unquoted_).substr(begin, field.size());
}

}  // namespace selfnorm
