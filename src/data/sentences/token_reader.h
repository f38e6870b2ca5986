// Sentences of a file as fields of tokens, one sentence at a time; formats as in read_sequences.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/input/source.h"
#include "data/sentences/read_sequences.h"

namespace selfnorm {

inline constexpr uint32_t kConlluColumns = 10, kConlluForm = 1, kConlluUpos = 3;
// UPOS, XPOS, HEAD, DEPREL: one value, which _ leaves open. In lists (FEATS, DEPS, MISC) _ is the empty one.
constexpr bool is_conllu_category(uint32_t column) {
  return column == kConlluUpos || column == 4 || column == 6 || column == 7;
}
inline constexpr size_t kLongestLine = size_t{64} << 20;

// Between the fields of a line: tabs (blanks around fields do not count), or without tabs any white space.
enum class Separator { tabs, tabs_or_blanks };

class TokenLines {
 public:
  using Other = SentenceText::OtherLine;

  size_t size() const { return line_.size(); }
  size_t fields(size_t token) const { return begin_[token + 1] - begin_[token]; }
  // Bytes that are not UTF-8 have become U+FFFD.
  std::string_view field(size_t token, size_t column) const {
    const Field& f = field_[begin_[token] + column];
    return std::string_view(bytes_).substr(f.begin, f.size);
  }
  std::string_view field_as_read(size_t token, size_t column) const;
  uint64_t line(size_t token) const { return line_[token]; }  // from 1
  const std::vector<Other>& others() const { return other_; }
  const std::optional<LabellingMark>& mark() const { return mark_; }

  void clear();
  void add(std::string_view text, uint64_t line, Separator separator);
  void add_other(std::string_view text);
  void set_mark(const LabellingMark& mark) { mark_ = mark; }
  void remove_last();

 private:
  struct Field {
    size_t begin, size;
  };
  // The fields of a token that are not all UTF-8.
  struct IllFormed {
    size_t token;
    std::vector<std::string> fields;
  };
  std::string bytes_;
  std::vector<Field> field_;
  std::vector<size_t> begin_{0};
  std::vector<uint64_t> line_;
  std::vector<Other> other_;
  std::vector<IllFormed> ill_formed_;  // in the order of the tokens
  std::optional<LabellingMark> mark_;
};

// What to do about a line with too few columns: make tabs of the commas or semicolons that stand between its
// parts (but those of numbers); `otherwise` where there are none.
std::string joint_advice(std::string_view line, const std::string& otherwise);

std::vector<std::string_view> line_fields(std::string_view line, Separator separator);
// Begins with '#' and has not the ten tab-separated columns of a token.
bool is_conllu_comment(std::string_view line);

class TokenReader {
 public:
  // `format` is resolved. With columns every token has `columns` fields, or as many as the first one has
  // when it is 0, or one less where `may_lack_one`, the first one decides. `keeps_others`: the lines of
  // CoNLL-U that are no tokens are given too.
  struct Shape {
    SequenceFormat format;
    uint32_t columns;
    bool may_lack_one = false;
    bool keeps_others = false;
  };
  TokenReader(std::unique_ptr<Input> input, const Shape& shape);

  const std::string& name() const { return input_->name(); }
  uint32_t columns() const { return shape_.columns; }  // of the tokens read; 0 with attributes or before any
  // Never without a token; false at the end, with the comments after the last token. Throws DataError: ragged
  // columns, NUL bytes, no CoNLL-U, a sentence without tokens, attributes without tabs.
  bool next(TokenLines& sentence);

 private:
  bool next_line(std::string_view& line);
  bool is_token(std::string_view id) const;  // what CoNLL-U leaves out is none
  void add_token(std::string_view line, TokenLines& sentence);
  [[noreturn]] void fail_without_token(uint64_t first_line) const;
  void check_columns(size_t found, std::string_view line);
  std::string advice_on(std::string_view line, size_t found, const std::string& otherwise) const;

  std::unique_ptr<Input> input_;
  Shape shape_;
  uint64_t first_line_ = 0, line_ = 0;
  bool is_first_marked_ = false;
  std::string buffer_;
  size_t at_ = 0, end_ = 0;
  std::string parts_;  // a line that the end of the buffer cut
};

inline constexpr size_t kFormatSample = size_t{1} << 16;

// The format of a file by its first lines.
// CoNLL-U: the first line that is no comment, and half of them at least, have ten tab-separated columns, of
// which the first begins with a digit; so that one bad line is an error of CoNLL-U. Attributes: every line
// has tabs; not always as many, and at least half of the fields after the first hold ':' or '='; or as many
// everywhere, and all of them do. Where there is one such field it may be a label after all: not when there
// are as many of them as of first fields or more, which then do not all hold ':' or '='. Columns otherwise.
// `sample` is the first kFormatSample bytes; a last line without its end counts only when it is all there is.
SequenceFormat sequence_format(std::string_view sample);

}  // namespace selfnorm
