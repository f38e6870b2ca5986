#include "experiments/density/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include "family/density/density_evaluation.h"
#include "family/density/train/density_options.h"
#include "family/density/train/density_trainer.h"
#include "math/parallel.h"
#include "normalizer/quadrature/quadrature.h"
#include "normalizer/sampling/importance_log_z.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kTestSeed = 1'000'000, kReferenceSeed = 2'000'000;  // apart from those of training
constexpr uint64_t kEffectiveDraws = 20'000;
constexpr uint64_t kBoxPoints = 5000;

Points points_of(const std::vector<float>& x, uint32_t dimension) {
  return {x.data(), x.size() / dimension, dimension};
}

std::vector<float> standardised(const Standardisation& s, const Points& x) {
  std::vector<float> u(x.data, x.data + x.size());
  if (!s.mean.empty()) s.apply(x, u);
  return u;
}

double log_volume(const Standardisation& s) { return s.mean.empty() ? 0 : s.log_volume(); }

// Draws of q = (truth + proposal) / 2, as many of each (Veach & Guibas 1995): weights are at most twice those
// of the better one.
LogZEstimate reference_log_z(const DensityModel& model, const Toy& toy, uint64_t draws, uint64_t seed) {
  const uint32_t d = toy.dimension();
  const uint64_t half = draws / 2;
  const std::vector<float> true_draws = sample_toy(toy, half, kReferenceSeed + seed);
  std::vector<float> u = standardised(model.standardisation, points_of(true_draws, d));
  u.resize(2 * half * d);
  sample_density(*model.proposal, kReferenceSeed + seed, std::span(u).subspan(half * d), {});
  std::vector<float> x = u;
  const Points all = points_of(u, d);
  if (!model.standardisation.mean.empty()) model.standardisation.undo(all, x);
  std::vector<double> truth(2 * half), proposal(2 * half), score(2 * half);
  toy_log_density(toy, points_of(x, d), truth);
  density_log_prob(*model.proposal, all, proposal);
  model.energy->score(all, score);
  WeightSum weights;
  for (size_t i = 0; i < score.size(); ++i) {
    LogSumExp q;
    q.add(truth[i] + log_volume(model.standardisation));
    q.add(proposal[i]);
    weights.add(score[i] - (q.value() - std::log(2.0)));
  }
  LogZEstimate out;
  out.method = "importance";
  out.value = weights.log_mean();
  out.low = out.value - weights.reach();
  out.high = out.value + weights.reach();
  out.effective = weights.effective();
  out.evaluations = 2 * half;
  return out;
}

std::vector<double> picture(const DensityModel& model, const std::string& toy, uint64_t seed) {
  const std::vector<double> box = toy_box(toy, seed);
  std::vector<float> x;
  for (size_t i = 0; i < kPictureSide; ++i) {
    for (size_t j = 0; j < kPictureSide; ++j) {
      const auto at = [](double low, double high, size_t k) {
        return static_cast<float>(low + (high - low) * (static_cast<double>(k) + 0.5) / kPictureSide);
      };
      x.push_back(at(box[0], box[1], j));
      x.push_back(at(box[2], box[3], i));
    }
  }
  std::vector<double> out = density_scores(model, points_of(x, 2));
  const double most = *std::max_element(out.begin(), out.end());
  for (double& v : out) v = std::round(1000 * std::exp(v - most)) / 1000;
  return out;
}

// Everything the numbers depend on.
std::string trial_key(const DensityTrial& trial) {
  return fmt::format(
      "{} {} rows {} test {} log Z {}{} {} {}", trial.toy, trial.dimension, trial.rows, trial.test_rows,
      trial.log_z == DensityTrial::LogZ::quadrature ? "quadrature"
                                                    : fmt::format("importance {}", trial.reference_draws),
      trial.has_picture ? " picture" : "", density_objective_json(trial.options),
      density_training_json(trial.options, "", trial.rows, {}));
}

CellValues run_trial(const DensityTrial& trial) {
  const ThreadLimit limit(trial.options.threads);
  const uint64_t seed = trial.options.seed;
  const std::unique_ptr<Toy> toy = make_toy(trial.toy, trial.dimension);
  const uint32_t d = toy->dimension();
  const auto data = make_point_source(d, sample_toy(*toy, trial.rows, seed));
  std::vector<uint64_t> rows(trial.rows);
  std::iota(rows.begin(), rows.end(), uint64_t{0});

  const double start = processor_seconds();
  TrainObserver observer;
  const DensityResult result = train_density(*data, rows, {}, trial.options, {}, observer);
  CellValues out;
  out.numbers["seconds"] = processor_seconds() - start;
  out.numbers["diverged"] = result.diverged ? 1 : 0;
  const DensityModel& model = result.model;
  for (const char* name : {"gap", "gap_error", "nll", "log_z", "log_z_low", "log_z_high", "learned", "stored",
                           "effective", "trusted"})
    out.numbers[name] = NAN;
  if (trial.has_picture) out.grid = picture(model, trial.toy, seed);

  LogZEstimate log_z;
  try {
    log_z = trial.log_z == DensityTrial::LogZ::quadrature
                ? quadrature_log_z(*model.energy)
                : reference_log_z(model, *toy, trial.reference_draws, seed);
    out.numbers["effective"] =
        importance_log_z(*model.energy, *model.proposal, kEffectiveDraws, kReferenceSeed + seed).effective /
        static_cast<double>(kEffectiveDraws);
  } catch (const Error&) {
    return out;  // a model that has no log Z has no gap
  }
  const std::vector<float> test = sample_toy(*toy, trial.test_rows, kTestSeed + seed);
  std::vector<double> truth(trial.test_rows);
  toy_log_density(*toy, points_of(test, d), truth);
  const std::vector<double> score = density_scores(model, points_of(test, d));
  double sum = 0, square = 0, nll = 0;
  for (size_t i = 0; i < score.size(); ++i) {
    const double log_p = score[i] + model.log_normalizer - log_z.value;
    const double gap = truth[i] - log_p;
    sum += gap;
    square += gap * gap;
    nll -= log_p;
  }
  const double n = static_cast<double>(score.size()), mean = sum / n;
  out.numbers["gap"] = mean;
  out.numbers["gap_error"] = std::sqrt(std::max(0.0, square / n - mean * mean) / n);
  out.numbers["nll"] = nll / n;
  out.numbers["log_z"] = log_z.value;
  out.numbers["log_z_low"] = log_z.low;
  out.numbers["log_z_high"] = log_z.high;
  const std::string& objective = trial.options.objective;
  if (objective == "snl" || objective == "nce")
    out.numbers["learned"] = result.learned_normalizer - log_z.value;
  out.numbers["stored"] = model.log_normalizer - log_z.value;
  if (log_z.method == "importance") out.numbers["trusted"] = log_z.effective;
  return out;
}

}  // namespace

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<double> toy_box(const std::string& toy, uint64_t seed) {
  const std::vector<float> x = sample_toy(*make_toy(toy), kBoxPoints, seed);
  std::vector<double> box = {INFINITY, -INFINITY, INFINITY, -INFINITY};
  for (size_t i = 0; i < x.size(); ++i) {
    double* side = box.data() + 2 * (i % 2);
    side[0] = std::min<double>(side[0], x[i]);
    side[1] = std::max<double>(side[1], x[i]);
  }
  return box;
}

CellValues trial_cell(Trials& trials, const DensityTrial& trial, double work) {
  return trials.get(trial_key(trial), work, [&] { return run_trial(trial); });
}

std::vector<CellValues> over_seeds(Trials& trials, DensityTrial trial, double work, size_t seeds) {
  const bool has_picture = trial.has_picture;
  std::vector<CellValues> out;
  for (size_t i = 0; i < seeds; ++i) {
    trial.has_picture = has_picture && i == 0;
    trial.options.seed = trials.seed(i);
    trial.options.threads = trials.threads();
    out.push_back(trial_cell(trials, trial, work));
  }
  return out;
}

}  // namespace selfnorm
