// Why a file could not be opened; the message starts with the file's name. The C interface turns these into
// codes, the library into selfnorm::Error.
#pragma once

#include <stdexcept>

namespace selfnorm::runtime {

// The operating system refused: missing, unreadable, a directory.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The bytes are not what the format promises.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace selfnorm::runtime
