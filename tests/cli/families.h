// A short training of every family, for what the commands have in common.
#pragma once

#include <ostream>

#include "cli/density_data.h"
#include "cli/regressor_data.h"
#include "cli/sentence_data.h"

namespace selfnorm::cli {

struct TrainedFamily {
  std::string name;
  std::vector<std::string> train;  // words of a short training on "data" without --out

  void write_data(const Folder& folder) const {
    if (name == "lm") folder.generate_text("data", 60);
    if (name == "density") write_lumps(folder, "data", 80);
    if (name == "regressor") write_table(folder, "data", 80);
    if (name == "crf") folder.write("data", sentences_text(40));
    if (name == "classifier" || name == "bag") folder.generate("data", 120, 4);
  }
  std::vector<std::string> words(const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = train;
    all.insert(all.end(), {"--out", out, "--no-report"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  friend void PrintTo(const TrainedFamily& family, std::ostream* out) { *out << family.name; }
};

inline std::vector<TrainedFamily> every_family() {
  return {
      {"classifier", {"train", "classifier", "data", "--optimiser", "adam", "--epochs", "3"}},
      {"bag", {"train", "classifier", "data", "--encoder", "bag", "--dimension", "4"}},
      {"lm", {"train", "lm", "data", "--dimension", "4", "--hidden", "4", "--epochs", "2"}},
      {"density",
       {"train", "density", "data", "--format", "csv", "--energy", "mlp:4", "--steps", "40", "--samples",
        "8"}},
      {"regressor",
       {"train", "regressor", "data", "--epochs", "4", "--features", "4", "--joint", "4", "--components", "2",
        "--samples", "4", "--normalizer-hidden", "none", "--ensemble", "1", "--input-noise", "0.02"}},
      {"crf", {"train", "crf", "data", "--optimiser", "adagrad", "--epochs", "3"}}};
}

}  // namespace selfnorm::cli
