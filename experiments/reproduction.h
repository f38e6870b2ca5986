// What `selfnorm reproduce` does: runs an experiment or a group of them, and writes data, figures and
// document.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/experiment.h"

namespace selfnorm {

struct ReproductionOptions {
  std::string experiment;  // one of reproduction_names()
  std::string out;         // folder of data and figures
  std::string document;    // Markdown file; empty: none, or of a group DIR/NAME.md
  std::string text;        // as in ExperimentOptions
  std::string data;        // the same; empty: SELFNORM_DATA, else ../shared/data
  bool fresh = false;      // without trainings that are finished already
  uint64_t seed = 1;
  int threads = 0;

  // Where the document goes; empty: nowhere.
  std::string document_path() const;
};

struct Reproduced {
  const Experiment* experiment = nullptr;
  Record record;
  double seconds = 0;
  std::string base = {};     // of its files: base + ".csv", ".svg"
  std::string problem = {};  // why there is no figure; empty: there is

  nlohmann::ordered_json json() const;  // what it found, and where its files are
};

// Every experiment, then the groups: all, density, regression, sequences.
std::vector<std::string> reproduction_names();

// Throws Error for what cannot be written or read before any work is done. progress(percent of all, what is
// run now).
std::vector<Reproduced> reproduce(const ReproductionOptions& options,
                                  const std::function<void(double, const std::string&)>& progress);

}  // namespace selfnorm
