// How long a call takes, for `evaluate --timing`.
#pragma once

#include <chrono>
#include <cstdint>

namespace selfnorm::cli {

inline constexpr uint64_t kTimedRows = 1000;  // at most

// Nanoseconds per call of pass(row), over rounds of all rows for a fifth of a second, after one that warms.
template <typename Pass>
double nanoseconds(uint64_t rows, Pass pass) {
  using Clock = std::chrono::steady_clock;
  constexpr double kTimedSeconds = 0.2;
  for (uint64_t row = 0; row < rows; ++row) pass(row);
  uint64_t calls = 0;
  std::chrono::duration<double> spent{};
  for (const auto start = Clock::now(); spent.count() < kTimedSeconds; spent = Clock::now() - start) {
    for (uint64_t row = 0; row < rows; ++row) pass(row);
    calls += rows;
  }
  return spent.count() * 1e9 / static_cast<double>(calls);
}

}  // namespace selfnorm::cli
