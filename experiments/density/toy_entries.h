// What density-toys trains: the settings all share, and the rows of its tables.
#pragma once

#include "experiments/experiment.h"
#include "family/density/train/density_options.h"

namespace selfnorm {

struct ToySettings {
  DensityOptions common;
  uint64_t rows = 10'000, test_rows = 20'000;
  size_t seeds = 4;        // of what is judged: the fitted mixture
  size_t other_seeds = 2;  // of the rest; cells are by seed, so more can be added later
};
ToySettings toy_settings(Extent extent);

constexpr const char* kToyMixture = "mixture:32";
constexpr const char* kToyBase = "mixture:32 as base";
constexpr const char* kToyWide = "gaussian, twice as wide";

// A row of the table.
struct ToyEntry {
  std::string objective, proposal;  // in words
  DensityOptions options;
  size_t seeds;
  double work;  // about its time, in that of a training of snl
};
std::vector<ToyEntry> toy_entries(const ToySettings& settings);

// Whether it is snl with something in the place of the single wide Gaussian, or added to it.
bool is_repair(const ToyEntry& entry);

}  // namespace selfnorm
