#include "experiments/density/toy_entries.h"

#include <fmt/format.h>

namespace selfnorm {

ToySettings toy_settings(Extent extent) {
  ToySettings out;
  DensityOptions& o = out.common;
  o.energy = "mlp:128,128";
  o.fourier = "64";
  o.steps = 2000;
  o.batch = 512;
  o.samples = 512;
  o.patience = 0;  // all steps of every objective
  o.learning_rate = 2e-3;
  o.langevin_steps = 10;
  if (extent == Extent::full) return out;
  out.rows = out.test_rows = 500;
  out.seeds = 2;
  out.other_seeds = 1;
  o.energy = "mlp:16,16";
  o.fourier = "8";
  o.steps = 50;
  o.batch = o.samples = 64;
  o.normalizer_steps = 10;
  o.langevin_steps = 2;
  return out;
}

std::vector<ToyEntry> toy_entries(const ToySettings& settings) {
  const auto with = [&](const std::string& objective, const std::string& proposal) {
    DensityOptions out = settings.common;
    out.objective = objective;
    out.proposal = proposal;
    if (proposal == "gaussian") out.fit.scale = 2;
    if (objective == "cd" || objective == "pcd")
      out.learning_rate /= 10;  // with that of the others they diverge
    return out;
  };
  const size_t seeds = settings.seeds, others = settings.other_seeds;
  std::vector<ToyEntry> out;
  for (const char* objective : {"snl", "is", "nce", "ranking-nce"})
    out.push_back({objective, kToyMixture, with(objective, kToyMixture), seeds, 1});
  out.push_back({"fit", kToyMixture, with("fit", kToyMixture), seeds, 0.02});
  for (const char* objective : {"snl", "is", "nce", "ranking-nce"})
    out.push_back({objective, kToyWide, with(objective, "gaussian"), others, 1});
  DensityOptions more = with("snl", "gaussian"), learned = more, defensive = with("snl", "mixture:8");
  more.samples *= 8;
  learned.learn_proposal = "both";
  defensive.fit.defensive = 0.2;
  out.push_back({"snl", fmt::format("{}, 8 x the samples", kToyWide), more, others, 4.5});
  out.push_back({"snl", fmt::format("{}, learned", kToyWide), learned, others, 1.2});
  out.push_back({"snl", "mixture:8, a fifth of it twice as wide as the data", defensive, others, 1});
  for (const auto& [objective, work] :
       {std::pair{"cd", 6.0}, {"pcd", 6.0}, {"dsm", 2.0}, {"ssm", 3.0}, {"sm", 6.0}})
    out.push_back({objective, kToyBase, with(objective, kToyMixture), others, work});
  return out;
}

bool is_repair(const ToyEntry& entry) {
  return entry.objective == "snl" && entry.proposal != kToyMixture && entry.proposal != kToyWide;
}

}  // namespace selfnorm
