// V*/Var A of random multiclass models, eta ~ N(0, v), as the input distribution changes while the variance
// of the scores stays the same:
//   spectrum   x ~ N(0, diag(lambda)), lambda_j ~ j^-s, sum lambda = 1, by effective rank (sum lambda)^2 /
//   sum lambda^2 sparsity   x binary with density p, divided by the root of p (1 - p) (d - 1), without a
//   constant feature
// V* is the residual variance of A on (1, x) over n inputs (theory.md 1.5). Small is easy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/least_squares.h"
#include "data/toy/generate.h"
#include "experiments/papers/open_questions.h"
#include "math/parallel.h"
#include "math/random.h"
#include "normalizer/problem.h"

namespace selfnorm {
namespace {

constexpr uint64_t kEasyStream = 0x65617379;  // "easy"
constexpr uint32_t kEasyDimension = 40;
constexpr uint32_t kEasyClasses = 10;
constexpr double kScoreVariance = 4;

Features gaussian_inputs(uint64_t n, const std::vector<double>& spectrum, RandomStream random) {
  Features x;
  x.is_sparse = false;
  x.dense.rows = n;
  x.dense.columns = static_cast<uint32_t>(spectrum.size());
  for (uint64_t i = 0; i < n; ++i) {
    for (const double lambda : spectrum) {
      x.dense.values.push_back(static_cast<float>(std::sqrt(lambda) * random.normal()));
    }
  }
  return x;
}

Features binary_inputs(uint64_t n, double density, uint64_t seed) {
  Features x = generate({.rows = n,
                         .features = kEasyDimension,
                         .classes = 2,
                         .density = density,
                         .temperature = 0,
                         .seed = seed})
                   .data.features;
  // The generator's first feature is constant and says nothing of the inputs: it becomes 0.
  const double scale = 1 / std::sqrt(density * (1 - density) * (kEasyDimension - 1));
  std::vector<float>& values = x.sparse.value.own();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = x.sparse.column[i] == 0 ? 0 : static_cast<float>(static_cast<double>(values[i]) * scale);
  return x;
}

// V*/Var A for one random model.
double hardness(Features x, RandomStream random) {
  Dataset data;
  data.target.assign(x.rows(), 0);
  data.features = std::move(x);
  std::vector<double> theta((size_t{kEasyDimension} + 1) * kEasyClasses);
  for (size_t i = 0; i < size_t{kEasyDimension} * kEasyClasses; ++i)
    theta[i] = std::sqrt(kScoreVariance) * random.normal();
  const auto pass = make_exact_pass<double>(data, kEasyDimension, kEasyClasses, {});
  std::vector<double> log_z(data.examples());
  pass->summarise(theta, [&](uint64_t i, const OutputSummary& row) { log_z[i] = row.log_z; });
  LeastSquares regression(kEasyDimension);
  regression.add(data.features, log_z);
  const LinearFit fit = regression.fit();
  return fit.residual_variance / fit.variance;
}

struct Spread {
  double mean = 0, error = 0;  // standard error of the mean
};

template <class Inputs>
Spread over_models(uint64_t models, const ExperimentOptions& options, const Inputs& inputs) {
  std::vector<double> values;
  for (uint64_t m = 0; m < models; ++m) {
    values.push_back(hardness(inputs(options.seed + m), RandomStream(options.seed + m, kEasyStream)));
  }
  Spread out;
  for (const double v : values) out.mean += v / static_cast<double>(models);
  for (const double v : values) out.error += (v - out.mean) * (v - out.mean);
  out.error = std::sqrt(out.error / static_cast<double>(models * (models - 1)));
  return out;
}

using SpreadSweep = std::vector<std::pair<double, Spread>>;  // by rising parameter

bool above(const Spread& a, const Spread& b) { return a.mean > b.mean + 3 * std::hypot(a.error, b.error); }

// How V*/Var A moves over a sweep, in words; a difference counts from three standard errors on.
std::string tendency(const std::string& what, const SpreadSweep& sweep) {
  const auto top = std::max_element(
      sweep.begin(), sweep.end(), [](const auto& a, const auto& b) { return a.second.mean < b.second.mean; });
  const auto& [first_value, first] = sweep.front();
  const auto& [last_value, last] = sweep.back();
  const std::string ends =
      fmt::format("{:.2g} at {:.3g} and {:.2g} at {:.3g}", first.mean, first_value, last.mean, last_value);
  if (above(top->second, first) && above(top->second, last)) {
    return fmt::format("V*/Var A is largest in the middle of the range of {}, {:.2g} at {:.3g}, against {}",
                       what, top->second.mean, top->first, ends);
  }
  const char* verb = above(last, first)   ? "rises"
                     : above(first, last) ? "falls"
                                          : "does not change significantly";
  return fmt::format("V*/Var A {} with {}: {}", verb, what, ends);
}

}  // namespace

Answer easy_inputs(const ExperimentOptions& options, const std::function<void(double)>& progress) {
  const uint64_t rows = options.reduced() ? 500 : 4000, models = options.reduced() ? 4 : 20;
  const std::vector<double> decays = {5, 3, 2, 1.5, 1, 0.5, 0.25, 0};
  const std::vector<double> densities = {0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9};
  const ThreadLimit limit(options.threads);
  Answer out;
  out.question = "which inputs normalise easily";
  out.panel = {
      .title = fmt::format("(c) share of Var A that costs, d = {}, K = {}", kEasyDimension, kEasyClasses),
      .x = {.label = "effective rank of Gaussian x / d, or density of binary x", .low = 0, .high = 1},
      .y = {.label = "V* / Var A (no unit)", .low = 0, .high = 1},
      .series = {}};
  out.table = {.caption = fmt::format(
                   "(c) V*/Var A, mean over {} random models with the same variance of the scores.", models),
               .columns = {"inputs", "parameter", "value", "V*/Var A", "standard error"},
               .rows = {}};
  const double steps = static_cast<double>(decays.size() + densities.size());
  double done = 0;
  Series by_rank{.name = "Gaussian x, by effective rank / d", .x = {}, .y = {}, .colour = 0};
  Series by_density{.name = "binary x, by density", .x = {}, .y = {}, .colour = 1};
  SpreadSweep ranks, sparsities;
  for (const double decay : decays) {
    std::vector<double> spectrum;
    double sum = 0, squares = 0;
    for (uint32_t j = 1; j <= kEasyDimension; ++j)
      spectrum.push_back(std::pow(j, -decay)), sum += spectrum.back();
    for (double& lambda : spectrum) lambda /= sum, squares += lambda * lambda;
    const double rank = 1 / squares;
    const Spread spread = over_models(models, options, [&](uint64_t seed) {
      return gaussian_inputs(rows, spectrum, RandomStream(seed, kEasyStream + 1));
    });
    ranks.emplace_back(rank, spread);
    by_rank.x.push_back(rank / kEasyDimension);
    by_rank.y.push_back(spread.mean);
    by_rank.error.push_back(spread.error);
    out.rows.push_back({"gaussian, effective rank", rank, spread.mean, spread.mean - spread.error,
                        spread.mean + spread.error});
    out.table.add({"Gaussian", "effective rank", rank, spread.mean, spread.error});
    progress(++done / steps);
  }
  for (const double density : densities) {
    const Spread spread =
        over_models(models, options, [&](uint64_t seed) { return binary_inputs(rows, density, seed); });
    sparsities.emplace_back(density, spread);
    by_density.x.push_back(density);
    by_density.y.push_back(spread.mean);
    by_density.error.push_back(spread.error);
    out.rows.push_back(
        {"binary, density", density, spread.mean, spread.mean - spread.error, spread.mean + spread.error});
    out.table.add({"binary", "density", density, spread.mean, spread.error});
    progress(++done / steps);
  }
  out.panel.series = {std::move(by_rank), std::move(by_density)};
  out.facts = {{"hardness_lowest_rank", ranks.front().second.mean},
               {"hardness_full_rank", ranks.back().second.mean},
               {"hardness_sparsest", sparsities.front().second.mean},
               {"hardness_densest", sparsities.back().second.mean}};
  out.text = tendency("the effective rank of Gaussian inputs", ranks) + "; " +
             tendency("the density of binary inputs", sparsities) + ".";
  return out;
}

}  // namespace selfnorm
