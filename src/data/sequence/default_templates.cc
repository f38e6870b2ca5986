#include <fmt/format.h>

#include "selfnorm/data/sequence/feature_template.h"

namespace selfnorm {
namespace {

// Templates numbered in the order they are written.
class Writer {
 public:
  explicit Writer(std::string_view title) : text_(fmt::format("# {}\n", title)) {}

  void add(const std::string& macros) { text_ += fmt::format("U{:02}:{}\n", number_++, macros); }
  std::string with_transitions() const { return text_ + "B\n"; }

 private:
  std::string text_;
  int number_ = 0;
};

// The word at rows -2 .. 2 and pairs of neighbours.
void add_neighbours(Writer& out, uint32_t c) {
  for (int row = -2; row <= 2; ++row) out.add(fmt::format("%x[{},{}]", row, c));
  out.add(fmt::format("%x[-1,{}]/%x[0,{}]", c, c));
  out.add(fmt::format("%x[0,{}]/%x[1,{}]", c, c));
}

void add_spelling(Writer& out, uint32_t c) {
  out.add(fmt::format("%l[0,{}]", c));
  for (int n = 1; n <= 4; ++n) out.add(fmt::format("%p[0,{},{}]", c, n));
  for (int n = 1; n <= 4; ++n) out.add(fmt::format("%s[0,{},{}]", c, n));
  out.add(fmt::format("%h[0,{}]", c));
  out.add(fmt::format("%t[0,{},\"[0-9]\"]", c));
  out.add(fmt::format("%t[0,{},\"-\"]", c));
  out.add(fmt::format("%t[0,{},\"[A-Z]\"]", c));
}

}  // namespace

std::string tagging_templates(uint32_t column) {
  Writer out("tagging by the word: neighbours, lower case, affixes, shape, digits, hyphens, capitals");
  add_neighbours(out, column);
  add_spelling(out, column);
  return out.with_transitions();
}

std::string chunking_templates(std::span<const uint32_t> columns) {
  Writer out("chunks and entities: the word, its neighbours and spelling; the other columns around it");
  const uint32_t word = columns.front();
  add_neighbours(out, word);
  add_spelling(out, word);
  for (const int row : {-1, 1}) {
    out.add(fmt::format("%l[{},{}]", row, word));
    out.add(fmt::format("%h[{},{}]", row, word));
  }
  out.add(fmt::format("%h[-1,{}]/%h[0,{}]/%h[1,{}]", word, word, word));
  for (const uint32_t c : columns.subspan(1)) {
    for (int row = -2; row <= 2; ++row) out.add(fmt::format("%x[{},{}]", row, c));
    for (int row = -2; row <= 1; ++row) out.add(fmt::format("%x[{},{}]/%x[{},{}]", row, c, row + 1, c));
    for (int row = -2; row <= 0; ++row)
      out.add(fmt::format("%x[{},{}]/%x[{},{}]/%x[{},{}]", row, c, row + 1, c, row + 2, c));
    out.add(fmt::format("%x[0,{}]/%x[0,{}]", word, c));
  }
  return out.with_transitions();
}

}  // namespace selfnorm
