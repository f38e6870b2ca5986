// What is done to a head of classes to bring its log Z near 0, in this order: without loss (theory.md 1.5),
// by retraining, by b(h), and by a ladder. The states are split once: what is fitted is fitted to the kept
// part alone, and audits and certificates are of the held-out part, of the numbers as they will be stored.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audit/audit.h"
#include "audit/gauge.h"
#include "data/example_source.h"
#include "family/classifier/normalize/amortise.h"
#include "family/classifier/normalize/ladder_fit.h"
#include "family/classifier/normalize/retrain.h"

namespace selfnorm {

// What a step was fitted to and verified on.
struct NormalizedInputs {
  std::string inputs = "states";  // "sentences"
  uint64_t states = 0, held_out = 0;
  LogZStatistics log_z_before;  // of the held-out inputs
};

// What the lossless step did to any model.
struct LosslessStep : NormalizedInputs {
  std::string regressors = "(1, h)";  // of log Z
  uint64_t features = 0;
  bool is_stored_in_float32 = true;
  LinearFit gauge;             // that was subtracted
  LinearFit plain;             // least squares on the same inputs: its residual variance is V*
  LogZStatistics log_z_after;  // of the held-out inputs
  double probability = 0,
         log_probability = 0;  // their largest changes on `compared` held-out inputs, as stored
  uint64_t compared = 0;

  double r_squared_held_out() const;
};

struct NormalizeReport : LosslessStep {
  Audit before, lossless;
  std::optional<RetrainResult> retraining;
  std::optional<Audit> retrained;
  double retrained_kl = 0;       // mean KL(before || retrained) on the compared states
  std::string retraining_doubt;  // why the delta that was reached does not hold elsewhere; empty: it does
  std::optional<AmortisedFit> amortisation;
  std::string
      amortisation_doubt;  // why there is no b, or none of the kind that was asked for; empty: there is
  std::optional<Audit> amortised;  // absent: b was left out
  std::optional<LadderFit> ladder;

  const Audit& last() const { return amortised ? *amortised : retrained ? *retrained : lossless; }
};

struct NormalizationOptions {
  double hold_out = 0.1;  // of the states
  uint64_t seed = 0;
  AuditOptions audit = {.with_v_star = false};
  std::function<void(ModelFile&)> round = {};  // what storing does to weights and biases; none: nothing
  bool is_stored_in_float32 = true;
  // Of sums over the states that are fitted to.
  std::function<void(const std::string& what, uint64_t done, uint64_t of)> on_progress = {};
};

// Of the states where a ladder is fitted to the others: its certificates need many.
inline constexpr double kHeldOutOfLadder = 0.5;

class Normalization {
 public:
  // Does the lossless step. Keeps references to `given` and `states`. Throws Error for fewer than 2 states.
  Normalization(const ModelFile& given, const ExampleSource& states, NormalizationOptions options);

  // `hold_out` of the kept states choose alpha.
  void retrain(const RetrainOptions& options);
  // A b(h) that does not lower rms log Z of the held-out states is left out.
  void amortise(const AmortiseOptions& options);
  void fit_ladder(const LadderOptions& options);

  const ModelFile& model() const { return model_; }
  ModelFile take_model() { return std::move(model_); }
  const NormalizeReport& report() const { return report_; }

 private:
  Audit audited(const ModelFile& model) const;
  Dataset compared() const;
  void remove_what_is_free();
  void round();
  std::function<void(uint64_t)> progress(const std::string& what) const;

  const ModelFile& given_;
  NormalizationOptions options_;
  std::pair<std::vector<uint64_t>, std::vector<uint64_t>> split_;
  ExampleSubset kept_, held_out_;
  ModelFile model_;
  NormalizeReport report_;
};

}  // namespace selfnorm
