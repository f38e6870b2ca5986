// Data above, the learned density below.
#pragma once

#include "document/figure.h"

namespace selfnorm {

// Pictures by toy, as trial_cell makes them, with the seed they were made with; at most
// four.
Figure picture_figure(const std::string& title,
                      const std::vector<std::pair<std::string, std::vector<double>>>& pictures,
                      uint64_t seed);

}  // namespace selfnorm
