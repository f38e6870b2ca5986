// How good a CRF is and how well it is normalised, on labelled sentences, by exact dynamic programs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/error_audit.h"
#include "audit/evaluation.h"
#include "audit/gauge.h"
#include "data/sentences/sequences.h"
#include "family/crf/crf_spans.h"
#include "model/crf/crf_model.h"

namespace selfnorm {

// b(x) of a sentence; 0 without a normalizer.
double crf_normalizer(const CrfNormalizer& normalizer, const Sequences& data, uint64_t sentence);

struct SpanEvaluation {
  SpanCounts all;  // micro: summed over types
  std::vector<std::pair<std::string, SpanCounts>> by_type;
};

// The level, A or A - b, of the sentences with shortest <= T <= longest.
struct LengthLevel {
  uint64_t shortest = 0, longest = 0, sentences = 0;
  double mean = 0, rms = 0;
  double rms_per_token = 0;  // of the level / T
};

// Of the level of every sentence: A, or A - b.
struct CrfLevels {
  LogZStatistics log_z;
  LogZStatistics log_z_per_token;      // of the level / T of a sentence
  std::vector<LengthLevel> by_length;  // T = 1, 2..3, 4..7, ...: those that occur
};
CrfLevels crf_levels(const Sequences& data, std::vector<double> level);

// Of a CRF with a b(x): levels are of A - b.
struct AmortisedCrfEvaluation : CrfLevels {
  double nll = 0, nll_per_token = 0;  // of b - s: what a user of amortised scores sees
};

// Levels are of A.
struct CrfEvaluation : CrfLevels {
  uint64_t sentences = 0, tokens = 0;
  double accuracy = 0;           // tokens whose label is that of the best labelling
  double sentence_accuracy = 0;  // sentences all of whose labels are
  std::optional<SpanEvaluation> spans;
  uint64_t unseen = 0, unseen_sentences = 0;  // tokens whose label the model has not seen; their sentences
  // Means over sentences without unseen labels; the same sums over their tokens.
  double nll_exact = 0, nll_exact_per_token = 0;  // of A - s
  double nll_raw = 0, nll_raw_per_token = 0;      // of -s: what a user of raw scores sees
  std::optional<AmortisedCrfEvaluation> amortised;
};

// Throws Error for data that do not fit the model or lack labels.
CrfEvaluation evaluate_crf(const CrfModel& model, const Sequences& data, int threads = 0);

// A of every sentence; labels are not needed. `progress` is told how many are done.
std::vector<double> crf_log_z(const CrfModel& model, const Sequences& data, int threads = 0,
                              const std::function<void(uint64_t)>& progress = {});

// The errors of log-probabilities of labellings that a CRF gives without normalising (error_audit.h), a
// sentence an input: e(x) = A(x) of raw scores, A(x) - b(x) of amortised ones; the same a token and by
// length, for A grows with T; and V* of the free directions of a CRF (crf_gauge.h).
struct CrfAudit : ErrorAudit, GaugeVariance {
  uint64_t sentences = 0, tokens = 0;
  LogZStatistics log_z_per_token;      // of e / T
  std::vector<LengthLevel> by_length;  // of e
};

// Labels are not needed. `progress` is told how many sentences are done. Throws Error for options out of
// range and data that do not fit the model.
CrfAudit audit_crf(const CrfModel& model, const Sequences& data, const AuditOptions& options,
                   const std::function<void(uint64_t)>& progress = {});

}  // namespace selfnorm
