#include "selfnorm/analysis/density_log_z.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/model/energy/exponential_family.h"
#include "selfnorm/model/energy/tilted.h"
#include "selfnorm/normalizer/annealed_log_z.h"
#include "selfnorm/normalizer/coordinate_scales.h"
#include "selfnorm/normalizer/importance_log_z.h"
#include "selfnorm/normalizer/pareto_tail.h"
#include "selfnorm/normalizer/point_enumeration.h"
#include "selfnorm/normalizer/quadrature.h"

namespace selfnorm {
namespace {

constexpr uint64_t kScaleDraws = 4096;  // of the proposal, that say where the mass is
constexpr double kWidest = 1;           // nats; a wider interval of log Z is not trusted
constexpr uint32_t kQuadratureDimensions = 3;

double width(const LogZEstimate& z) { return z.high - z.low; }
bool is_sampled(const LogZEstimate& z) { return z.method == "importance" || z.method == "annealed"; }

std::optional<double> closed_form(const Energy& energy) {
  if (const auto* family = dynamic_cast<const ExponentialFamily*>(&energy))
    return family->log_z(family->eta());
  const auto* tilted = dynamic_cast<const TiltedEnergy*>(&energy);
  if (tilted != nullptr && tilted->tilt().record().kind == "zero") return 0.0;
  return std::nullopt;
}

class Estimators {
 public:
  Estimators(const DensityModel& model, const DensityEvaluationOptions& options)
      : energy_(*model.energy), proposal_(*model.proposal), options_(options) {}

  LogZEstimate quadrature() const {
    std::vector<float> draws(kScaleDraws * energy_.dimension());
    sample_density(proposal_, options_.seed, draws, {});
    CoordinateScales scales(energy_.dimension());
    scales.add({draws.data(), kScaleDraws, energy_.dimension()});
    QuadratureOptions q;
    q.centre = scales.means();
    q.scale = scales.scales();
    q.precision = options_.precision;
    return quadrature_log_z(energy_, q);
  }

  LogZEstimate importance() const {
    return importance_log_z(energy_, proposal_, options_.samples, options_.seed);
  }

  LogZEstimate annealed() const {
    AnnealedOptions a;
    a.chains = std::max(a.chains, static_cast<uint64_t>(std::ceil(3 * options_.least_effective)));
    return annealed_log_z(energy_, proposal_, a, options_.seed).estimate;
  }

  LogZEstimate sampled() const {
    const LogZEstimate first = importance();
    const bool is_good = first.effective >= options_.least_effective && first.tail <= kHeaviestTail;
    if (is_good || energy_.support().space == Support::Space::counts) return first;
    return annealed();
  }

 private:
  const Energy& energy_;
  const Density& proposal_;
  const DensityEvaluationOptions& options_;
};

std::string doubt(const LogZEstimate& z, const DensityEvaluationOptions& options) {
  if (is_sampled(z) && z.effective < options.least_effective)
    return fmt::format(
        "log Z by {} sampling rests on {:.1f} effective samples, {:.0f} are needed; give a proposal "
        "that is closer to the data (mixture with more components, kde), more samples, or let the "
        "energy tilt the proposal",
        z.method, z.effective, options.least_effective);
  if (z.tail > kHeaviestTail)
    return fmt::format(
        "the weights of importance sampling have a heavy tail (Pareto shape {:.2f}, expected at most {}): "
        "the "
        "proposal hardly reaches a part of the model; use --method annealed, or a broader proposal",
        z.tail, kHeaviestTail);
  if (!(width(z) <= kWidest))
    return fmt::format("log Z by {} is only known to be in [{:.4g}, {:.4g}], wider than {} nat; {}", z.method,
                       z.low, z.high, kWidest,
                       is_sampled(z) ? "give a proposal that is closer to the data, or more samples"
                                     : "try --method importance");
  return "";
}

JudgedLogZ best(const DensityModel& model, const DensityEvaluationOptions& options) {
  const Estimators by(model, options);
  const Support support = model.energy->support();
  const auto judged = [&](const LogZEstimate& z) { return JudgedLogZ{z, doubt(z, options)}; };
  if (const auto z = closed_form(*model.energy)) return {{"closed-form", *z, *z, *z, 0, 0}, ""};
  if (support.space == Support::Space::levels && countable_points(support) > 0)
    return judged(enumerate_log_z(*model.energy));
  if (!support.is_real() || model.dimension() > kQuadratureDimensions) return judged(by.sampled());
  try {
    return judged(by.quadrature());
  } catch (const Error& error) {
    return {by.importance(), error.what()};
  }
}

}  // namespace

void DensityEvaluationOptions::validate() const {
  require_one_of("method", method, {"auto", "quadrature", "enumeration", "importance", "annealed"});
  require_range(samples >= 2, "samples", static_cast<double>(samples), ">= 2");
  require_range(least_effective >= 0, "least_effective", least_effective, ">= 0");
  require_range(precision >= 1e-7 && precision <= 1, "precision", precision, "1e-7 .. 1");
}

JudgedLogZ judged_log_z(const DensityModel& model, const DensityEvaluationOptions& options) {
  options.validate();
  if (options.method == "auto") return best(model, options);
  const Estimators by(model, options);
  const LogZEstimate z = options.method == "quadrature"    ? by.quadrature()
                         : options.method == "enumeration" ? enumerate_log_z(*model.energy)
                         : options.method == "importance"  ? by.importance()
                                                           : by.annealed();
  return {z, doubt(z, options)};
}

LogZEstimate best_log_z(const DensityModel& model, const DensityEvaluationOptions& options) {
  return judged_log_z(model, options).estimate;
}

}  // namespace selfnorm
