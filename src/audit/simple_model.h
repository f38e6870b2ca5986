// Models that are simple enough for anybody, fitted to the training data: a trained model has to be better
// than they are on data held out, or something went wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

struct SimpleModel {
  std::string name;    // "the frequencies of the classes"
  double nll = 0;      // nats per row or token held out, in the units of the data
  std::string advice;  // how to get it, or what to try
};

// "... is not better than ...: ... 1.92 against 1.45 nats", when the trained NLL is more than kWorse above
// the simple one, or is no number; otherwise empty.
inline constexpr double kWorse = 0.02;
std::string not_better(double nll, const SimpleModel& simple);

// Whether the NLL is so far above the simple one that training did not overfit but diverged, if to finite
// numbers: by more than 100 (1 + |simple NLL|).
bool is_divergence(double nll, const SimpleModel& simple);

// p_k = (count_k + 1) / (n + K) of the training data; counts of both by class. NaN when none is held out.
SimpleModel frequency_model(const std::string& name, std::span<const uint64_t> train,
                            std::span<const uint64_t> held_out);
std::vector<uint64_t> class_counts(std::span<const uint32_t> target, uint32_t classes);

}  // namespace selfnorm
