// Feature templates in the language of CRF++ and wapiti, with macros:
//   # comment
//   U00:%x[-2,0]             unigram: column 0 of the token two before; %x[row,column]
//   U01:%x[-1,0]/%x[0,0]     several in one attribute
//   U02                      no macro: the same attribute at every position, a bias
//   B                        bigram: the pair of labels;   B01:%x[0,0]   the pair and the word
//   *03:%x[0,0]              both; u and b are U and B, as in wapiti
//   %p[r,c,n] first n characters, %s[r,c,n] last n, %l[r,c] lower case (in wapiti %X), %h[r,c] shape (upper
//   case A, lower case a, digits 0, other characters beyond ASCII *, others themselves; runs of one become
//   one: Mid-1990s is Aa-0a), %m[r,c,"regex"] what a regular expression finds first (empty: nothing),
//   %t[r,c,"regex"] 1 or 0. Expressions are RE2's, which take linear time: Perl's without look-ahead,
//   look-behind and back-references. A quote in one is \".
// Columns count from 0, the target included, which templates may not name. Characters are those of UTF-8.
// Tokens beyond the sentence are _B-1, _B-2, ... and _B+1, _B+2, ..., and so is every macro of them. An
// attribute whose %p or %s asks for more characters than there are does not exist at that position.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

struct TemplateItem {
  enum class Kind { literal, cell, prefix, suffix, shape, lower, match, test };
  Kind kind = Kind::literal;
  std::string text = {};  // literal, or the regular expression
  int row = 0;
  uint32_t column = 0, count = 0;
};

struct FeatureTemplate {
  bool is_bigram = false;
  std::vector<TemplateItem> items;  // a literal first: the template's own name
  uint64_t line = 0;                // in its file
};

struct FeatureTemplates {
  std::vector<FeatureTemplate> list;
  std::string text;  // as written: models store it

  uint32_t columns() const;      // that the templates name, at least: largest column + 1
  bool has_transitions() const;  // a bigram template without items but its name
};

// Throws DataError with `name`:line, what was found and what was expected.
FeatureTemplates parse_templates(const std::string& text, const std::string& name);
// Good ones for tagging by the word form in `column` (words, affixes, shape, neighbours), and for chunking or
// entities by input columns, one or more, of which the first is the word. Biases are the model's own.
std::string tagging_templates(uint32_t column);
std::string chunking_templates(std::span<const uint32_t> columns);

}  // namespace selfnorm
