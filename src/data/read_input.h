// read_dataset from an input that is open.
#pragma once

#include "selfnorm/data/read.h"
#include "source.h"

namespace selfnorm {

void skip_byte_order_mark(Input& input);
ReadResult read_input(Input& input, const ReadOptions& options);

}  // namespace selfnorm
