#include "selfnorm/objective/candidate_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "selfnorm/base/error.h"
#include "selfnorm/objective/importance_sampling.h"
#include "selfnorm/objective/nce.h"
#include "selfnorm/objective/ranking_nce.h"
#include "selfnorm/objective/snl.h"

namespace selfnorm {
namespace {

using CandidateMaker = std::function<std::unique_ptr<CandidateObjective>()>;

const std::vector<std::pair<std::string, CandidateMaker>>& candidate_registry() {
  static const std::vector<std::pair<std::string, CandidateMaker>> entries = {
      {"nce", [] { return std::make_unique<Nce>(); }},
      {"ranking-nce", [] { return std::make_unique<RankingNce>(); }},
      {"is", [] { return std::make_unique<ImportanceSampling>(); }},
      {"snl", [] { return std::make_unique<Snl>(); }},
  };
  return entries;
}

}  // namespace

std::vector<std::string> candidate_objective_names() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : candidate_registry()) names.push_back(name);
  return names;
}

bool is_candidate_objective(const std::string& name) {
  return std::any_of(candidate_registry().begin(), candidate_registry().end(),
                     [&](const auto& e) { return e.first == name; });
}

bool leaves_level_free(const std::string& name) {
  return is_candidate_objective(name) && !make_candidate_objective(name)->uses_normalizer();
}

std::unique_ptr<CandidateObjective> make_candidate_objective(const std::string& name) {
  for (const auto& [known, maker] : candidate_registry()) {
    if (known == name) return maker();
  }
  throw Error(fmt::format("candidate objective '{}' is not known; expected one of {}", name,
                          fmt::join(candidate_objective_names(), ", ")));
}

}  // namespace selfnorm
