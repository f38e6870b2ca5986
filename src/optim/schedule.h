// Learning-rate schedules: the factor of the base rate at step t of T.
//     constant 1;   linear 1 - t/T;   cosine (1 + cos(pi t/T))/2;   inverse-sqrt 1/sqrt(1 + t/w), w = steps
//     per epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selfnorm {

std::vector<std::string> schedule_names();

struct Schedule {
  std::string name = "linear";
  uint64_t steps = 1;
  uint64_t steps_per_epoch = 1;

  double factor(uint64_t step) const;  // throws Error for an unknown name
};

}  // namespace selfnorm
