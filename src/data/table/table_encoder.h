// Tables whose columns are of several kinds, for classifiers: numbers and categories as regressors have them
// (frame_encoder.h), and columns of text, which are read together as one text (text/text_encoder.h).
//   numeric       its input, and another that says whether it is missing, where the training rows have that
//   categorical   an input of its own for every level, 1 or 0; a level that training did not have has none
//   text          an input for every word and n-gram
// Where every column but the label is text, the rows are those of the text format, and models take lines of
// text as well as tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/table/frame_encoder.h"
#include "data/text/text_encoder.h"

namespace selfnorm {

struct TableEncoder {
  std::vector<std::string> text_columns{};
  FrameEncoder frame{};               // the other columns; none: there are no others
  std::optional<TextEncoder> text{};  // of text columns beside others

  bool is_text_alone() const { return frame.columns().empty(); }
  std::string json() const;
  static TableEncoder from_json(const std::string& text);  // throws Error
  // "age", "age missing", "city=Rome", then the n-grams.
  std::vector<std::string> feature_names() const;
};

}  // namespace selfnorm
