// Which log-probabilities `score` gives, and what is said of them: what --raw, --amortised, --exact or --rung
// ask for, else those of the cheapest rung that is certified to be precise enough, else exact ones.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "classifier/model_header.h"
#include "classifier/runtime_model.h"
#include "grammar/arguments.h"
#include "model/crf/crf_model.h"
#include "selfnorm.h"
#include "selfnorm/runtime/ladder_layout.h"

namespace selfnorm::cli {

struct ServedKind {
  int kind = SELFNORM_EXACT;  // for the C interface
  std::string name;           // raw, amortised, linear, network, nearest, exact
  std::string rung;           // its name; empty: the kind says it
  double eps = 0, rho = 0;    // certified; an infinite eps: nothing is
  bool is_asked_for = false;  // by an option, rather than chosen

  bool has_certificate() const;
  // "nearest: nearest-0.05, certified within 0.083 for 99% of inputs"
  std::string text() const;
  // {"kind", "rung", "eps", "rho"}; the last three where there are any.
  nlohmann::ordered_json json() const;
};

// Of a model of classes: by --raw, --amortised, --exact, --rung or --within. Throws Error for more than one
// of the first four, and for what the model does not have.
ServedKind served_kind(const ScoreArguments& given, const LadderArguments& precision,
                       const RuntimeModel& model);
// By the precision alone.
ServedKind served_kind(const LadderArguments& precision, const RuntimeModel& model);

// Of a model whose rungs are in its audit record: a CRF, a regressor.
struct OfferedRungs {
  std::vector<runtime::Rung> certified;  // empty: nothing was measured
  std::vector<std::string> names;        // that can be asked for, besides exact
  std::string exact = "exact";           // what exact ones are called
};

// Raw and amortised scores are called so, others by the kind of their rung. Throws Error for more than one of
// those options, and for what the model does not have.
ServedKind served_rung(const Arguments& arguments, const OfferedRungs& offered);

// "raw within 7.1, level within 6.8 (99% of inputs, confidence 99% for all)"; of none certified "nothing",
// and how many held-out inputs would be enough.
std::string rungs_text(const std::vector<runtime::Rung>& rungs, uint64_t enough);

// "raw", "exact" or "amortised".
const char* kind_name(selfnorm_kind kind);

// Throws Error when more than one of --raw, --amortised and --exact is given.
void check_kind_options(const ScoreArguments& given);

// rms of log Z above which scores are served with a warning.
inline constexpr double kLargeRms = 0.3;

// What a model file holds of its training: its objective, and the audit on held-out data.
struct ScoreRecords {
  Json objective, audit;
};
ScoreRecords records_of(const CrfModel& model);

// The number at these keys of an audit, one inside the other; none where there is no such number.
std::optional<double> stored_number(const Json& audit, const std::vector<std::string>& keys);

// One line on stderr when scores of this kind are no log-probabilities as far as the records tell: the stored
// rms of log Z is large, or nothing has made them so. `advice` is what to use instead.
void warn_about_scores(selfnorm_kind kind, const ScoreRecords& records, const std::string& advice);
void warn_about_scores(selfnorm_kind kind, const ModelHeader& header);
// Of this rms; nothing below kLargeRms.
void warn_about_rms(double rms, const std::string& kind, const std::string& advice);
// Scores that were asked for.
void warn_about_scores(const ServedKind& served, const ModelHeader& header);

}  // namespace selfnorm::cli
