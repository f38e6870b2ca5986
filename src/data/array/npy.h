// The NPY header: "\x93NUMPY", version 1.0 to 3.0, a Python dictionary {'descr': '<f4', 'fortran_order':
// False, 'shape': (n, d), } (numpy.lib.format).
#pragma once

#include <span>
#include <string>

#include "data/array/array.h"

namespace selfnorm {

Array open_npy(const std::string& name, ByteSource& source);

// Of version 1.0 and C order, padded so that the elements begin at a multiple of 64 bytes.
std::string npy_header(const std::string& descr, std::span<const uint64_t> shape);

}  // namespace selfnorm
