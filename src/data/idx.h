// The idx header: 0, 0, element type, number of dimensions, then each dimension as a big-endian uint32
// (LeCun, MNIST).
#pragma once

#include <string>

#include "array.h"

namespace selfnorm {

Array open_idx(const std::string& name, ByteSource& source);

// ".../train-images-idx3-ubyte.gz" -> ".../train-labels-idx1-ubyte.gz", with or without .gz, whichever
// exists; else empty.
std::string idx_labels_path(const std::string& images_path);

}  // namespace selfnorm
