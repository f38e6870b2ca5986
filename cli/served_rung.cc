#include "served_rung.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "document/section/audit_section.h"

namespace selfnorm::cli {

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

std::string rungs_text(const std::vector<runtime::Rung>& rungs) {
  std::string out;
  for (const runtime::Rung& rung : rungs)
    if (std::isfinite(rung.eps))
      out += fmt::format("{}{} within {}", out.empty() ? "" : ", ", rung.name, rounded_up(rung.eps, 2));
  if (out.empty()) return "nothing: there are too few held-out inputs";
  return out + fmt::format(" ({:.4g}% of inputs, confidence {:.4g}% for all together)",
                           100 * (1 - rungs[0].rho), 100 * rungs[0].conf);
}

}  // namespace selfnorm::cli
