// Rows of numbers as densities see them, and where they live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

// A view of n x d float32, row-major.
struct Points {
  const float* data = nullptr;
  uint64_t rows = 0;
  uint32_t columns = 0;

  std::span<const float> row(uint64_t i) const { return {data + i * columns, columns}; }
  Points slice(uint64_t begin, uint64_t end) const { return {data + begin * columns, end - begin, columns}; }
  size_t size() const { return size_t{rows} * columns; }
  std::vector<float> take(std::span<const uint64_t> chosen) const;  // these rows, in this order
};

// What is known of a coordinate of a row, where that is no number: low <= x <= high. Not both are infinite.
struct IntervalCell {
  uint32_t column;
  float low, high;
};

// Of every column the words that its levels 0, 1, ... stand for; none: it has numbers. Empty: no column has
// words.
using Categories = std::vector<std::vector<std::string>>;

// Where x may be: a box of R^d; levels (x_j = 0 .. levels_j - 1; binary: 2); counts 0, 1, 2, ...; or mixed:
// some coordinates real, some of them angles perhaps, and the others levels.
struct Support {
  enum class Space { real, levels, counts, mixed };

  Space space = Space::real;
  std::vector<double> lower = {},
                      upper = {};     // real, mixed: of every coordinate, may be infinite; empty: all of R^d
  std::vector<bool> wraps = {};       // real, mixed: coordinates whose two ends are one point; empty: none
  std::vector<uint32_t> levels = {};  // levels, mixed: of every coordinate, 0: it is real

  static Support reals() { return {}; }
  static Support binary(uint32_t dimension) {
    return {.space = Space::levels, .levels = std::vector<uint32_t>(dimension, 2)};
  }
  static Support box(std::vector<double> lower, std::vector<double> upper) {
    return {.lower = std::move(lower), .upper = std::move(upper)};
  }
  // Angles in radians, -pi to pi as float32, where `is_angle`; the others without ends.
  static Support angles(std::vector<bool> is_angle);
  static Support counts() { return {.space = Space::counts}; }
  // 0 levels: real. All of one kind: that space.
  static Support mixed(std::vector<uint32_t> levels, std::vector<bool> is_angle);
  bool is_real() const { return space == Space::real; }
  bool is_mixed() const { return space == Space::mixed; }
  // Whether Markov chains move there: leapfrogs, or Gibbs sweeps of levels.
  bool has_chains() const { return space == Space::real || space == Space::levels; }
  // Whether coordinate j takes whole numbers alone.
  bool is_whole(size_t j) const { return space == Space::mixed ? levels[j] > 0 : space != Space::real; }
};

// Whether x is in it.
bool contains(const Support& support, std::span<const float> x);

}  // namespace selfnorm
