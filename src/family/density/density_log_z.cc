#include "family/density/density_log_z.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "base/option_table.h"
#include "model/energy/autoregressive_energy.h"
#include "model/energy/exponential_family.h"
#include "model/energy/tilted.h"
#include "normalizer/point_enumeration.h"
#include "normalizer/quadrature/line_sum.h"
#include "normalizer/quadrature/quadrature.h"
#include "normalizer/sampling/annealed_log_z.h"
#include "normalizer/sampling/bridge_log_z.h"
#include "normalizer/sampling/importance_log_z.h"
#include "sampler/annealing_path.h"
#include "sampler/gibbs.h"
#include "sampler/hmc.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kScaleDraws = 4096;    // of the proposal, that say where the mass is
constexpr uint64_t kCheckDraws = 20'000;  // of the proposal, that quadrature is compared with
constexpr uint32_t kQuadratureDimensions = 3;
constexpr double kMostDisagreement = 0.05;  // of chains: R-hat less 1
constexpr double kNarrow = 5e-3;    // nats; draws whose interval is no wider serve as well as quadrature
constexpr double kTwoSided = 1.96;  // standard errors of 95%
constexpr double kMostTimes = 10;   // as many draws as `samples`, where they take the place of something slow
constexpr double kMostQuadratureWork = 2 * kAffordableWork;
constexpr uint64_t kFewestEvaluations = 100'000;
constexpr double kRounded = 1e8;  // a log Z beyond it rounds more than 1e-8: s - log Z would not sum to 1

double numbers_of(const std::shared_ptr<const Density>& density) {
  double count = 0;
  if (density != nullptr)
    for (const auto& [name, values] : density->record().values) count += static_cast<double>(values.size());
  return count;
}

// Of bridge sampling: sweeps over all levels, or trajectories whose gradients are worth three evaluations.
double chain_evaluations(const Support& support) {
  const BridgeOptions bridge;
  const double transition = support.is_real()
                                ? 3.0 * static_cast<double>(HmcOptions().leapfrog) / 2
                                : std::accumulate(support.levels.begin(), support.levels.end(), 0.0);
  const uint64_t warmup = support.is_real() ? HmcOptions().warmup : GibbsOptions().warmup;
  return static_cast<double>(bridge.chains * (warmup + bridge.each)) * transition +
         static_cast<double>(bridge.draws);
}

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
      : energy_(*model.energy),
        proposal_(*model.proposal),
        options_(options),
        chain_work_(evaluation_cost(model) * chain_evaluations(model.energy->support())) {}

  JudgedLogZ judged(const LogZEstimate& z) const {
    return {z, log_z_doubt(z, energy_, options_.least_effective)};
  }

  // Draws compare the energy with the proposal: its normalizer is theirs.
  LogZEstimate widened(LogZEstimate z) const {
    const double error = kTwoSided * proposal_.log_error();
    z.low -= error;
    z.high += error;
    return z;
  }

  // Compared with importance sampling where the proposal allows it.
  JudgedLogZ quadrature(uint64_t most_evaluations = QuadratureOptions().most_evaluations) const {
    std::vector<float> draws(kScaleDraws * energy_.dimension());
    sample_density(proposal_, options_.seed, draws, {});
    CoordinateScales scales(energy_.dimension());
    scales.add({draws.data(), kScaleDraws, energy_.dimension()});
    QuadratureOptions q;
    q.centre = scales.means();
    q.scale = scales.scales();
    q.precision = options_.precision;
    q.most_evaluations = most_evaluations;
    JudgedLogZ out = judged(quadrature_log_z(energy_, q));
    if (out.distrust.empty()) out.distrust = contradiction(out.estimate);
    return out;
  }

  JudgedLogZ importance() const { return judged(drawn(options_.samples)); }

  // With as many draws as make the interval narrow.
  JudgedLogZ narrowed_importance() const {
    JudgedLogZ first = importance();
    const double width = (first.estimate.high - first.estimate.low) / kNarrow;
    if (!first.distrust.empty() || width <= 1) return first;
    say("more draws, as their interval is wide");
    JudgedLogZ more = judged(drawn(static_cast<uint64_t>(static_cast<double>(options_.samples) *
                                                         std::min(kMostTimes, 1.2 * width * width))));
    return more.distrust.empty() ? more : first;
  }

  JudgedLogZ annealed() const {
    AnnealedOptions a;
    a.chains = std::max(a.chains, static_cast<uint64_t>(std::ceil(3 * options_.least_effective)));
    return judged(widened(annealed_log_z(energy_, proposal_, a, options_.seed).estimate));
  }

  // Of chains that agree.
  JudgedLogZ bridge() const {
    JudgedLogZ out = judged(widened(bridge_log_z(energy_, proposal_, {}, options_.seed)));
    if (out.distrust.empty() && out.estimate.tail > kMostDisagreement)
      out.distrust =
          worded("the chains of bridge sampling do not agree (R-hat {:.3f}); compare `method annealed`",
                 1 + out.estimate.tail);
    return out;
  }

  // The narrowest that can be trusted.
  JudgedLogZ sampled() const {
    JudgedLogZ first = importance();
    if (first.distrust.empty()) return first;
    if (!energy_.support().has_chains() || chain_work_ > kMostChainWork) {
      say("more draws, as those are not to be trusted");
      JudgedLogZ more =
          judged(drawn(static_cast<uint64_t>(kMostTimes * static_cast<double>(options_.samples))));
      if (!more.distrust.empty() && energy_.support().has_chains())
        more.distrust += worded("; chains would take long here, `method bridge` starts them");
      return more;
    }
    try {
      say("bridge sampling, as draws are not to be trusted");
      JudgedLogZ other = bridge();
      if (other.distrust.empty()) return other;
      say("annealing, as the chains of bridge sampling do not agree");
      return annealed();
    } catch (const Error& error) {
      return {first.estimate, error.what()};
    }
  }

 private:
  LogZEstimate drawn(uint64_t samples) const {
    return widened(importance_log_z(energy_, proposal_, samples, options_.seed));
  }

  void say(const char* what) const {
    if (options_.say) options_.say(fmt::format("log Z: {}", what));
  }

  std::string contradiction(const LogZEstimate& computed) const {
    if (!is_covered(energy_, proposal_)) return "";
    try {
      const JudgedLogZ check = judged(drawn(kCheckDraws));
      return check.distrust.empty() ? log_z_contradiction(computed, check.estimate) : "";
    } catch (const Error& error) {
      return fmt::format("log Z by {} could not be compared with draws: {}", computed.method, error.what());
    }
  }

  const Energy& energy_;
  const Density& proposal_;
  const DensityEvaluationOptions& options_;
  double chain_work_;
};

// Kernels, alone or among others.
bool is_slow(const Density& q) {
  const std::string kind = q.record().kind;
  return kind == "stacked" || kind == "directions" || kind == "kde";
}

JudgedLogZ best(const DensityModel& model, const DensityEvaluationOptions& options) {
  const Estimators by(model, options);
  const Support support = model.energy->support();
  const bool is_countable = support.space == Support::Space::levels && countable_points(support) > 0;
  const auto z = closed_form(*model.energy);
  if (z && !(is_countable && std::abs(*z) > kRounded))
    return {by.widened({"closed-form", *z, *z, *z, 0, 0}), ""};
  if (is_countable) return by.judged(enumerate_log_z(*model.energy));
  if (!support.is_real() || model.dimension() > kQuadratureDimensions) return by.sampled();
  if (options.say) options.say("log Z: looking for it");
  if (is_slow(*model.proposal)) {  // millions of nodes are not
    JudgedLogZ drawn = by.narrowed_importance();
    if (drawn.distrust.empty()) return drawn;
  }
  const double affordable = kMostQuadratureWork / evaluation_cost(model);
  const uint64_t all = QuadratureOptions().most_evaluations;
  try {
    if (options.say) options.say("log Z: quadrature");
    return by.quadrature(is_slow(*model.proposal) && affordable < static_cast<double>(all)
                             ? std::max(kFewestEvaluations, static_cast<uint64_t>(affordable))
                             : all);
  } catch (const Error& error) {
    return {by.importance().estimate, error.what()};
  }
}

constexpr double kWidest = 1;         // nats; a wider interval of log Z is not trusted
constexpr double kDifference = 0.01;  // nats; a smaller one contradicts nothing

bool is_importance(const LogZEstimate& z) { return z.method == "importance"; }
bool is_drawn(const LogZEstimate& z) {
  return is_importance(z) || z.method == "annealed" || z.method == "bridge";
}

// What makes weights more even.
std::string remedies(const LogZEstimate& z, const Energy& energy, bool samples_help) {
  const Support support = energy.support();
  std::vector<std::string> out;
  if (is_importance(z) && support.has_chains()) out.push_back("use `method annealed`");
  if (is_importance(z) && samples_help) out.push_back("draw more `samples`");
  if (support.is_real())
    out.push_back(
        "train with a proposal that is closer to the data or broader (mixture with more components, kde, "
        "student-t)");
  if (dynamic_cast<const TiltedEnergy*>(&energy) == nullptr)
    out.push_back("let the energy tilt the proposal (train with `base proposal`)");
  if (out.empty()) out.push_back("train a smoother energy (`weight-decay`, fewer `steps`)");
  return with_options(fmt::format("{}", fmt::join(out, ", or ")));
}

}  // namespace

double evaluation_cost(const DensityModel& model) {
  const double parameters = static_cast<double>(std::as_const(*model.energy).parameters().size());
  return static_cast<double>(model.dimension()) + parameters + numbers_of(model.proposal) +
         (model.base == model.proposal ? 0 : numbers_of(model.base));
}

OptionTable log_z_option_table(DensityEvaluationOptions& o) {
  OptionTable table;
  table.add("method", &o.method, "Densities: how log Z is found; auto: the best that applies")
      .one_of({"auto", "quadrature", "enumeration", "importance", "annealed", "bridge"});
  const auto only = [&o](Option& option, const char* owner) {
    option.only(o.method == "auto" || o.method == owner, option_text("method", owner),
                option_text("method", o.method));
  };
  only(table.add("samples", &o.samples, "Densities: draws from the proposal, for importance sampling")
           .at_least(2),
       "importance");
  only(table.add("precision", &o.precision, "Densities: error of log Z by quadrature").in(1e-7, 1),
       "quadrature");
  table.add("seed", &o.seed, "Densities: seed of the samples");
  return table;
}

void DensityEvaluationOptions::validate() const {
  DensityEvaluationOptions copy = *this;
  log_z_option_table(copy).validate();
  require_range(least_effective >= 0, "least_effective", least_effective, ">= 0");
}

namespace {

constexpr uint64_t kLineDraws = 256;

// Every row has integrals of its own, and with them log Z is 0; the error of those of draws.
JudgedLogZ lines_log_z(const AutoregressiveEnergy& energy, const DensityEvaluationOptions& options) {
  if (options.method != "auto" && options.method != "quadrature")
    throw_error(
        "an autoregressive energy is integrated column by column, row by row: use `method quadrature`; found "
        "`method {}`",
        options.method);
  std::vector<float> rows(kLineDraws * energy.dimension());
  sample_lines(energy, options.seed, rows);
  const LineSum sum = line_sum(energy, {rows.data(), kLineDraws, energy.dimension()}, options.precision);
  return {lines_estimate(std::accumulate(sum.error.begin(), sum.error.end(), 0.0) / kLineDraws), ""};
}

}  // namespace

LogZEstimate lines_estimate(double error) { return {"quadrature", 0, -error, error, 0, 0}; }

JudgedLogZ judged_log_z(const DensityModel& model, const DensityEvaluationOptions& options) {
  options.validate();
  if (const auto* lines = dynamic_cast<const AutoregressiveEnergy*>(model.energy.get()))
    return lines_log_z(*lines, options);
  if (options.method == "auto") return best(model, options);
  const Estimators by(model, options);
  if (options.method == "quadrature") return by.quadrature();
  if (options.method == "enumeration") return by.judged(enumerate_log_z(*model.energy));
  if (options.method == "bridge") return by.bridge();
  return options.method == "importance" ? by.importance() : by.annealed();
}

std::string log_z_doubt(const LogZEstimate& z, const Energy& energy, double least_effective) {
  if (is_drawn(z) && z.effective < least_effective)
    return fmt::format("log Z by {} sampling rests on {:.1f} effective samples, {:.0f} are needed; {}",
                       z.method, z.effective, least_effective, remedies(z, energy, true));
  if (is_importance(z) && z.tail > kHeaviestTail)
    return fmt::format(
        "the weights of importance sampling have a heavy tail (Pareto shape {:.2f}, expected at most {}), so "
        "that their interval is too narrow: the proposal hardly reaches a part of the model; {}",
        z.tail, kHeaviestTail, remedies(z, energy, false));
  if (!(z.high - z.low <= kWidest))
    return worded("log Z by {} is only known to be in [{:.4g}, {:.4g}], wider than {} nat; {}", z.method,
                  z.low, z.high, kWidest,
                  is_drawn(z) ? remedies(z, energy, true) : with_options("try `method importance`"));
  return "";
}

std::string log_z_contradiction(const LogZEstimate& computed, const LogZEstimate& drawn) {
  const bool is_above = drawn.value > computed.value;
  const double error = is_above ? computed.high - computed.value : computed.value - computed.low;
  const double reach = is_above ? drawn.value - drawn.low : drawn.high - drawn.value;
  if (!(std::abs(drawn.value - computed.value) > std::max(kDifference, error + 2 * reach))) return "";
  return worded(
      "log Z by {} is in [{:.4f}, {:.4f}] and by {} of {} draws in [{:.4f}, {:.4f}]: one of them misses a "
      "part of the model; compare `method annealed`",
      computed.method, computed.low, computed.high, drawn.method, drawn.evaluations, drawn.low, drawn.high);
}

}  // namespace selfnorm
