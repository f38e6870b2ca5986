// The fields of one table record (RFC 4180).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace selfnorm {

class Fields {
 public:
  // Spaces around a field do not count. Returns what is wrong with the record, or nothing. The byte after
  // each field is readable and no part of a number; the views last until the next split. Between semicolons
  // a comma between digits is a decimal point.
  std::string split(std::string_view record, char separator);

  bool is_open() const { return is_open_; }  // the last record ends within quotes

  size_t size() const { return views_.size(); }
  std::string_view operator[](size_t i) const { return views_[i]; }
  std::vector<std::string> strings() const { return {views_.begin(), views_.end()}; }

 private:
  std::string_view unquote(std::string_view field);
  std::string_view with_point(std::string_view field);

  std::vector<std::string_view> views_;
  bool is_open_ = false;
  std::string unquoted_;  // fields that had "" or a decimal comma in them, each followed by a zero byte
};

}  // namespace selfnorm
