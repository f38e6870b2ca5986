#include "family/density/normalizer_estimates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "family/density/density_doubt.h"
#include "family/density/density_points.h"
#include "normalizer/sampling/annealed_log_z.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kLeastDraws = 1000, kMostDraws = 20'000;
constexpr double kAnnealedEffective = 20;
constexpr AnnealedOptions kAnnealing{.chains = 128, .temperatures = 100, .pilot_chains = 16};
const std::vector<std::string> kMethods{"computed", "importance sampling", "annealing"};

double place_of(const std::string& method) {
  return method == "importance" ? 2 : method == "annealed" ? 3 : 1;
}

// A transition of HMC has leapfrog steps, half of the most on average, whose gradients are worth three
// evaluations each; a sweep of Gibbs visits every level.
double annealing_evaluations(const Support& support) {
  const double transition = support.is_real()
                                ? 1.5 * static_cast<double>(kAnnealing.leapfrog)
                                : std::accumulate(support.levels.begin(), support.levels.end(), 0.0);
  return static_cast<double>((2 * kAnnealing.chains + kAnnealing.pilot_chains) * kAnnealing.temperatures) *
         transition;
}

class Estimates {
 public:
  void add(const LogZEstimate& z, bool is_trusted) {
    Series& series = is_trusted ? trusted_ : doubtful_;
    const double error = std::max({0.0, z.high - z.value, z.value - z.low});
    if (!std::isfinite(z.value)) {
      leave_out(z.method, "it is not finite");
      return;
    }
    series.x.push_back(place_of(z.method));
    series.y.push_back(z.value);
    series.error.push_back(std::isfinite(error) ? error : 0);
    std::string label = fmt::format("{}: {:.4f}, from {:.4f} to {:.4f}", z.method, z.value, z.low, z.high);
    if (place_of(z.method) > 1) label += fmt::format(", {:.0f} effective draws", z.effective);
    series.labels.push_back(std::move(label));
  }

  void leave_out(const std::string& method, const std::string& reason) {
    left_out_ +=
        fmt::format(" No log Z by {}: {}.", kMethods[static_cast<size_t>(place_of(method)) - 1], reason);
  }

  ReportFigure figure(double b) && {
    Panel panel{
        .title = "",
        .x = {.label = "", .low = 0.5, .high = 3.5, .ticks = kMethods},
        .y = {.label = "log Z, in standardised units"},
        .series = {{.name = "b", .x = {0.5, 3.5}, .y = {b, b}, .stroke = Stroke::dashed, .colour = 1}}};
    for (Series* series : {&trusted_, &doubtful_})
      if (!series->x.empty()) panel.series.push_back(std::move(*series));
    return {
        "normalizer_estimates",
        "The line is b, which the model gives for log Z; the marks are log Z as found, with their errors: "
        "the nearer the line runs to those that are trusted, the better log-densities with b are." +
            left_out_,
        {.title = "b against log Z", .panels = {std::move(panel)}}};
  }

 private:
  Series trusted_{.name = "log Z with its interval", .x = {}, .y = {}, .stroke = Stroke::marks};
  Series doubtful_{
      .name = "log Z, not to be trusted", .x = {}, .y = {}, .stroke = Stroke::marks, .colour = 7};
  std::string left_out_;
};

void add_importance(const DensityModel& model, uint64_t seed, Estimates& out) {
  const double draws = std::clamp(kAffordableWork / evaluation_cost(model), kLeastDraws, kMostDraws);
  try {
    const JudgedLogZ z =
        judged_log_z(model, {.method = "importance", .samples = static_cast<uint64_t>(draws), .seed = seed});
    out.add(z.estimate, z.distrust.empty());
  } catch (const Error& error) {
    out.leave_out("importance", error.what());
  }
}

void add_annealed(const DensityModel& model, uint64_t seed, Estimates& out) {
  const Support support = model.energy->support();
  if (support.space == Support::Space::counts) return out.leave_out("annealed", "it has no steps for counts");
  if (annealing_evaluations(support) * evaluation_cost(model) > kAffordableWork)
    return out.leave_out("annealed",
                         "it would take long here, 'selfnorm evaluate --method annealed' does it");
  try {
    const LogZEstimate z = annealed_log_z(*model.energy, *model.proposal, kAnnealing, seed).estimate;
    out.add(z, log_z_doubt(z, *model.energy, kAnnealedEffective).empty());
  } catch (const Error& error) {
    out.leave_out("annealed", error.what());
  }
}

}  // namespace

bool is_log_z_trusted(const DensityModel& model, const DensityEvaluation& evaluation) {
  if (evaluation.is_trusted || evaluation.outside == 0) return evaluation.is_trusted;
  return log_z_doubt(evaluation.log_z, *model.energy, DensityEvaluationOptions{}.least_effective).empty();
}

ReportFigure normalizer_figure(const DensityModel& model, const DensityEvaluation& evaluation,
                               uint64_t seed) {
  Estimates out;
  out.add(evaluation.log_z, is_log_z_trusted(model, evaluation));
  if (evaluation.log_z.method != "importance") add_importance(model, seed, out);
  if (evaluation.log_z.method != "annealed") add_annealed(model, seed, out);
  return std::move(out).figure(evaluation.b);
}

}  // namespace selfnorm
