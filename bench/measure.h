// What the benchmarks share: a clock, the memory of the process, random numbers.
#pragma once

#include <chrono>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "selfnorm/math/random.h"

namespace bench {

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A line of /proc/self/status, in MB.
inline double memory_mb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == name + ":" && status >> kilobytes) return kilobytes / 1024;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// Uniform on (-size, size).
inline std::vector<float> random_values(size_t n, float size, uint64_t stream) {
  selfnorm::RandomStream random(1, stream);
  std::vector<float> out(n);
  for (float& v : out) v = size * static_cast<float>(2 * random.uniform() - 1);
  return out;
}

}  // namespace bench
