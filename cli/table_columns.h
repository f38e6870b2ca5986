// Columns of a table that go along with the answers (--keep).
#pragma once

#include <string>
#include <vector>

#include "answer_sheet.h"
#include "data/read.h"
#include "data/table/frame.h"

namespace selfnorm::cli {

class KeptColumns {
 public:
  // Reads the table again, these columns as they are written. Throws Error for a column that is not there,
  // and for standard input, which is read only once.
  KeptColumns(const std::vector<std::string>& names, const std::string& path, Header header);
  // Of a frame that was read.
  KeptColumns(const std::vector<std::string>& names, const Frame& frame);

  const std::vector<std::string>& names() const { return names_; }
  void add(uint64_t row, std::vector<AnswerSheet::Cell>& cells) const;
  void add(uint64_t row, Json& object) const;

 private:
  std::vector<std::string> names_;
  std::vector<FrameColumn> columns_;
};

}  // namespace selfnorm::cli
