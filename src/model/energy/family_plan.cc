// Which statistics and support the words of model/energy/exponential_family.h stand for; records of families.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>

#include "base/failure.h"
#include "data/points/direction_map.h"
#include "model/energy/exponential_family.h"

namespace selfnorm {
namespace {

const std::string kGeneric = "family:";

// What follows "family:", or the statistics of a named family; empty: no such family.
std::string names_of(const std::string& word) {
  static const std::map<std::string, std::string> named = {{"gaussian", "x,x2,xx"},
                                                           {"truncated-gaussian", "x,x2,xx"},
                                                           {"exponential", "x"},
                                                           {"gamma", "log,x"},
                                                           {"von-mises", "cos,sin"},
                                                           {"poisson", "x"},
                                                           {"bernoulli", "x"},
                                                           {"ising", "x,xx"},
                                                           {"bivariate-von-mises", "cos,sin,cc,cs,sc,ss"},
                                                           {"von-mises-fisher", "u"},
                                                           {"fisher-bingham", "u,uu"}};
  if (word.starts_with(kGeneric)) return word.substr(kGeneric.size());
  const auto found = named.find(word);
  return found == named.end() ? "" : found->second;
}

std::vector<Statistic> statistics_of(const std::string& word, uint32_t dimension) {
  const std::string names = names_of(word);
  if (names.empty())
    throw_error("energy '{}' names no statistics; expected one of {}, or family: and names of {}", word,
                fmt::join(exponential_family_names(), ", "), fmt::join(statistic_names(), ", "));
  std::vector<Statistic> out;
  std::set<std::string> seen;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    if (!seen.insert(name).second)
      throw_error("energy '{}' has the statistic {} twice; once is enough", word, name);
    const auto more = make_statistics(name, dimension);
    out.insert(out.end(), more.begin(), more.end());
    begin = end + 1;
  }
  return out;
}

// Both sides of pi as a float, so that angles read as float32 are inside.
constexpr double kHalfTurn = static_cast<float>(std::numbers::pi);

Support support_of(const FamilyPlan& plan) {
  const size_t d = plan.dimension;
  if (d == 0) throw_error("energy '{}' needs at least one dimension, found 0", plan.word);
  const bool takes_box = plan.word == "truncated-gaussian" || plan.word.starts_with(kGeneric);
  if (!plan.lower.empty() || !plan.upper.empty()) {
    if (!takes_box)
      throw_error(
          "energy '{}' has a support of its own and takes no box; boxes are for truncated-gaussian and "
          "family:...",
          plan.word);
    if (plan.lower.size() != d || plan.upper.size() != d)
      throw_error(
          "energy '{}' on {} dimensions was given {} lower and {} upper sides; expected one of each per "
          "dimension",
          plan.word, d, plan.lower.size(), plan.upper.size());
    for (size_t j = 0; j < d; ++j)
      if (!(plan.lower[j] < plan.upper[j]))
        throw_error("the box of energy '{}' goes from {} to {} in coordinate {}; expected lower < upper",
                    plan.word, plan.lower[j], plan.upper[j], j);
    return Support::box(plan.lower, plan.upper);
  }
  const auto box = [&](double lower, double upper) {
    return Support::box(std::vector<double>(d, lower), std::vector<double>(d, upper));
  };
  if (plan.word == "truncated-gaussian")
    throw_error("energy truncated-gaussian needs a box; give its sides with `lower X,...` and `upper X,...`");
  if (plan.word == "exponential" || plan.word == "gamma") return box(0, INFINITY);
  if (plan.word == "von-mises") return box(-kHalfTurn, kHalfTurn);
  if (space_of_family(plan.word) == "torus") return Support::angles(std::vector<bool>(d, true));
  if (space_of_family(plan.word) == "sphere") {
    if (d != 2)
      throw_error("energy '{}' is over the sphere, found {} columns; use `space sphere`", plan.word, d);
    return DirectionMap::sphere().support();
  }
  if (plan.word == "bernoulli" || plan.word == "ising") return Support::binary(plan.dimension);
  if (plan.word == "poisson") return Support::counts();
  return Support::reals();
}

// JSON has no infinity: null in its place.
nlohmann::json sides_json(const std::vector<double>& sides) {
  nlohmann::json out = nlohmann::json::array();
  for (const double v : sides) out.push_back(std::isfinite(v) ? nlohmann::json(v) : nlohmann::json(nullptr));
  return out;
}

std::vector<double> sides_from(const nlohmann::json& json, double infinite) {
  std::vector<double> out;
  for (const auto& v : json) out.push_back(v.is_null() ? infinite : v.get<double>());
  return out;
}

}  // namespace

std::vector<std::string> exponential_family_names() {
  return {"gaussian",
          "truncated-gaussian",
          "exponential",
          "gamma",
          "von-mises",
          "poisson",
          "bernoulli",
          "ising",
          "bivariate-von-mises",
          "von-mises-fisher",
          "fisher-bingham",
          "family"};
}

std::string space_of_family(const std::string& word) {
  if (word == "bivariate-von-mises") return "torus";
  return word == "von-mises-fisher" || word == "fisher-bingham" ? "sphere" : "";
}

void check_family_word(const std::string& word) { statistics_of(word, 2); }

ExponentialFamily::ExponentialFamily(const FamilyPlan& plan)
    : plan_(plan),
      support_(support_of(plan)),
      statistics_(statistics_of(plan.word, plan.dimension)),
      domain_(statistics_, support_, plan.dimension) {
  set_eta(domain_.start());
}

EnergyRecord ExponentialFamily::record() const {
  EnergyRecord out;
  out.kind = plan_.word.substr(0, plan_.word.find(':'));
  nlohmann::json settings = {{"word", plan_.word}, {"dimension", plan_.dimension}};
  if (!plan_.lower.empty()) {
    settings["lower"] = sides_json(plan_.lower);
    settings["upper"] = sides_json(plan_.upper);
  }
  out.settings = settings.dump();
  out.tensors.push_back({"eta", {theta_.size()}, theta_});
  return out;
}

std::unique_ptr<ExponentialFamily> make_exponential_family(const EnergyRecord& record) {
  FamilyPlan plan;
  try {
    const auto settings = nlohmann::json::parse(record.settings);
    plan.word = settings.at("word").get<std::string>();
    plan.dimension = settings.at("dimension").get<uint32_t>();
    if (settings.contains("lower")) {
      plan.lower = sides_from(settings.at("lower"), -INFINITY);
      plan.upper = sides_from(settings.at("upper"), INFINITY);
    }
  } catch (const nlohmann::json::exception& e) {
    throw_error("the settings of energy {} are damaged: {}", record.kind, e.what());
  }
  auto out = std::make_unique<ExponentialFamily>(plan);
  if (record.tensors.size() != 1 || record.tensors[0].name != "eta" ||
      record.tensors[0].values.size() != out->count())
    throw_error("energy {} expects one tensor eta of {} numbers; the file is damaged", plan.word,
                out->count());
  out->set_eta(std::vector<double>(record.tensors[0].values.begin(), record.tensors[0].values.end()));
  return out;
}

}  // namespace selfnorm
