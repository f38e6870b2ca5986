// Rows as they come: whole records of a file, a pipe or a terminal, a block at a time, each with what is
// there, so that who types a line is answered at once and a file is read in large pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/read.h"

namespace selfnorm::cli {

struct RowBlock {
  ReadResult read;
  std::string_view text;  // its records, without the header
  uint64_t first = 0;     // the number of its first record in the file, from 0
};

// visit(block) for all rows of a line format (svmlight, csv, tsv, text); anything else (arrays, groups of
// alternatives) is one block without text. Errors name the line of the file.
void for_each_block(const std::string& path, const ReadOptions& options,
                    const std::function<void(const RowBlock&)>& visit);

}  // namespace selfnorm::cli
