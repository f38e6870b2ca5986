// Many trainings with progress, and their means over seeds.
#pragma once

#include "experiments/cells.h"
#include "experiments/experiment.h"
#include "experiments/record.h"

namespace selfnorm {

struct MeanError {
  double mean = 0, error = 0;     // error: standard error of the mean; 0 of one value
  size_t count = 0, missing = 0;  // finite values, others
};
MeanError mean_error(const std::vector<double>& values);
// "0.0531 +- 0.0012", with "(1 of 4 failed)" where values are missing.
std::string written(const MeanError& value);
// "12%", of a share; "-" without values.
std::string percent(const MeanError& share);

// Values of a number over seeds: those of each, in their order.
std::vector<double> numbers_of(const std::vector<CellValues>& cells, const std::string& name);
MeanError mean_of(const std::vector<CellValues>& cells, const std::string& name);
// Of first - second, seed by seed.
MeanError mean_difference(const std::vector<CellValues>& first, const std::vector<CellValues>& second,
                          const std::string& name);
// first is not above second by more than two standard errors of their paired difference, or one of its own
// mean.
bool is_no_worse(const std::vector<CellValues>& first, const std::vector<CellValues>& second,
                 const std::string& name);

// Finished cells, and the share of the work that is done.
class Trials {
 public:
  Trials(const ExperimentOptions& options, double work);

  bool has(const std::string& key) const { return cells_.has(key); }  // finished
  // `work`: about the seconds it takes, in the unit of the constructor.
  CellValues get(const std::string& key, double work, const std::function<CellValues()>& compute);

  uint64_t seed(size_t i) const;  // 4 (options.seed - 1) + i
  int threads() const { return options_.threads; }

 private:
  const ExperimentOptions& options_;
  Cells cells_;
  double work_, done_ = 0;
};

}  // namespace selfnorm
