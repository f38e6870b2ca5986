// Decompression (RFC 1950-1952) as a byte source. Damaged or truncated data throw DataError.
#pragma once

#include <memory>
#include <string>

#include "source.h"

namespace selfnorm {

// One or more gzip members, then nothing but zero padding; `head` precedes the bytes of `compressed`.
std::unique_ptr<ByteSource> gzip_source(std::string name, std::string head,
                                        std::unique_ptr<ByteSource> compressed);

// One raw deflate stream (a member of a zip archive).
std::unique_ptr<ByteSource> deflate_source(std::string name, std::unique_ptr<ByteSource> compressed);

}  // namespace selfnorm
