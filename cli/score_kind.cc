#include "score_kind.h"

#include <fmt/format.h>

#include "output.h"
#include "selfnorm/base/error.h"
#include "selfnorm/objective/candidate_registry.h"

namespace selfnorm::cli {
namespace {

// The objective of a model, when it leaves log Z free and the model was not normalised since ({"name":
// "exact", "normalized": true} was); otherwise empty.
std::string unnormalised_objective(const nlohmann::ordered_json& objective) {
  if (!objective.is_object() || !objective.contains("name") || !objective["name"].is_string()) return "";
  if (objective.contains("normalized") && objective["normalized"] == true) return "";
  const std::string name = objective["name"];
  return name == "exact" || leaves_level_free(name) ? name : "";
}

}  // namespace

const char* kind_name(selfnorm_kind kind) {
  return kind == SELFNORM_EXACT ? "exact" : kind == SELFNORM_AMORTISED ? "amortised" : "raw";
}

selfnorm_kind kind_of(const ScoreArguments& given, const ModelHeader& header) {
  if (given.raw && given.exact) throw Error("give only one of --raw and --exact");
  if (given.exact) return SELFNORM_EXACT;
  return header.has_normalizer && !given.raw ? SELFNORM_AMORTISED : SELFNORM_RAW;
}

void warn_about_raw_scores(const ModelHeader& header) {
  if (header.head != nullptr) {
    note(
        fmt::format("{}: raw scores of a softmax head are log-probabilities only when it was normalised; "
                    "'selfnorm audit' measures it, --exact does not need it",
                    header.path));
  } else {
    warn_about_raw_scores(header.objective, "--exact");
  }
}

void warn_about_raw_scores(const nlohmann::ordered_json& objective, const std::string& advice) {
  if (const std::string name = unnormalised_objective(objective); !name.empty())
    warning(fmt::format(
        "the model was trained by the {} objective, which leaves log Z free: its raw scores are not "
        "log-probabilities; use {}",
        name, advice));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\t')
      out += "\\t";
    else if (c == '\n')
      out += "\\n";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  }
  return out;
}

}  // namespace selfnorm::cli
