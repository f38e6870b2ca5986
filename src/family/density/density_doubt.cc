#include "family/density/density_doubt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/energy/tilted.h"
#include "normalizer/sampling/importance_log_z.h"

namespace selfnorm {
namespace {

constexpr double kWidest = 1;         // nats; a wider interval of log Z is not trusted
constexpr double kDifference = 0.01;  // nats; a smaller one contradicts nothing

bool is_importance(const LogZEstimate& z) { return z.method == "importance"; }
bool is_drawn(const LogZEstimate& z) { return is_importance(z) || z.method == "annealed"; }

// What makes weights more even.
std::string remedies(const LogZEstimate& z, const Energy& energy, bool samples_help) {
  const Support support = energy.support();
  std::vector<std::string> out;
  if (is_importance(z) && support.space != Support::Space::counts) out.push_back("use --method annealed");
  if (is_importance(z) && samples_help) out.push_back("draw more --samples");
  if (support.is_real())
    out.push_back(
        "train with a proposal that is closer to the data or broader (mixture with more components, kde, "
        "student-t)");
  if (dynamic_cast<const TiltedEnergy*>(&energy) == nullptr)
    out.push_back("let the energy tilt the proposal (train with --base proposal)");
  if (out.empty()) out.push_back("train a smoother energy (--weight-decay, fewer --steps)");
  return fmt::format("{}", fmt::join(out, ", or "));
}

}  // namespace

std::string log_z_doubt(const LogZEstimate& z, const Energy& energy, double least_effective) {
  if (is_drawn(z) && z.effective < least_effective)
    return fmt::format("log Z by {} sampling rests on {:.1f} effective samples, {:.0f} are needed; {}",
                       z.method, z.effective, least_effective, remedies(z, energy, true));
  if (z.tail > kHeaviestTail)
    return fmt::format(
        "the weights of importance sampling have a heavy tail (Pareto shape {:.2f}, expected at most {}), so "
        "that their interval is too narrow: the proposal hardly reaches a part of the model; {}",
        z.tail, kHeaviestTail, remedies(z, energy, false));
  if (!(z.high - z.low <= kWidest))
    return fmt::format("log Z by {} is only known to be in [{:.4g}, {:.4g}], wider than {} nat; {}", z.method,
                       z.low, z.high, kWidest,
                       is_drawn(z) ? remedies(z, energy, true) : "try --method importance");
  return "";
}

std::string log_z_contradiction(const LogZEstimate& computed, const LogZEstimate& drawn) {
  const bool is_above = drawn.value > computed.value;
  const double error = is_above ? computed.high - computed.value : computed.value - computed.low;
  const double reach = is_above ? drawn.value - drawn.low : drawn.high - drawn.value;
  if (!(std::abs(drawn.value - computed.value) > std::max(kDifference, error + 2 * reach))) return "";
  return fmt::format(
      "log Z by {} is in [{:.4f}, {:.4f}] and by {} of {} draws in [{:.4f}, {:.4f}]: one of them misses a "
      "part "
      "of the model; compare --method annealed",
      computed.method, computed.low, computed.high, drawn.method, drawn.evaluations, drawn.low, drawn.high);
}

}  // namespace selfnorm
