// The NPY header: "\x93NUMPY", version 1.0 to 3.0, a Python dictionary {'descr': '<f4', 'fortran_order':
// False, 'shape': (n, d), } (numpy.lib.format).
#pragma once

#include <string>

#include "array.h"

namespace selfnorm {

Array open_npy(const std::string& name, ByteSource& source);

}  // namespace selfnorm
