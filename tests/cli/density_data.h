// Small points for the commands of densities, and a training command that takes a blink.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "cli/program.h"

namespace selfnorm::cli {

// Uniform in (0, 1) and the same everywhere, as std::normal_distribution is not.
inline double uniform(std::minstd_rand& random) {
  return (static_cast<double>(random()) - 0.5) / 2147483646.0;
}

inline double normal(std::minstd_rand& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(2 * M_PI * uniform(random));
}

// Two lumps at (-3, 10) and (3, 10), standard deviations 1 and 2; a header x,y.
inline void write_lumps(const Folder& folder, const std::string& name = "data.csv", int rows = 300,
                        unsigned seed = 1) {
  std::minstd_rand random(seed);
  std::string text = "x,y\n";
  for (int i = 0; i < rows; ++i) {
    const auto x = static_cast<float>(normal(random) + (i % 2 == 0 ? 3 : -3));
    const auto y = static_cast<float>(10 + 2 * normal(random));
    text += fmt::format("{},{}\n", x, y);
  }
  folder.write(name, text);
}

// Chains of bits, each mostly like the one before; no header.
inline void write_bits(const Folder& folder, const std::string& name = "bits.csv", int rows = 300,
                       int columns = 4) {
  std::minstd_rand random(5);
  std::string text;
  for (int i = 0; i < rows; ++i) {
    bool bit = uniform(random) < 0.5;
    for (int j = 0; j < columns; ++j) {
      bit = uniform(random) < 0.8 ? bit : !bit;
      text += fmt::format("{}{}", j > 0 ? "," : "", bit ? 1 : 0);
    }
    text += "\n";
  }
  folder.write(name, text);
}

// Two columns of counts of means near 2 and 8; a header a,b.
inline void write_counts(const Folder& folder, const std::string& name = "counts.csv", int rows = 300) {
  std::minstd_rand random(3);
  const auto count = [&](double rate) {
    int k = 0;
    for (double p = uniform(random); p > std::exp(-rate); p *= uniform(random)) ++k;
    return k;
  };
  std::string text = "a,b\n";
  for (int i = 0; i < rows; ++i) text += fmt::format("{},{}\n", count(2), count(8));
  folder.write(name, text);
}

// Tiny and short.
inline std::vector<std::string> small_density(const std::string& data, const std::string& out,
                                              const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"train", "density", data, "--steps", "30", "--batch", "32", "--out", out};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline const std::vector<std::string> kTiny{"--energy",           "mlp:8", "--fourier",  "0",
                                            "--samples",          "64",    "--proposal", "gaussian",
                                            "--normalizer-steps", "5"};

inline std::vector<std::string> tiny_density(const std::string& data, const std::string& out,
                                             const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = small_density(data, out, kTiny);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace selfnorm::cli
