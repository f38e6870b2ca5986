// An autoregressive density by maximum likelihood: Adam on minibatches, the moving average of its parameters
// judged on held-out rows after every pass, the best kept; when they have not gained for a while the steps
// become smaller once, and the next time it ends.
#pragma once

#include "proposal/autoregressive/autoregressive.h"

namespace selfnorm {

struct AutoregressiveOptions {
  std::vector<uint32_t> widths = {256, 256};
  uint64_t batch = 128;        // rows a step
  double rate = 2e-3;          // of Adam
  double decay = 0.01;         // decoupled, of weights
  double dropout = 0.1;        // levels alone: chance that a column is not seen
  uint64_t epochs = 100;       // at most
  uint64_t steps = 20'000;     // at most
  double operations = 1.2e12;  // at most, of products
  uint64_t patience = 4;       // epochs
  bool is_shuffled = false;    // the columns in an order drawn at random; otherwise as they are
  uint64_t seed = 0;           // of that order too
};

struct AutoregressiveFit {
  std::unique_ptr<Autoregressive> density;
  double held_out = 0;  // its mean log q of the held-out rows
  uint64_t epochs = 0;  // taken
};

// Of every column: its levels; mixtures of 8 normals, or of von Mises distributions where `space` wraps.
// Throws Error for values that are not finite, or for counts.
std::vector<ConditionalHead> autoregressive_heads(const Points& data, const Support& space);

// Without held-out rows a tenth of the data are.
AutoregressiveFit fit_autoregressive(const Points& data, const Points& held_out,
                                     const std::vector<ConditionalHead>& heads,
                                     const AutoregressiveOptions& options = {});

}  // namespace selfnorm
