// What the training of a classifier takes where nothing was said.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "family/classifier/options.h"

namespace selfnorm {

// The options whose being given, even with their defaults, has a part in the choice.
const std::vector<std::string>& choosing_options();

using IsGiven = std::function<bool(const std::string& option)>;

// Whether an option that was given belongs to an objective or an encoder, or names one: nothing is chosen
// then.
bool is_decided(const IsGiven& is_given);

struct TrainingChoice {
  std::string note;                  // what was chosen, and why
  std::vector<std::string> options;  // that were set, by name
};

// Where nothing is decided: maximum likelihood where a sum over the classes is cheap, so that nothing is paid
// for scores that need none, otherwise noise. A regulariser that was not given either is chosen on held-out
// rows, of which `has_held_out` says whether there are any.
TrainingChoice choose_training(const Dataset& data, bool has_held_out, const IsGiven& is_given,
                               TrainOptions& options);

}  // namespace selfnorm
