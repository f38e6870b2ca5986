// Which log-probabilities `score` gives of a model of classes: by default those of the cheapest rung of its
// ladder that is certified to be precise enough, else exact ones; and what is said of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "classifier/model_header.h"
#include "classifier/runtime_model.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

struct ServedKind {
  int kind = SELFNORM_EXACT;  // for the C interface
  std::string name;           // raw, amortised, linear, network, nearest, exact
  std::string rung;           // its name; empty: the kind says it
  double eps = 0, rho = 0;    // certified; an infinite eps: nothing is
  bool is_asked_for = false;  // by an option, rather than chosen

  bool has_certificate() const;
  // "nearest: nearest-0.05, certified within 0.083 for 99% of inputs"
  std::string text() const;
  // {"kind", "rung", "eps", "rho"}; the last three where there are any.
  nlohmann::ordered_json json() const;
};

// By --raw, --amortised, --exact, --rung or --within. Throws Error for more than one of the first four, and
// for what the model does not have.
ServedKind served_kind(const ScoreArguments& given, const LadderArguments& precision,
                       const RuntimeModel& model);
// By the precision alone.
ServedKind served_kind(const LadderArguments& precision, const RuntimeModel& model);

// One line on stderr when scores that were asked for are no log-probabilities as far as the model knows.
void warn_about_scores(const ServedKind& served, const ModelHeader& header);

}  // namespace selfnorm::cli
