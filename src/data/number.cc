#include "number.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <cmath>

#include "quote.h"

namespace selfnorm {
namespace {

std::string_view without_plus(std::string_view token) {
  bool plus = token.size() > 1 && token[0] == '+' && token[1] != '-';
  return plus ? token.substr(1) : token;
}

}  // namespace

const char* parse_float_slowly(const char* begin, const char* end, float& value) {
  std::string_view token = without_plus({begin, static_cast<size_t>(end - begin)});
  auto [stop, code] = fast_float::from_chars(token.data(), token.data() + token.size(), value);
  return code == std::errc() && std::isfinite(value) ? stop : nullptr;
}

bool parse_double(std::string_view token, double& value) {
  token = without_plus(token);
  auto [stop, code] = fast_float::from_chars(token.data(), token.data() + token.size(), value);
  return code != std::errc::invalid_argument && stop == token.data() + token.size();
}

bool is_number(std::string_view token) {
  double value = 0;
  return parse_double(token, value);
}

std::string number_error(std::string_view token) {
  if (token.empty()) return "found an empty value, expected a number";
  if (is_number(token) && token.find_first_of("0123456789") != std::string_view::npos)
    return fmt::format("found {}, too large for a 32-bit float (at most 3.4e38)", quoted_text(token));
  return fmt::format("found {}, expected a finite number", quoted_text(token));
}

}  // namespace selfnorm
