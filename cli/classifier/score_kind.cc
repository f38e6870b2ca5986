#include "classifier/score_kind.h"

#include <cmath>

#include "base/failure.h"
#include "objective/registry.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

// The objective of a model, when it leaves log Z free and the model was not normalised since ({"name":
// "exact", "normalized": true} was); otherwise empty.
std::string unnormalised_objective(const Json& objective) {
  if (!objective.is_object() || !objective.contains("name") || !objective["name"].is_string()) return "";
  if (objective.contains("normalized") && objective["normalized"] == true) return "";
  const std::string name = objective["name"];
  return ignores_log_z(name) ? name : "";
}

// Of log Z - c, less b where that is served. `normalize --amortise` stores the latter alone.
std::optional<double> stored_rms(const Json& audit, selfnorm_kind kind) {
  const bool is_amortised_alone = audit.contains("nll_amortised") && !audit.contains("log_z_amortised");
  if (kind == SELFNORM_RAW) return is_amortised_alone ? std::nullopt : stored_number(audit, {"log_z", "rms"});
  return stored_number(audit, {is_amortised_alone ? "log_z" : "log_z_amortised", "rms"});
}

std::string rms_words(std::optional<double> rms) {
  return rms && *rms > kLargeRms ? fmt::format(" (its rms on held-out data is {:.2g})", *rms) : "";
}

}  // namespace

const char* kind_name(selfnorm_kind kind) {
  return kind == SELFNORM_EXACT ? "exact" : kind == SELFNORM_AMORTISED ? "amortised" : "raw";
}

void check_kind_options(const ScoreArguments& given) {
  if (int(given.raw) + int(given.amortised) + int(given.exact) > 1)
    throw Error("give only one of --raw, --amortised and --exact");
}

ScoreRecords records_of(const CrfModel& model) {
  return {Json::parse(model.objective_json), Json::parse(model.audit_json)};
}

std::optional<double> stored_number(const Json& audit, const std::vector<std::string>& keys) {
  const Json* place = &audit;
  for (const std::string& key : keys) {
    if (!place->is_object() || !place->contains(key)) return std::nullopt;
    place = &(*place)[key];
  }
  return place->is_number() ? std::optional(place->get<double>()) : std::nullopt;
}

void warn_about_rms(double rms, const std::string& kind, const std::string& advice) {
  if (rms > kLargeRms)
    warning(
        fmt::format("{} scores are no good log-probabilities of this model: the rms of log Z{} on held-out "
                    "data is {:.2g}, a factor of {:.2g} in probabilities; use {}",
                    kind, kind == "amortised" ? " - b" : "", rms, std::exp(rms), advice));
}

void warn_about_scores(selfnorm_kind kind, const ScoreRecords& records, const std::string& advice) {
  if (kind == SELFNORM_EXACT) return;
  if (const std::string name = unnormalised_objective(records.objective);
      kind == SELFNORM_RAW && !name.empty())
    return warning(
        fmt::format("the model was trained by the {} objective, which leaves log Z free{}: its raw scores "
                    "are not log-probabilities; use {}",
                    name, rms_words(stored_rms(records.audit, kind)), advice));
  warn_about_rms(stored_rms(records.audit, kind).value_or(0), kind_name(kind), advice);
}

void warn_about_scores(selfnorm_kind kind, const ModelHeader& header) {
  if (header.head == nullptr) return warn_about_scores(kind, {header.objective, header.audit}, "--exact");
  if (kind == SELFNORM_RAW)
    note(
        fmt::format("{}: raw scores of a softmax head are log-probabilities only when it was normalised; "
                    "'selfnorm audit' measures it, --exact does not need it",
                    header.path));
}

}  // namespace selfnorm::cli
