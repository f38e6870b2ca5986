// Ising models with known couplings: s = sum_j h_j s_j + sum_{i<j} J_ij s_i s_j over spins s = +-1.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "engine/engine.h"
#include "engine/lbfgs_problem.h"
#include "experiments/density/trial.h"
#include "experiments/summary.h"
#include "family/density/train/density_options.h"
#include "family/density/train/density_trainer.h"
#include "math/parallel.h"
#include "model/energy/exponential_family.h"
#include "normalizer/point_enumeration.h"

namespace selfnorm {
namespace {

const std::vector<uint32_t> kSpins = {10, 16};
const std::vector<std::string> kIsingObjectives = {"snl", "nce", "pseudo-likelihood", "pcd"};
constexpr const char* kExact = "maximum likelihood by enumeration";
constexpr size_t kIsingSeeds = 4;

DensityOptions ising_settings(const ExperimentOptions& options) {
  DensityOptions out;
  out.energy = "ising";
  out.proposal = "bernoulli";
  out.patience = 0;
  out.optimiser = "adam";  // snl from samples, as the others
  out.steps = options.reduced() ? 300 : 3000;
  out.batch = 512;
  out.samples = options.reduced() ? 256 : 2048;
  out.learning_rate = 0.2;
  out.normalizer_rate = 1;
  out.langevin_steps = 1;  // sweeps of Gibbs
  return out;
}

ExponentialFamily ising_family(uint32_t spins) {
  return ExponentialFamily({.word = "ising", .dimension = spins, .lower = {}, .upper = {}});
}

std::vector<double> true_eta(uint32_t spins, uint64_t seed) {
  const IsingParameters parameters = ising_parameters(spins, seed);
  std::vector<double> eta = parameters.bias;
  eta.insert(eta.end(), parameters.coupling.begin(), parameters.coupling.end());
  return eta;
}

// eta_xx = 4 J, eta_x = 2 h - 2 sum_j J_ij: (h, J).
std::vector<double> spin_parameters(std::vector<double> eta, uint32_t spins) {
  for (uint32_t i = 0; i < spins; ++i) eta[i] /= 2;
  size_t pair = spins;
  for (uint32_t i = 0; i < spins; ++i) {
    for (uint32_t j = i + 1; j < spins; ++j, ++pair) {
      eta[pair] /= 4;
      eta[i] += eta[pair];
      eta[j] += eta[pair];
    }
  }
  return eta;
}

double rms(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

std::vector<double> mean_statistics(const ExponentialFamily& family) {
  return enumerate_mean(family, family.count(),
                        [&](std::span<const float> x, std::span<double> t) { family.statistics(x, t); });
}

// KL(true || model) = (eta_true - eta) . E_true T - log Z_true + log Z, and the errors of the parameters.
CellValues errors_of(const std::vector<double>& eta, const std::vector<double>& truth, uint32_t spins) {
  ExponentialFamily family = ising_family(spins);
  family.set_eta(truth);
  const double true_log_z = enumerate_log_z(family).value;
  const std::vector<double> mean = mean_statistics(family);
  family.set_eta(eta);
  const double log_z = enumerate_log_z(family).value;
  CellValues out;
  double kl = log_z - true_log_z;
  for (size_t k = 0; k < eta.size(); ++k) kl += (truth[k] - eta[k]) * mean[k];
  const std::vector<double> found = spin_parameters(eta, spins), wanted = spin_parameters(truth, spins);
  out.numbers = {{"field_rms", rms(std::span(found).first(spins), std::span(wanted).first(spins))},
                 {"coupling_rms", rms(std::span(found).subspan(spins), std::span(wanted).subspan(spins))},
                 {"kl", kl},
                 {"model_log_z", log_z},
                 {"log_z_error", log_z - true_log_z},
                 {"learned", NAN},
                 {"stored", NAN}};
  return out;
}

// min over eta of log Z(eta) - eta . mean T of the data.
std::vector<double> maximum_likelihood(const std::vector<float>& data, uint32_t spins) {
  ExponentialFamily family = ising_family(spins);
  const uint64_t rows = data.size() / spins;
  std::vector<double> observed(family.count()), t(family.count());
  for (uint64_t i = 0; i < rows; ++i) {
    family.statistics({data.data() + i * spins, spins}, t);
    for (size_t k = 0; k < t.size(); ++k) observed[k] += t[k] / static_cast<double>(rows);
  }
  Minimisation<double> search({.tolerance = 1e-5}, std::vector<double>(family.count(), 0.0),
                              [&](std::span<const double> eta, std::span<double> gradient) {
                                family.set_eta(eta);
                                double value = enumerate_log_z(family).value;
                                const std::vector<double> mean = mean_statistics(family);
                                for (size_t k = 0; k < eta.size(); ++k) {
                                  value -= eta[k] * observed[k];
                                  gradient[k] = mean[k] - observed[k];
                                }
                                return value;
                              });
  run(search);
  return search.point();
}

CellValues run_ising(const std::string& objective, uint32_t spins, uint64_t rows, DensityOptions options) {
  const ThreadLimit limit(options.threads);
  const std::vector<double> truth = true_eta(spins, options.seed);
  const auto toy = make_toy(fmt::format("ising:{}", options.seed), spins);
  std::vector<float> points = sample_toy(*toy, rows, options.seed);
  const double start = processor_seconds();
  if (objective == kExact) {
    const std::vector<double> eta = maximum_likelihood(points, spins);
    const double spent = processor_seconds() - start;
    CellValues out = errors_of(eta, truth, spins);
    out.numbers["seconds"] = spent;
    return out;
  }
  const auto data = make_point_source(spins, std::move(points));
  std::vector<uint64_t> all(rows);
  std::iota(all.begin(), all.end(), uint64_t{0});
  options.objective = objective;
  options.optimiser = "adam";  // snl too: by samples, as the others; the exact optimum has its own row
  TrainObserver observer;
  const DensityResult result = train_density(*data, all, {}, options, {}, observer);
  const double spent = processor_seconds() - start;
  const std::span<const float> theta = std::as_const(*result.model.energy).parameters();
  CellValues out = errors_of(std::vector<double>(theta.begin(), theta.end()), truth, spins);
  const double log_z = out.at("model_log_z");
  if (objective == "snl" || objective == "nce") out.numbers["learned"] = result.learned_normalizer - log_z;
  out.numbers["stored"] = result.model.log_normalizer - log_z;
  out.numbers["seconds"] = spent;
  return out;
}

}  // namespace

Record run_density_ising(const ExperimentOptions& options) {
  const DensityOptions common = ising_settings(options);
  const uint64_t rows = options.reduced() ? 1000 : 5000;
  const size_t seeds = options.reduced() ? 1 : kIsingSeeds;
  const std::vector<uint32_t> sizes = options.reduced() ? std::vector<uint32_t>{6} : kSpins;
  std::vector<std::string> methods = {kExact};
  methods.insert(methods.end(), kIsingObjectives.begin(), kIsingObjectives.end());
  Trials trials(options, static_cast<double>(sizes.size() * methods.size() * seeds));
  Record out;
  out.name = "density-ising";
  out.title = "binary vectors with known couplings";
  out.data.columns = {"spins", "method",      "seed",    "coupling_rms", "field_rms",
                      "kl",    "log_z_error", "learned", "stored",       "seconds"};
  Panel panel{.title = "Couplings",
              .x = {.label = "method", .ticks = methods},
              .y = {.label = "rms error of the couplings", .logarithmic = true},
              .series = {}};
  panel.x.ticks[0] = "max. likelihood";
  Panel other = panel;
  other.title = "Distribution";
  other.y.label = "KL(true || model) (nats)";
  for (size_t s = 0; s < sizes.size(); ++s) {
    const uint32_t spins = sizes[s];
    const double floor = 0.5 * spins * (spins + 1) / (2 * static_cast<double>(rows));
    Table table{.caption = fmt::format("{} spins, {} rows; log Z by enumeration of {} points. The expected "
                                       "KL of maximum likelihood is about parameters / (2 rows) = {:.4f}.",
                                       spins, rows, uint64_t{1} << spins, floor),
                .columns = {"method", "rms of couplings J", "rms of fields h", "KL(true || model)",
                            "log Z of the model - true log Z", "b - log Z as learned", "b - log Z as stored",
                            "seconds"},
                .rows = {}};
    Series couplings{.name = fmt::format("{} spins", spins),
                     .x = {},
                     .y = {},
                     .stroke = Stroke::marks,
                     .colour = static_cast<uint32_t>(s)};
    Series divergences = couplings;
    std::string best;
    double least = INFINITY, exact_kl = 0, snl_kl = 0;
    for (size_t m = 0; m < methods.size(); ++m) {
      std::vector<CellValues> cells;
      for (size_t i = 0; i < seeds; ++i) {
        DensityOptions chosen = common;
        chosen.objective = m == 0 ? "snl" : methods[m];
        chosen.seed = trials.seed(i);
        chosen.threads = options.threads;
        const std::string key =
            m == 0 ? fmt::format("{} spins {} rows {} seed {}", kExact, spins, rows, chosen.seed)
                   : fmt::format("ising {} rows {} {} {}", spins, rows, density_objective_json(chosen),
                                 density_training_json(chosen, "", rows, {}));
        cells.push_back(trials.get(key, 1, [&] { return run_ising(methods[m], spins, rows, chosen); }));
        std::vector<Cell> row = {static_cast<double>(spins), methods[m], static_cast<double>(chosen.seed)};
        for (size_t c = row.size(); c < out.data.columns.size(); ++c)
          row.emplace_back(cells.back().at(out.data.columns[c]));
        out.data.add(std::move(row));
      }
      const MeanError coupling = mean_of(cells, "coupling_rms"), kl = mean_of(cells, "kl");
      const auto of_b = [&](const char* name, bool has) { return has ? written(mean_of(cells, name)) : "-"; };
      const bool learns = methods[m] == "snl" || methods[m] == "nce";
      table.add({methods[m], written(coupling), written(mean_of(cells, "field_rms")), written(kl),
                 written(mean_of(cells, "log_z_error")), of_b("learned", learns), of_b("stored", m > 0),
                 mean_of(cells, "seconds").mean});
      for (auto& [series, value] : {std::pair{&couplings, coupling}, {&divergences, kl}}) {
        series->x.push_back(static_cast<double>(m + 1));
        series->y.push_back(value.mean > 0 ? value.mean : NAN);
        series->error.push_back(value.error);
      }
      if (m == 0) exact_kl = kl.mean;
      if (methods[m] == "snl") {
        snl_kl = kl.mean;
        const MeanError b = mean_of(cells, "learned");
        out.facts.emplace_back(fmt::format("snl_b_error_{}", spins), b.mean);
        out.facts.emplace_back(fmt::format("snl_coupling_rms_{}", spins), coupling.mean);
      }
      if (m > 0 && kl.mean < least) {
        least = kl.mean;
        best = methods[m];
      }
    }
    out.facts.emplace_back(fmt::format("exact_kl_{}", spins), exact_kl);
    out.facts.emplace_back(fmt::format("snl_kl_{}", spins), snl_kl);
    out.measured += fmt::format(
        "{}With {} spins KL(true || model) is {:.4f} for exact maximum likelihood and {:.4f} for snl; of "
        "those that do not enumerate the least is that of {} ({:.4f}).",
        s > 0 ? " " : "", spins, exact_kl, snl_kl, best, least);
    panel.series.push_back(std::move(couplings));
    other.series.push_back(std::move(divergences));
    out.tables.push_back(std::move(table));
  }
  out.figure = {.title = "Ising models with known couplings", .panels = {panel, other}};
  out.looks = {
      "Lower is better: the nearer a method is to exact maximum likelihood, which none can beat but by "
      "chance, the better; log Z is by enumeration."};
  out.paper =
      "Ising models with known couplings, up to 20 spins by enumeration: parameter error and log Z error of "
      "snl, nce, pseudo-likelihood and pcd.";
  out.differences =
      "Fields N(0, 0.3^2) and couplings N(0, 1 / spins), other ones for every seed; errors are of spins +-1. "
      "The proposal is a product of Bernoullis; pcd moves by one sweep of Gibbs a step. Exact maximum "
      "likelihood, by enumeration and L-BFGS, is what none of them can beat but by chance (`selfnorm train "
      "density --energy ising` finds it by itself: snl over all points). Learning rate and number of samples "
      "were chosen for snl on the first seed, the others have the same. Seconds are of processor time.";
  out.settings = {{"rows", std::to_string(rows)},
                  {"steps", std::to_string(common.steps)},
                  {"rows per step", std::to_string(common.batch)},
                  {"samples per step", std::to_string(common.samples)},
                  {"learning rate", fmt::format("{}, {}", common.learning_rate, common.schedule)},
                  {"seeds", fmt::format("{} from {}", seeds, trials.seed(0))}};
  return out;
}

}  // namespace selfnorm
