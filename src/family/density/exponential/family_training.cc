#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "family/density/exponential/family_estimate.h"
#include "family/density/train/density_options.h"
#include "family/density/train/density_problem.h"
#include "family/density/train/density_trainer.h"
#include "math/kernels.h"
#include "model/energy/make_energy.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

FamilyData look_at(const DensityProblem& problem, const ExponentialFamily& family,
                   std::span<const uint64_t> rows) {
  FamilyMean mean(family);
  FamilyData out;
  if (family.support().is_real()) out.axes = family_axes(family.support(), family.dimension());
  problem.for_blocks(rows, [&](const Points& x, std::span<const uint64_t> numbers) {
    mean.add(x, numbers);
    for (uint64_t i = 0; i < x.rows; ++i)
      for (size_t j = 0; j < out.axes.size(); ++j) out.axes[j].add(x.row(i)[j]);
  });
  out.means = mean.means();
  return out;
}

// The mean of -log p over the rows in the units of the data; nothing when one of them is outside the support.
std::optional<double> negative_log_likelihood(const DensityProblem& problem, std::span<const uint64_t> rows,
                                              double b) {
  if (rows.empty()) return std::nullopt;
  double sum = 0;
  std::vector<double> score;
  problem.for_blocks(rows, [&](const Points& x, std::span<const uint64_t>) {
    score.resize(x.rows);
    problem.energy().score(x, score);
    for (const double s : score) sum += s;
  });
  const double nll = b - sum / static_cast<double>(rows.size()) + problem.standardisation().log_volume();
  return std::isfinite(nll) ? std::optional(nll) : std::nullopt;
}

}  // namespace

bool fits_family(const DensityOptions& options, uint32_t dimension) {
  if (options.objective != "snl" || options.normalizer != "constant" || options.optimiser == "adam" ||
      options.learn_proposal != "none" || options.base == "proposal" || options.weight_decay > 0)
    return false;
  return is_exponential_family(options.energy) &&
         has_family_estimate({options.energy, dimension, options.lower, options.upper});
}

void refuse_steps_of_fit(DensityOptions options, uint32_t dimension) {
  if (!fits_family(options, dimension)) return;
  OptionTable table = density_option_table(options);
  for (const char* name : {"steps", "batch", "learning-rate", "schedule", "clip", "patience", "samples",
                           "normalizer-rate", "normalizer-steps", "drift", "calibrate"})
    table.find(name)->only(
        false, option_text("optimiser", "adam"),
        fmt::format("{}, by which {} is fitted at once", option_text("optimiser", options.optimiser),
                    option_text("energy", options.energy)));
  DensityOptions initial;
  table.refuse_idle(density_option_table(initial));
}

std::optional<DensityResult> train_family(const PointSource& data, std::span<const uint64_t> train_rows,
                                          std::span<const uint64_t> valid_rows, const DensityOptions& options,
                                          TrainObserver& observer) {
  SELFNORM_CHECK(fits_family(options, data.columns()));
  const auto start = std::chrono::steady_clock::now();
  DensityProblem problem(data, train_rows, valid_rows, options);
  auto& family = dynamic_cast<ExponentialFamily&>(problem.energy());
  const FamilyData seen = look_at(problem, family, train_rows);
  const FamilyEstimate estimate =
      family_estimate({options.energy, data.columns(), options.lower, options.upper}, seen);
  if (!estimate.problem.empty()) observer.on_warning(estimate.problem);
  if (!estimate.is_exact) return std::nullopt;
  family.set_eta(estimate.eta);

  DensityResult out;
  const std::vector<double> eta = family.eta();
  const double nll = estimate.b - dot(eta.data(), seen.means.t.data(), eta.size()) - seen.means.log_carrier;
  out.last.step = out.last.steps = std::max<uint64_t>(1, estimate.iterations);
  out.last.loss = nll;
  out.last.gradient_norm = estimate.gradient_size;
  out.last.log_normalizer = estimate.b;
  out.last.nll_estimate = nll + problem.standardisation().log_volume();
  out.last.valid_nll_estimate = negative_log_likelihood(problem, valid_rows, estimate.b);
  out.last.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  observer.on_progress(out.last);
  out.reason = estimate.reason;
  out.learned_normalizer = estimate.b;
  out.optimiser = estimate.is_closed_form ? "" : "newton";

  DensityOptions used = problem.options();
  used.optimiser = out.optimiser.empty() ? "closed-form" : out.optimiser;
  out.model = problem.release();
  out.model.log_normalizer = estimate.b;
  out.model.normalizer_kind = "learned";
  record_training(used, out.reason, train_rows.size(), out.last, out.model);
  return out;
}

}  // namespace selfnorm
