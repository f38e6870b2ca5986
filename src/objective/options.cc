#include "objective/options.h"

#include <algorithm>

#include "base/range.h"
#include "objective/registry.h"
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
  table.add("samples", &o.samples, "Noise classes of a draw").in(1, kMostSamples);
  table
      .add("noise", &o.noise,
           "What noise classes are drawn from; unigram: (count + 1)^beta; log-uniform: by the rank of the "
           "count; "
           "in-batch: the other targets of the minibatch")
      .one_of(noise_names());
  table.add("noise-power", &o.noise_power, "beta of the noise unigram").in(0, 1);
  table.add("noise-sharing", &o.noise_sharing, "One draw for all examples of a minibatch, or one for each")
      .one_of({"batch", "example"});
  table
      .add("normalizer", &o.normalizer,
           "b, which log Z is drawn to: zero, or learned and stored: a constant, or a linear function or a "
           "small "
           "network of the state")
      .one_of({"zero", "constant", "linear", "mlp"});
  table.add("normalizer-hidden", &o.normalizer_hidden, "Hidden units of the normalizer mlp")
      .in(1, kMostHidden);
  return table;
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

}  // namespace selfnorm
