// Small tables for the commands of regressors, and a training command that takes a blink.
#pragma once

#include <algorithm>

#include "cli/density_data.h"

namespace selfnorm::cli {

// y = x + shift of the colour + 0.3 z with x ~ U(-2, 2); colour red (0), blue (2) or, in a tenth of the rows,
// missing (0). The header is x,colour,y, or x,colour,y,z with z = -y + 0.1 more.
inline void write_table(const Folder& folder, const std::string& name = "data.csv", int rows = 200,
                        unsigned seed = 1, bool has_second = false) {
  std::minstd_rand random(seed);
  std::string text = has_second ? "x,colour,y,z\n" : "x,colour,y\n";
  for (int i = 0; i < rows; ++i) {
    const double x = 4 * uniform(random) - 2;
    const bool is_blue = uniform(random) < 0.5, is_missing = uniform(random) < 0.1;
    const double y = x + (is_blue && !is_missing ? 2 : 0) + 0.3 * normal(random);
    text += fmt::format("{},{},{}", x, is_missing ? "" : is_blue ? "blue" : "red", y);
    text += has_second ? fmt::format(",{}\n", -y + 0.1 * normal(random)) : "\n";
  }
  folder.write(name, text);
}

inline std::vector<std::string> tiny_regressor(const std::string& data, const std::string& out,
                                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"train", "regressor",
                                 data,    "--out",
                                 out,     "--epochs",
                                 "8",     "--batch",
                                 "32",    "--features",
                                 "8",     "--joint",
                                 "8",     "--normalizer-hidden",
                                 "none",  "--components",
                                 "2",     "--samples",
                                 "8",     "--input-noise",
                                 "0.02"};
  if (std::find(more.begin(), more.end(), "--ensemble") == more.end())
    words.insert(words.end(), {"--ensemble", "1"});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A folder with data.csv and a model `run` trained on it.
inline void train_tiny(const Folder& folder, const std::vector<std::string>& more = {}) {
  if (!std::filesystem::exists(folder / "data.csv")) write_table(folder);
  std::vector<std::string> words = tiny_regressor("data.csv", "run", more);
  words.push_back("--quiet");
  const Outcome trained = folder.run(words);
  if (trained.code != 0) throw std::runtime_error(trained.err);
}

}  // namespace selfnorm::cli
