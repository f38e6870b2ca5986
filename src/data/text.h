// The reader of label<TAB>text. It fits a TextEncoder unless the schema brings one.
#pragma once

#include "selfnorm/data/read.h"
#include "source.h"

namespace selfnorm {

ReadResult read_text(Input& input, const ReadOptions& options);

}  // namespace selfnorm
