// Which log-probabilities `score` gives, and what it says about them.
#pragma once

#include <optional>
#include <string>

#include "classifier/model_header.h"
#include "grammar/arguments.h"
#include "model/crf/crf_model.h"
#include "selfnorm.h"

namespace selfnorm::cli {

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

}  // namespace selfnorm::cli
