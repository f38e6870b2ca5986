// Arrays x and y as frames.
#pragma once

#include "selfnorm/data/array_file.h"
#include "selfnorm/data/frame.h"

namespace selfnorm {

Frame read_array_frame(const ArrayFile& file, const FrameOptions& options);

}  // namespace selfnorm
