#include "selfnorm/objective/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <utility>

#include "selfnorm/base/error.h"
#include "selfnorm/objective/exact.h"
#include "selfnorm/objective/penalty.h"
#include "selfnorm/objective/sampled.h"

namespace selfnorm {
namespace {

using Maker = std::function<std::unique_ptr<Objective>(const ObjectiveOptions&)>;

const std::vector<std::pair<std::string, Maker>>& registry() {
  static const std::vector<std::pair<std::string, Maker>> entries = {
      {"exact", [](const ObjectiveOptions&) { return std::make_unique<Exact>(); }},
      {"penalty", [](const ObjectiveOptions& o) { return std::make_unique<Penalty>(o.alpha); }},
      {"constraint", [](const ObjectiveOptions& o) { return std::make_unique<Penalty>(o.alpha); }},
      {"sampled", [](const ObjectiveOptions& o) { return std::make_unique<Sampled>(o.alpha, o.gamma); }},
  };
  return entries;
}

}  // namespace

std::vector<std::string> objective_names() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : registry()) names.push_back(name);
  return names;
}

std::unique_ptr<Objective> make_objective(const ObjectiveOptions& options) {
  options.validate();
  for (const auto& [name, maker] : registry()) {
    if (name == options.name) return maker(options);
  }
  throw Error(fmt::format("objective '{}' is not known; expected one of {}", options.name,
                          fmt::join(objective_names(), ", ")));
}

}  // namespace selfnorm
