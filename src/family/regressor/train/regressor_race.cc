#include "family/regressor/train/regressor_race.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/checkpoint.h"

namespace selfnorm {
namespace {

constexpr double kHeatEpochs = 0.5;  // of those of a member

}  // namespace

RegressorRace::RegressorRace(const RegressorOptions& given, uint64_t rows, uint64_t held_out)
    : given_(resolved_by_rows(given, rows)) {
  given_.learning_rate = given.learning_rate;  // of the widths that are tried
  const bool has_few = held_out < kLeastHeldOut;
  if (!given.module.empty() || rows < kLeastRows) return;
  folds_ = has_few ? kRaceFolds : 1;
  const bool races_noise = !given.input_noise,
             races_features = given.features == std::vector<uint32_t>{0} && !has_few;
  if (!races_noise && !races_features) return;
  const auto add = [this](Kind kind) { runs_.push_back({kind, std::vector<double>(folds_)}); };
  add(Kind::first);
  if (races_noise) add(Kind::noiseless);
  if (races_features) add(Kind::wider);
}

RegressorRace::Choice RegressorRace::tried(uint64_t r) const {
  const Run& run = runs_[r];
  Choice out = run.kind == Kind::wider ? best(r) : Choice{*given_.input_noise, given_.features, 0};
  if (run.kind == Kind::noiseless) out.noise = 0;
  if (run.kind == Kind::wider)
    for (uint32_t& width : out.features) width *= 2;
  out.nll = std::accumulate(run.nll.begin(), run.nll.end(), 0.0) / static_cast<double>(folds_);
  return out;
}

RegressorRace::Choice RegressorRace::best(uint64_t r) const {
  Choice out = tried(0);
  for (uint64_t j = 1; j < r; ++j) {
    const Choice other = tried(j);
    if (other.nll < out.nll - (runs_[j].kind == Kind::wider ? kWiderGain : 0)) out = other;
  }
  return out;
}

RegressorOptions RegressorRace::heat(uint64_t i) const {
  const Choice choice = tried(i / folds_);
  RegressorOptions out = given_;
  out.objective = "mdn";
  out.base = "proposal";
  out.own_features = false;
  out.input_noise = choice.noise;
  out.features = choice.features;
  out.epochs = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(kHeatEpochs * static_cast<double>(given_.epochs))));
  return out;
}

RegressorOptions RegressorRace::outcome() const {
  RegressorOptions out = given_;
  if (runs_.empty()) return out;
  const Choice choice = best(runs_.size());
  out.input_noise = choice.noise;
  out.features = choice.features;
  return out;
}

void RegressorRace::state(CheckpointFields& fields, uint64_t finished) {
  for (uint64_t i = 0; i < std::min(finished, heats()); ++i)
    fields(fmt::format("race.{}", i), runs_[i / folds_].nll[i % folds_]);
}

nlohmann::ordered_json RegressorRace::record() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (uint64_t r = 0; r < runs_.size(); ++r) {
    const Choice run = tried(r);
    nlohmann::ordered_json nll = run.nll;
    if (!std::isfinite(run.nll)) nll = nullptr;
    out.push_back({{"input_noise", run.noise}, {"features", run.features}, {"valid_nll", std::move(nll)}});
  }
  return out;
}

std::string RegressorRace::text() const {
  std::vector<std::string> others;
  for (uint64_t r = 0; r < runs_.size(); ++r) {
    const Choice run = tried(r);
    others.push_back(
        fmt::format("noise {} features {}: {:.4f}", run.noise, fmt::join(run.features, ","), run.nll));
  }
  const Choice choice = best(runs_.size());
  return fmt::format("chosen on {}: input noise {}, features {} (NLL of mixtures: {})",
                     folds_ > 1 ? fmt::format("{} folds of the training rows", folds_) : "held-out rows",
                     choice.noise, fmt::join(choice.features, ","), fmt::join(others, "; "));
}

}  // namespace selfnorm
