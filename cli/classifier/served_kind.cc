#include "classifier/served_kind.h"

#include <cmath>

#include "base/failure.h"
#include "classifier/score_kind.h"
#include "document/section/audit_section.h"
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

void warn_about_scores(const ServedKind& served, const ModelHeader& header) {
  if (!served.is_asked_for) return;
  if (served.name == "raw") warn_about_scores(SELFNORM_RAW, header);
  if (served.kind == SELFNORM_AMORTISED || served.rung == "amortised")
    warn_about_scores(SELFNORM_AMORTISED, header);
}

}  // namespace selfnorm::cli
