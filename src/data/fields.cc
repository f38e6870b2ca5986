#include "fields.h"

#include <fmt/format.h>

#include "quote.h"

namespace selfnorm {
namespace {

std::string_view trim(std::string_view field) {
  while (field.starts_with(' ')) field.remove_prefix(1);
  while (field.ends_with(' ')) field.remove_suffix(1);
  return field;
}

}  // namespace

std::string Fields::split(std::string_view record, char separator) {
  views_.clear();
  is_open_ = false;
  unquoted_.clear();
  unquoted_.reserve(2 * record.size());  // never moves while views point into it
  for (;;) {
    size_t end;
    if (record.starts_with('"')) {
      size_t close = record.find('"', 1);
      while (close != std::string_view::npos && close + 1 < record.size() && record[close + 1] == '"')
        close = record.find('"', close + 2);
      is_open_ = close == std::string_view::npos;
      if (is_open_) return fmt::format("found {}, a quoted field that is never closed", quoted(record));
      end = close + 1 == record.size() ? std::string_view::npos : close + 1;
      if (end != std::string_view::npos && record[end] != separator)
        return fmt::format("found {} after a closing quote, expected {}", quoted(record.substr(end, 1)),
                           quoted({&separator, 1}));
      views_.push_back(trim(unquote(record.substr(1, close - 1))));
    } else {
      end = record.find(separator);
      views_.push_back(trim(record.substr(0, end)));
    }
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

}  // namespace selfnorm
