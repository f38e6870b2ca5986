// What the macros of feature_template.h make of one token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "selfnorm/data/sequence/feature_template.h"

namespace re2 {
class RE2;
}

namespace selfnorm {

// RE2's syntax on UTF-8 (leftmost-first, as Perl's): matched in time proportional to the size of the
// expression times characters, of which the first kPatternCharacters count. Throws Error that says what is
// wrong with the expression.
inline constexpr size_t kPatternCharacters = 256, kPatternBytes = 1000;
inline constexpr int64_t kPatternMemory = int64_t{1} << 20;
std::shared_ptr<const re2::RE2> token_pattern(const std::string& text);

// A macro with its expression compiled; the row and the column of the item do not matter here.
class TokenMacro {
 public:
  explicit TokenMacro(const TemplateItem& item);  // not a literal
  // Nothing when an affix is longer than the token, which is UTF-8.
  std::optional<std::string> operator()(std::string_view token) const;

 private:
  TemplateItem::Kind kind_;
  uint32_t count_;
  std::shared_ptr<const re2::RE2> pattern_;
};

}  // namespace selfnorm
