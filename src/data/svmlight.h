// The svmlight/libsvm reader.
#pragma once

#include "selfnorm/data/read.h"
#include "source.h"

namespace selfnorm {

ReadResult read_svmlight(Input& input, const ReadOptions& options);

}  // namespace selfnorm
