#include "family/classifier/normalize/normalization.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"
#include "normalizer/class_moments.h"
#include "normalizer/output_stream.h"

namespace selfnorm {
namespace {

constexpr uint64_t kComparedStates = 1000;

const ExampleSource& at_least_two(const ExampleSource& states, const ModelFile& model) {
  if (states.examples() < 2)
    throw_error("found {} rows to normalise on; expected at least 2, and better 10 for each of {} features",
                states.examples(), model.features);
  return states;
}

}  // namespace

double LosslessStep::r_squared_held_out() const {
  const double before = log_z_before.std * log_z_before.std;
  return before > 0 ? 1 - log_z_after.std * log_z_after.std / before : 1;
}

Normalization::Normalization(const ModelFile& given, const ExampleSource& states,
                             NormalizationOptions options)
    : given_(given),
      options_(std::move(options)),
      split_(random_split(at_least_two(states, given).examples(), options_.hold_out, options_.seed)),
      kept_(states, split_.first),
      held_out_(states, split_.second),
      model_(given) {
  report_.states = kept_.examples();
  report_.held_out = held_out_.examples();
  report_.features = given.features;
  report_.is_stored_in_float32 = options_.is_stored_in_float32;
  model_.normalizer = {};
  model_.ladder = {};
  remove_what_is_free();
}

// The same distribution with the smallest variance of log Z that costs nothing.
void Normalization::remove_what_is_free() {
  GaugeRegression regression(kept_, model_.features);
  OutputStream(given_, kept_)
      .run(
          [&](const OutputBlock& block) {
            std::vector<double> log_z;
            for (const OutputRow& row : block.rows) log_z.push_back(row.moments.log_z());
            regression.add(block.data, log_z);
          },
          progress("log-normalizers"));
  report_.gauge = regression.fit_for_prediction();
  report_.plain = regression.fit();
  apply_gauge(report_.gauge, model_);
  round();
  report_.before = audited(given_);
  report_.lossless = audited(model_);
  report_.log_z_before = report_.before.log_z;
  report_.log_z_after = report_.lossless.log_z;
  const Dataset rows = compared();
  report_.compared = rows.examples();
  const HeadDifference difference = model_difference(given_, model_, rows);
  report_.probability = difference.probability;
  report_.log_probability = difference.log_probability;
}

void Normalization::retrain(const RetrainOptions& options) {
  // The states that choose alpha are part of those the head is fitted to, and none of the held-out ones.
  const auto [fitted, choosing] = random_split(kept_.examples(), options_.hold_out, options_.seed + 1);
  RetrainResult result = selfnorm::retrain(given_, model_, ExampleSubset(kept_, fitted),
                                           ExampleSubset(kept_, choosing), options);
  model_ = std::move(result.model);
  result.model = {};
  round();
  // What the head lost as it is stored, on states that chose nothing.
  report_.retrained_kl =
      model_difference(given_, model_, compared()).kl / static_cast<double>(report_.compared);
  report_.retraining = std::move(result);
  report_.retrained = audited(model_);
  const double rms = report_.retrained->log_z.rms;
  // Retraining ends just below delta, and the rms of n normal numbers has a relative standard error of
  // 1 / sqrt(2 n).
  const double chance = 3 / std::sqrt(2.0 * static_cast<double>(held_out_.examples()));
  if (options.delta && report_.retraining->reached && rms > *options.delta * (1 + chance))
    report_.retraining_doubt = worded(
        "rms log Z of the {} held-out states is {:.4g}, above the delta of {:g} that it has on the {} states "
        "that choose; more `states` than the {} that the head was fitted to help, 10 or more for each of the "
        "{} features",
        held_out_.examples(), rms, *options.delta, choosing.size(), fitted.size(), report_.features);
}

void Normalization::amortise(const AmortiseOptions& options) {
  std::vector<double> log_z = log_normalizers(model_, kept_, progress("log-normalizers to amortise"));
  for (double& a : log_z) a -= model_.log_normalizer;
  report_.amortisation = fit_amortised(kept_, log_z, options);
  const AmortisedFit& fit = *report_.amortisation;
  std::string& doubt = report_.amortisation_doubt;
  // The held-out states are those of the certificate, and choose nothing.
  if (!(fit.rms_held_out < fit.rms_constant)) {
    doubt = worded(
        "b(h) is left out: on states held out from the fit rms log Z is {:.4g} with it and {:.4g} with a "
        "constant alone; give more `states`, which the model was not trained on",
        fit.rms_held_out, fit.rms_constant);
    return;
  }
  model_.normalizer = fit.normalizer;
  report_.amortised = audited(model_);
  if (options.kind == "mlp" && model_.normalizer.hidden() == 0)
    doubt = worded(
        "b(h) is linear: on states held out from the fit no epoch of the network of {} hidden units was "
        "better ({}); give more `states`, or fewer `hidden`",
        options.network.hidden, report_.amortisation->reason);
}

void Normalization::fit_ladder(const LadderOptions& options) {
  LadderFit fit = selfnorm::fit_ladder(model_, kept_, held_out_, options);
  model_.ladder = std::move(fit.ladder);
  fit.ladder = {};
  report_.ladder = std::move(fit);
}

// Of the held-out states, which have no part in anything that is chosen.
Audit Normalization::audited(const ModelFile& model) const {
  AuditOptions options = options_.audit;
  options.amortised = model.normalizer.exists();
  return audit(model, held_out_, options);
}

Dataset Normalization::compared() const {
  return held_out_.block(0, std::min(kComparedStates, held_out_.examples()));
}

void Normalization::round() {
  if (options_.round) options_.round(model_);
}

std::function<void(uint64_t)> Normalization::progress(const std::string& what) const {
  if (!options_.on_progress) return {};
  return [this, what](uint64_t done) { options_.on_progress(what, done, kept_.examples()); };
}

}  // namespace selfnorm
