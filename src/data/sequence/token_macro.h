// What the macros of feature_template.h make of one token.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "selfnorm/data/sequence/feature_template.h"

namespace selfnorm {

// ECMAScript without back-references, matched in time proportional to states times characters, of which the
// first kPatternCharacters count. Bounds keep the matcher's recursion small: kPatternBytes of text, and
// counts {n} whose product is at most kPatternCopies. Throws Error that says what is wrong with the
// expression.
inline constexpr size_t kPatternCharacters = 256, kPatternBytes = 1000, kPatternCopies = 1000;
std::wregex token_pattern(const std::string& text);

// A macro with its expression compiled; the row and the column of the item do not matter here.
class TokenMacro {
 public:
  explicit TokenMacro(const TemplateItem& item);  // not a literal
  // Nothing when an affix is longer than the token, which is UTF-8.
  std::optional<std::string> operator()(std::string_view token) const;

 private:
  TemplateItem::Kind kind_;
  uint32_t count_;
  std::wregex pattern_;
};

}  // namespace selfnorm
