// read_dataset from an input that is open.
#pragma once

#include "data/input/source.h"
#include "data/read.h"

namespace selfnorm {

void skip_byte_order_mark(Input& input);
ReadResult read_input(Input& input, const ReadOptions& options);

// The svmlight/libsvm reader.

ReadResult read_svmlight(Input& input, const ReadOptions& options);

// The reader of label<TAB>text. It fits a TextEncoder unless the schema brings one.

ReadResult read_text(Input& input, const ReadOptions& options);

}  // namespace selfnorm
