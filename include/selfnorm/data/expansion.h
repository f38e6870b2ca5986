// How far compressed data (gzip, members of zip archives) may expand: text that people have shrinks to a
// 50th at most, deflate reaches a 1032nd.
#pragma once

#include <cstdint>
#include <string>

namespace selfnorm {

inline constexpr double kLargestExpansion = 200;

// Of the whole process, from now on: more than 100 MB from a file are at most `ratio` times its size.
void limit_expansion(double ratio);

// Throws DataError when `compressed` bytes of `name` that became `size` exceed the limit.
void check_expansion(const std::string& name, uint64_t compressed, uint64_t size);

}  // namespace selfnorm
