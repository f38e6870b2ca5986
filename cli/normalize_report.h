// What `selfnorm normalize` did, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "selfnorm/analysis/audit.h"
#include "selfnorm/analysis/least_squares.h"
#include "selfnorm/normalizer/class_moments.h"
#include "selfnorm/train/amortise.h"
#include "selfnorm/train/retrain.h"

namespace selfnorm::cli {

// Audits are of the held-out states, of the model as stored.
struct NormalizeReport {
  uint64_t states = 0, held_out = 0;  // fitted to, and verified on
  uint32_t features = 0;
  bool is_stored_in_float32 = true;
  LinearFit gauge;  // that was subtracted
  LinearFit plain;  // least squares on the same states: its residual variance is V*
  Audit before, lossless;
  HeadDifference difference;  // of the lossless step; kl is the sum over `compared` held-out states
  uint64_t compared = 0;
  std::optional<RetrainResult> retraining;
  std::optional<Audit> retrained;
  double retrained_kl = 0;  // mean KL(before || retrained) on the compared states
  std::optional<AmortisedFit> amortisation;
  std::optional<Audit> amortised;

  double r_squared_held_out() const;
  const Audit& last() const { return amortised ? *amortised : retrained ? *retrained : lossless; }
};

nlohmann::ordered_json normalize_json(const NormalizeReport& report);
std::string normalize_text(const NormalizeReport& report);
// What limits the lossless step: too few states, rounding that can be seen.
std::vector<std::string> normalize_warnings(const NormalizeReport& report);

}  // namespace selfnorm::cli
