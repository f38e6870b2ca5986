// Predictions as lines of text: CSV under a header, or a JSON object a row. A row is appended to a buffer, so
// that writing costs little beside computing.
#pragma once

#include <string>
#include <vector>

#include "family/regressor/predictive.h"

namespace selfnorm::cli {

struct SheetOptions {
  std::vector<std::string> targets;
  std::vector<double> quantiles, intervals;
  bool has_exact = false, has_raw = false;  // log-densities of the target
  bool has_normalizer = false;              // a, b: not of ensembles
  bool has_samples = false, has_grid = false;
};

// CSV: several values of a field are separated by ';', an interval is FROM:TO, the coordinates of a sample
// are separated by ' '. With several targets the names of columns start with that of the target and a dot.
// Numbers have the digits that tell them from all others. A log-density of a target that is missing is an
// empty field, or null; of one whose density is 0 it is -inf, or null. JSON has A and b of a model of one
// member; an ensemble has none of its own.
class PredictionSheet {
 public:
  explicit PredictionSheet(SheetOptions options) : options_(std::move(options)) {}

  std::string csv_header() const;  // with the end of its line
  void append_csv(uint64_t row, const Prediction& prediction, std::string& out) const;
  // Without the end of a line.
  void append_json(uint64_t row, const Prediction& prediction, std::string& out) const;

 private:
  SheetOptions options_;
};

}  // namespace selfnorm::cli
