// The CSV and TSV reader.
#pragma once

#include "selfnorm/data/read.h"
#include "source.h"

namespace selfnorm {

ReadResult read_table(Input& input, Format format, const ReadOptions& options);

}  // namespace selfnorm
