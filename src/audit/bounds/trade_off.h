// What normalisation costs a trained log-linear model, and what it can cost at most (theory.md 2): for every
// delta, a bound of the likelihood lost by the best model with rms(A - m) <= delta, from this model and these
// data. All bounds shown hold for any parameters and any data, those held out and models that are no maximum
// included (audit/bounds/gap_bounds.h): the path, whose points are attained by the model with its scores
// scaled down; Theorem 2 in its concavity form; Proposition 3 with (1-alpha) slope added.
//
// Of all equivalent parameters (theory.md 1.5) those of smallest norm are taken, where alpha is largest; the
// model as it is has another rms, of A - c, which may be smaller than any that scaling finds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "model/model_file.h"

namespace selfnorm {

struct ScaledModel {
  double scale = 0;  // t
  double rms = 0;    // of A - m
  double loss = 0;   // l(eta) - l(t eta), nats per example; below 0: the scaled model is the better one
};

struct TheoryBound {
  double delta = 0;
  double concavity = 0;
  double proposition3 = 0;
};

struct TradeOff {
  uint64_t examples = 0;            // that were looked at
  double rms = 0;                   // of A - c: the model as it is
  double uniform = 0;               // what the model of scores 0 loses, which meets every delta
  std::vector<ScaledModel> path;    // of increasing rms; the last one is scale 1, which loses nothing
  std::vector<TheoryBound> bounds;  // of increasing delta, over the same range
};

// No curve: the reason says why not.
struct TradeOffResult {
  std::optional<TradeOff> curve;
  std::string reason;
};

// Of at most 2,000 examples, evenly spread over the data. There is no curve for networks, trees, too many
// classes or parameters, groups of different sizes, and data without labels.
TradeOffResult trade_off(const ModelFile& model, const Dataset& data);

}  // namespace selfnorm
