// The attributes that templates give the positions of a sentence. A macro of a token is computed once while
// the token is remembered, and so is the number of an attribute of one macro.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/sentences/feature_template.h"
#include "data/sentences/token_reader.h"
#include "data/string_index.h"

namespace re2 {
class RE2;
}

namespace selfnorm {

// RE2's syntax on UTF-8 (leftmost-first, as Perl's): matched in time proportional to the size of the
// expression times characters, of which the first kPatternCharacters count. Throws Error.
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

// Numbers of attributes: new ones while they are learned, those that are there afterwards.
class AttributeNumbers {
 public:
  static constexpr uint32_t kNone = StringIndex::kAbsent;
  AttributeNumbers() = default;  // learns
  explicit AttributeNumbers(const std::vector<std::string>& known) : index_(known), is_learning_(false) {}

  uint32_t operator()(std::string_view attribute) {
    return is_learning_ ? index_.add(attribute) : index_.find(attribute).value_or(kNone);
  }
  void all(std::span<const std::string_view> attributes, std::vector<uint32_t>& numbers) {
    if (!is_learning_) return index_.find_all(attributes, numbers);
    numbers.clear();
    for (const std::string_view attribute : attributes) numbers.push_back(index_.add(attribute));
  }
  const StringIndex& index() const { return index_; }

 private:
  StringIndex index_;
  bool is_learning_ = true;
};

class TemplateExpansion {
 public:
  // The templates of one kind, unigram or bigram, without the plain pair of labels. `missing` is a column
  // that the tokens lack, those after it moved up; kNoColumn: none.
  static constexpr uint32_t kNoColumn = UINT32_MAX;
  TemplateExpansion(const FeatureTemplates& templates, bool is_bigram, uint32_t missing);

  bool empty() const { return template_.empty(); }
  void begin(const TokenLines& sentence);
  // Appends the numbers of the attributes at a position of the sentence begun, in the order of the templates.
  void expand(size_t position, AttributeNumbers& numbers, std::vector<uint32_t>& out);

 private:
  struct Value {  // a macro somewhere
    uint32_t macro, column;
    int row;
    std::string literal;  // after it
  };
  struct Template {
    std::string name;
    std::vector<Value> values;
    std::vector<uint32_t> attribute;  // of one value: value -> number
  };
  struct Macro {
    TokenMacro of;
    TemplateItem item;
    std::vector<uint32_t> value;  // token -> value
  };
  uint32_t macro_number(const TemplateItem& item);
  uint32_t column_number(uint32_t column);
  uint32_t value(const Value& place, size_t position);
  uint32_t boundary(int64_t beyond);
  void forget();

  std::vector<Macro> macro_;
  std::vector<Template> template_;
  std::vector<uint32_t> column_;             // of the file, that macros read
  StringIndex strings_;                      // tokens and values
  std::vector<std::vector<uint32_t>> cell_;  // columns read x positions
  std::string text_;
};

}  // namespace selfnorm
