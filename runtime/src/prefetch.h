// Asks for the lines of an array before they are read.
#pragma once

#include <cstddef>

namespace selfnorm::runtime {

template <class T>
void prefetch_row(const T* row, size_t n) {
  const auto* bytes = reinterpret_cast<const char*>(row);
  for (size_t i = 0; i < n * sizeof(T); i += 64) __builtin_prefetch(bytes + i);
}

}  // namespace selfnorm::runtime
