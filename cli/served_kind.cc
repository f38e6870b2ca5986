#include "served_kind.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "document/section/audit_section.h"
#include "objective/registry.h"
#include "output.h"
#include "selfnorm/runtime/ladder_layout.h"

namespace selfnorm::cli {
namespace {

const char* word_of(int kind) {
  switch (kind) {
    case SELFNORM_RAW:
      return "raw";
    case SELFNORM_AMORTISED:
      return "amortised";
    case SELFNORM_LINEAR:
      return "linear";
    case SELFNORM_NETWORK:
      return "network";
    case SELFNORM_NEAREST:
      return "nearest";
    default:
      return "exact";
  }
}

selfnorm_rung rung_at(const RuntimeModel& model, size_t i) {
  selfnorm_rung out{};
  selfnorm_rung_at(model.get(), i, &out);
  return out;
}

ServedKind of_kind(const RuntimeModel& model, int kind) {
  ServedKind out;
  out.kind = kind;
  out.name = word_of(kind);
  if (kind >= SELFNORM_RUNG(0)) {
    const selfnorm_rung rung = rung_at(model, static_cast<size_t>(kind - SELFNORM_RUNG(0)));
    out.name = word_of(rung.kind);
    out.rung.assign(rung.name, rung.name_length);
    if (out.rung == out.name) out.rung.clear();
  }
  selfnorm_error_bound(model.get(), kind, &out.eps, &out.rho);
  return out;
}

std::string rung_names(const RuntimeModel& model) {
  std::string out;
  for (size_t i = 0; i < selfnorm_rungs(model.get()); ++i) {
    const selfnorm_rung rung = rung_at(model, i);
    out += std::string(rung.name, rung.name_length) + ", ";
  }
  return out + "exact";
}

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

bool ServedKind::has_certificate() const { return name != "exact" && std::isfinite(eps); }

std::string ServedKind::text() const {
  std::string out = name;
  if (!rung.empty()) out += ": " + rung;
  if (has_certificate())
    out += fmt::format("{} certified within {} for {:.4g}% of inputs", rung.empty() ? ":" : ",",
                       rounded_up(eps, 2), 100 * (1 - rho));
  return out;
}

nlohmann::ordered_json ServedKind::json() const {
  nlohmann::ordered_json out = {{"kind", name}};
  if (!rung.empty()) out["rung"] = rung;
  if (has_certificate()) out.update({{"eps", eps}, {"rho", rho}});
  return out;
}

ServedKind served_kind(const LadderArguments& precision, const RuntimeModel& model) {
  double within = 0, rho = 0;
  selfnorm_promise(model.get(), &within, &rho, nullptr);
  if (precision.asked > 0) within = precision.asked;
  return of_kind(model, selfnorm_kind_within(model.get(), within, rho));
}

ServedKind served_kind(const ScoreArguments& given, const LadderArguments& precision,
                       const RuntimeModel& model) {
  if (int(given.raw) + int(given.amortised) + int(given.exact) + int(!given.rung.empty()) > 1)
    throw Error("give only one of --raw, --amortised, --exact and --rung");
  if (given.amortised && !model.has_normalizer())
    throw_error("--amortised: {} has no b(x); 'selfnorm normalize --amortise' makes one", given.model);
  int kind = given.raw ? SELFNORM_RAW : given.amortised ? SELFNORM_AMORTISED : SELFNORM_EXACT;
  if (!given.rung.empty() && given.rung != "exact") {
    kind = -1;
    for (size_t i = 0; i < selfnorm_rungs(model.get()); ++i)
      if (const selfnorm_rung rung = rung_at(model, i);
          given.rung == std::string_view(rung.name, rung.name_length))
        kind = SELFNORM_RUNG(i);
    if (kind < 0)
      throw_error("--rung {}: {} has no such rung; expected one of {}", given.rung, given.model,
                  rung_names(model));
  }
  const bool is_asked_for = given.raw || given.amortised || given.exact || !given.rung.empty();
  // A ranking reads every weight, so exact costs no more.
  ServedKind out = is_asked_for || given.top > 0 ? of_kind(model, kind) : served_kind(precision, model);
  out.is_asked_for = is_asked_for;
  return out;
}

ServedKind served_rung(const Arguments& arguments, const OfferedRungs& offered) {
  const ScoreArguments& given = arguments.score;
  if (int(given.raw) + int(given.amortised) + int(given.exact) + int(!given.rung.empty()) > 1)
    throw Error("give only one of --raw, --amortised, --exact and --rung");
  const auto has = [&offered](const std::string& name) {
    return std::ranges::count(offered.names, name) > 0;
  };
  std::string name = offered.exact;
  const bool is_asked_for = given.raw || given.amortised || given.exact || !given.rung.empty();
  if (given.amortised && !has("amortised"))
    throw_error("--amortised: {} has no b(x); 'selfnorm normalize --amortise linear' makes one", given.model);
  if (given.raw || given.amortised) name = given.raw && has("raw") ? "raw" : "amortised";
  if (!given.rung.empty() && given.rung != "exact" && given.rung != offered.exact) {
    if (!has(given.rung))
      throw_error("--rung {}: {} has no such rung; expected one of {}, {}", given.rung, given.model,
                  fmt::join(offered.names, ", "), offered.exact);
    name = given.rung;
  }
  if (!is_asked_for) {
    const double asked = arguments.ladder.asked;
    const size_t best =
        runtime::cheapest_within(offered.certified, {.within = asked > 0 ? asked : runtime::kWithin});
    if (best != runtime::kNoRung) name = offered.certified[best].name;
  }
  ServedKind out;
  out.kind = name == offered.exact ? SELFNORM_EXACT : SELFNORM_RAW;
  out.name = name;
  out.is_asked_for = is_asked_for;
  out.eps = std::numeric_limits<double>::infinity();
  if (name == offered.exact) return out;
  for (const runtime::Rung& rung : offered.certified) {
    if (rung.name != name) continue;
    out.eps = rung.eps;
    out.rho = rung.rho;
    if (name == "raw" || name == "amortised") continue;
    out.name = runtime::name(rung.kind);
    out.rung = name;
  }
  return out;
}

std::string rungs_text(const std::vector<runtime::Rung>& rungs, uint64_t enough) {
  std::string out;
  for (const runtime::Rung& rung : rungs)
    if (std::isfinite(rung.eps))
      out += fmt::format("{}{} within {}", out.empty() ? "" : ", ", rung.name, rounded_up(rung.eps, 2));
  if (out.empty())
    return fmt::format("nothing: there are too few held-out inputs; {} in all would do", enough);
  return out + fmt::format(" ({:.4g}% of inputs, confidence {:.4g}% for all together)",
                           100 * (1 - rungs[0].rho), 100 * rungs[0].conf);
}

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

void warn_about_scores(const ServedKind& served, const ModelHeader& header) {
  if (!served.is_asked_for) return;
  if (served.name == "raw") warn_about_scores(SELFNORM_RAW, header);
  if (served.kind == SELFNORM_AMORTISED || served.rung == "amortised")
    warn_about_scores(SELFNORM_AMORTISED, header);
}

}  // namespace selfnorm::cli
