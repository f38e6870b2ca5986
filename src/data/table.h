// The CSV and TSV reader.
#pragma once

#include "selfnorm/data/read.h"
#include "source.h"
#include "table_layout.h"

namespace selfnorm {

ReadResult read_table(Input& input, Format format, const ReadOptions& options);
// With the columns as `layout` says.
ReadResult read_table(Input& input, const TableLayout& layout, const ReadOptions& options);

}  // namespace selfnorm
