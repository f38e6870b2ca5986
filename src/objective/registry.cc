#include "objective/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "objective/exact.h"
#include "objective/hierarchical.h"
#include "objective/importance_sampling.h"
#include "objective/nce.h"
#include "objective/penalty.h"
#include "objective/pseudo_likelihood.h"
#include "objective/ranking_nce.h"
#include "objective/sampled.h"
#include "objective/score_matching.h"
#include "objective/snl.h"
#include "proposal/proposal.h"

namespace selfnorm {
namespace {

constexpr double kMostSamples = 1e6, kMostHidden = 4096, kLargestCentre = 1e6;

OptionTable all_options(ObjectiveOptions& o) {
  OptionTable table;
  table.add("alpha", &o.alpha, "Weight of (log Z - c)^2").at_least(0);
  table.add("delta", &o.delta, "Bound of rms(log Z - c) on the training data").above(0);
  table.add("gamma", &o.gamma, "Fraction of each minibatch that is normalised").in(0, 1);
  table.add("centre", &o.centre, "c, the value log Z is drawn to; auto: 0, calibrated or learned")
      .in(-kLargestCentre, kLargestCentre);
  table.add("learn-centre", &o.learn_centre, "c is learned, stored and subtracted");
  table.add("samples", &o.samples, "Classes drawn from the proposal at a time").in(1, kMostSamples);
  table
      .add("proposal", &o.noise,
           "What classes to compare with are drawn from; unigram: (count + 1)^beta; log-uniform: by the rank "
           "of the "
           "count; in-batch: the other targets of the minibatch")
      .one_of(noise_names());
  table.add("proposal-power", &o.noise_power, "beta of the proposal unigram").in(0, 1);
  table.add("proposal-sharing", &o.noise_sharing, "One draw for all examples of a minibatch, or one for each")
      .one_of({"batch", "example"});
  table
      .add("normalizer", &o.normalizer,
           "b, which log Z is drawn to: zero, or learned and stored: a constant, or a linear function or a "
           "small network of the state")
      .one_of({"zero", "constant", "linear", "mlp"});
  table.add("normalizer-hidden", &o.normalizer_hidden, "Hidden units of the normalizer mlp")
      .in(1, kMostHidden);
  return table;
}

// cd, pcd, mcmc: the scores of the data against those of Markov chains of the model, started at the data; the
// chains of pcd go on from step to step. The gradient is that of s(x) - s(x'), which has no formula of its
// own.
ObjectiveEntry chain_entry(const std::string& name, const std::string& text, ObjectiveOffer offer) {
  return {.name = name,
          .text = text,
          .seam = ObjectiveSeam::chains,
          .offers = {std::move(offer)},
          .leaves_level = true,
          .is_persistent = name == "pcd"};
}

// nce+, kld-is: the same with a jittered target (family/regressor/train/regressor_step.h), for regressors,
// the last to be offered it.
ObjectiveEntry jittered(ObjectiveEntry entry, const std::string& name) {
  entry.text = entry.name + " with a jittered target";
  entry.name = name;
  entry.offers = {entry.offers.back()};
  entry.offers[0].options.emplace_back("noise");
  entry.jitters_target = true;
  return entry;
}

// fit, mdn: the proposal itself is the model, and what it has is its likelihood.
ObjectiveEntry proposal_entry(const std::string& name, const std::string& family) {
  return {.name = name,
          .text = "the proposal itself is the model",
          .seam = ObjectiveSeam::proposal,
          .offers = {{family, {}}}};
}

std::vector<ObjectiveEntry>& registry() {
  static std::vector<ObjectiveEntry> entries = {
      exact_entry(),
      penalty_entry(),
      constraint_entry(),
      sampled_entry(),
      snl_entry(),
      importance_sampling_entry(),
      nce_entry(),
      ranking_nce_entry(),
      jittered(nce_entry(), "nce+"),
      jittered(importance_sampling_entry(), "kld-is"),
      chain_entry("cd", "chains from the data", {"density", {"langevin-steps", "langevin-step"}}),
      chain_entry("pcd", "chains that go on", {"density", {"samples", "langevin-steps", "langevin-step"}}),
      chain_entry("mcmc", "Langevin chains from the target",
                  {"regressor", {"langevin-steps", "langevin-step"}}),
      denoising_entry(),
      sliced_entry(),
      matching_entry(),
      pseudo_likelihood_entry(),
      hierarchical_entry(),
      proposal_entry("fit", "density"),
      proposal_entry("mdn", "regressor"),
  };
  return entries;
}

std::vector<std::string> names_where(const std::function<bool(const ObjectiveEntry&)>& is_meant) {
  std::vector<std::string> names;
  for (const ObjectiveEntry& entry : registry())
    if (is_meant(entry)) names.push_back(entry.name);
  return names;
}

const ObjectiveEntry* find_entry(const std::string& name) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&](const ObjectiveEntry& e) { return e.name == name; });
  return found == registry().end() ? nullptr : &*found;
}

}  // namespace

OptionTable objective_option_table(const std::string& family, ObjectiveOptions& o) {
  OptionTable table;
  table.add("objective", &o.name, objective_help(family)).one_of(objective_names(family));
  OptionTable all_rows = all_options(o);
  for (Option& option : all_rows.rows()) {
    const auto& all = all_objectives();
    const bool is_read = std::any_of(all.begin(), all.end(),
                                     [&](const ObjectiveEntry& e) { return e.reads(family, option.name); });
    if (is_read) table.rows().push_back(std::move(option));
  }
  return table;
}

void ObjectiveOptions::validate() const {
  ObjectiveOptions copy = *this;
  all_options(copy).validate();
  const bool is_subsampled = objective_entry(name).is_subsampled;
  require_range(!is_subsampled || alpha > 0, "alpha", alpha, "a finite number > 0 for the sampled objective");
}

bool ObjectiveEntry::is_offered_by(const std::string& family) const {
  return std::any_of(offers.begin(), offers.end(),
                     [&](const ObjectiveOffer& o) { return o.family == family; });
}

bool ObjectiveEntry::reads(const std::string& family, const std::string& option) const {
  return std::any_of(offers.begin(), offers.end(), [&](const ObjectiveOffer& o) {
    return o.family == family && std::find(o.options.begin(), o.options.end(), option) != o.options.end();
  });
}

const std::vector<ObjectiveEntry>& all_objectives() { return registry(); }

const ObjectiveEntry& objective_entry(const std::string& name) {
  if (const ObjectiveEntry* entry = find_entry(name)) return *entry;
  throw_error("objective '{}' is not known; expected one of {}", name,
              fmt::join(names_where([](const auto&) { return true; }), ", "));
}

void register_objective(ObjectiveEntry entry) {
  std::erase_if(registry(), [&](const ObjectiveEntry& e) { return e.name == entry.name; });
  registry().push_back(std::move(entry));
}

std::vector<std::string> objective_names(const std::string& family) {
  return names_where([&](const ObjectiveEntry& e) { return e.is_offered_by(family); });
}

std::string objective_help(const std::string& family) {
  std::vector<std::string> words;
  for (const ObjectiveEntry& entry : registry())
    if (entry.is_offered_by(family)) words.push_back(fmt::format("{}: {}", entry.name, entry.text));
  return fmt::format("{}", fmt::join(words, "; "));
}

void limit_to_objective(const std::string& family, const std::string& given, OptionTable& table) {
  const ObjectiveEntry* entry = find_entry(given);
  for (Option& option : table.rows()) {
    const std::vector<std::string> readers =
        names_where([&](const ObjectiveEntry& e) { return e.reads(family, option.name); });
    if (readers.empty()) continue;
    const std::string words = fmt::format("{}", fmt::join(readers, ", "));
    if (readers.size() < objective_names(family).size()) option.readers = words;
    option.only(entry != nullptr && entry->reads(family, option.name), option_text("objective", words),
                option_text("objective", given));
  }
}

std::unique_ptr<Objective> make_objective(const ObjectiveOptions& options) {
  options.validate();
  const ObjectiveEntry& entry = objective_entry(options.name);
  if (!entry.make)
    throw_error("objective '{}' has no use for log Z; expected one of {}", options.name,
                fmt::join(objective_names(), ", "));
  return entry.make(options);
}

std::unique_ptr<CandidateObjective> make_candidate_objective(const std::string& name) {
  const ObjectiveEntry& entry = objective_entry(name);
  if (!entry.make_candidate)
    throw_error("objective '{}' draws nothing; expected one of {}", name,
                fmt::join(candidate_objective_names(), ", "));
  return entry.make_candidate();
}

std::vector<ObjectiveOffer> noise_offers(std::vector<std::string> of_classes,
                                         std::vector<std::string> of_points,
                                         std::vector<std::string> of_targets) {
  of_classes.insert(of_classes.end(),
                    {"samples", "proposal", "proposal-power", "proposal-sharing", "calibrate"});
  of_points.insert(of_points.end(), {"samples", "learn-proposal"});
  of_targets.insert(of_targets.end(), {"samples", "defensive", "learn-proposal"});
  return {{"classifier", of_classes}, {"lm", of_classes}, {"density", of_points}, {"regressor", of_targets}};
}

std::vector<std::string> objective_names() {
  return names_where([](const ObjectiveEntry& e) { return e.seam == ObjectiveSeam::log_z; });
}

std::vector<std::string> candidate_objective_names() {
  return names_where(
      [](const ObjectiveEntry& e) { return e.seam == ObjectiveSeam::candidates && !e.jitters_target; });
}

bool is_candidate_objective(const std::string& name) {
  const ObjectiveEntry* entry = find_entry(name);
  return entry != nullptr && entry->seam == ObjectiveSeam::candidates;
}

bool ignores_log_z(const std::string& name) {
  const ObjectiveEntry* e = find_entry(name);
  if (e == nullptr || (e->seam != ObjectiveSeam::log_z && e->seam != ObjectiveSeam::candidates)) return false;
  return !(e->is_penalised || e->is_constraint || e->is_subsampled || e->uses_normalizer);
}

nlohmann::ordered_json option_record(const OptionTable& table) {
  nlohmann::ordered_json record = nlohmann::ordered_json::object();
  for (const Option& option : table.rows()) {
    std::string key = option.name;
    std::replace(key.begin(), key.end(), '-', '_');
    std::visit(
        [&](const auto* field) {
          if constexpr (std::is_same_v<decltype(field), const std::optional<double>*>) {
            if (*field) record[key] = **field;
          } else {
            record[key] = *field;
          }
        },
        option.field);
  }
  return record;
}

nlohmann::ordered_json objective_options(const std::string& family, const std::string& objective,
                                         const OptionTable& table) {
  const ObjectiveEntry& entry = objective_entry(objective);
  OptionTable read;
  for (const Option& option : table.rows())
    if (entry.reads(family, option.name)) read.rows().push_back(option);
  nlohmann::ordered_json record = {{"name", objective}};
  record.update(option_record(read));
  record.erase("calibrate");
  return record;
}

}  // namespace selfnorm
