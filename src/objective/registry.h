// The objectives by name, with what each needs and leaves behind. Trainers, command line and documents read
// these traits and never compare names. A new objective is one header, one source and one line in
// registry.cc; the gradient checks of tests/objective/registry.cc then cover it by themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "objective/candidate.h"
#include "objective/objective.h"

namespace selfnorm {

// Which objective, and its constants (theory.md section 3).

struct ObjectiveOptions {
  std::string name =
      "penalty";       // a name of objective_names() or candidate_objective_names(), or hierarchical
  double alpha = 0.1;  // penalty, sampled: weight of (A - c)^2; >= 0 (sampled: > 0)
  double delta = 0.1;  // constraint: rms(A - c) <= delta on the training data; > 0
  double gamma = 0.1;  // sampled: fraction of each minibatch that is normalised; in [0, 1]
  // penalty, constraint: c, the value log Z is drawn to; unset: 0, which calibration may move
  // (family/classifier/options.h), and learned for joint models, whose alternatives have no bias to absorb it
  std::optional<double> centre = std::nullopt;
  bool learn_centre = false;  // penalty, constraint: c is a parameter too, stored and subtracted

  // nce, ranking-nce, is, snl
  uint64_t samples = 100;         // noise classes per example; 1..1e6; in-batch: not used
  std::string noise = "unigram";  // what they are drawn from: a name of noise_names() (proposal.h)
  double noise_power = 0.75;      // unigram: beta, in [0, 1]
  std::string noise_sharing =
      "batch";  // batch: one draw for all examples of a minibatch | example: each its own
  // nce, snl: b = 0, or a learned constant that is stored and subtracted, or a learned function of the state
  // h (linear models: of x) that is stored as the amortised normalizer
  std::string normalizer = "constant";  // zero | constant | linear | mlp
  uint32_t normalizer_hidden = 16;      // mlp: hidden units; 1..4096

  void validate() const;  // throws Error naming the option, the value and the range
};

// The options of `o` that objectives of the family ("classifier", "lm", "crf") read, and its name.
OptionTable objective_option_table(const std::string& family, ObjectiveOptions& o);

// What a step of training computes for it.
enum class ObjectiveSeam {
  log_z,         // A(x) of the examples or a share of them (objective.h)
  candidates,    // scores of draws from a proposal (candidate.h)
  tree,          // decisions on the path to a class (hierarchical.h)
  chains,        // Markov chains of the model
  matching,      // derivatives of the score (score_matching.h)
  conditionals,  // scores of neighbours (pseudo_likelihood.h)
  proposal       // nothing: the proposal is the model
};

enum class ScoreMatching { exact, sliced, denoising };

// A family of models that offers it, and the options it reads there.
struct ObjectiveOffer {
  std::string family;
  std::vector<std::string> options;
};

struct ObjectiveEntry {
  std::string name;
  std::string text;  // a few words, for help and reference
  ObjectiveSeam seam = ObjectiveSeam::log_z;
  std::vector<ObjectiveOffer> offers;

  bool uses_normalizer = false;  // b is part of it, and log Z is drawn to b
  bool leaves_level = false;     // the level of log Z is free or settles elsewhere: estimated after training
  bool uses_estimate = false;    // Z_hat is part of it: noisier gradients, and lost when draws miss Z
  bool has_centre = false;       // c, which log Z is drawn to, may be given or learned
  bool is_penalised = false;     // validation looks at alpha (A - c)^2 too
  bool is_constraint =
      false;  // alpha is moved until rms(A - c) <= delta: full passes, all data, last iterate
  bool is_subsampled = false;   // A of a fraction gamma of each minibatch
  bool is_persistent = false;   // chains go on from step to step
  bool jitters_target = false;  // the target is a draw around the data, of scale `noise`
  ScoreMatching matching = ScoreMatching::exact;
  bool is_head_loss =
      false;  // A - s + alpha (A - c)^2, with alpha = 0 unless is_penalised: what a GPU knows of classes
  int device_formula = -1;  // of candidates on a GPU: its number in gpu/module.h; -1: none

  std::function<std::unique_ptr<Objective>(const ObjectiveOptions&)> make = {};  // log_z
  std::function<std::unique_ptr<CandidateObjective>()> make_candidate = {};      // candidates

  bool is_offered_by(const std::string& family) const;
  bool reads(const std::string& family, const std::string& option) const;
};

const std::vector<ObjectiveEntry>& all_objectives();
// Throws Error for a name that is none of them.
const ObjectiveEntry& objective_entry(const std::string& name);
// Adds one, or replaces the one of its name: for programs with objectives of their own. Not while others
// train.
void register_objective(ObjectiveEntry entry);

// Of an objective that draws from a proposal, with the options it reads besides those of every such one: of
// classes, points and targets given x.
std::vector<ObjectiveOffer> noise_offers(std::vector<std::string> of_classes,
                                         std::vector<std::string> of_points,
                                         std::vector<std::string> of_targets);

// Those a family offers, in their order; and "name: text; name: text" for its help.
std::vector<std::string> objective_names(const std::string& family);
std::string objective_help(const std::string& family);
// Options of the table that objectives of the family read, but not the given one, belong to those.
void limit_to_objective(const std::string& family, const std::string& given, OptionTable& table);

// options.name must be one of the seam log_z; options are validated.
std::unique_ptr<Objective> make_objective(const ObjectiveOptions& options);
// Throws Error for a name that is none of the seam candidates.
std::unique_ptr<CandidateObjective> make_candidate_objective(const std::string& name);

std::vector<std::string> objective_names();            // of the seam log_z
std::vector<std::string> candidate_objective_names();  // of the seam candidates
bool is_candidate_objective(const std::string& name);
// Whether it is one that does not draw log Z to any constant; of names that are not known, no.
bool ignores_log_z(const std::string& name);

// The options of a table that shape the result, by name with underscores.
nlohmann::ordered_json option_record(const OptionTable& table);
// {"name": objective, and the options of the table that it reads in this family}
nlohmann::ordered_json objective_options(const std::string& family, const std::string& objective,
                                         const OptionTable& table);

}  // namespace selfnorm
