// What the benchmarks share: clocks, the memory of the process, random numbers.
#pragma once

#include <time.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "math/random.h"

namespace bench {

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Of the processor, all threads together: with one thread what the wall clock shows on an idle machine.
inline double processor_now() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
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
