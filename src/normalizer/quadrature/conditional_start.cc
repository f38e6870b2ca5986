#include "normalizer/quadrature/conditional_start.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace selfnorm {
namespace {

constexpr double kCellScales = 4;
constexpr double kCoarsest = 1e-4;                 // precision with which places are left out
constexpr double kLeastReach = 2, kMostReach = 8;  // of a core, in scales
constexpr double kResolution = 32 * std::numeric_limits<float>::epsilon();  // nodes are float32

struct Core {
  ConditionalBox box;
  std::array<double, 3> scale{};
};

std::vector<Core> cores(const std::vector<ConditionalScores::Place>& places, const ConditionalBox& support,
                        const ConditionalStartOptions& options, double& unseen) {
  double total = 0, largest = 0;
  for (const auto& place : places) {
    if (!(place.weight > 0)) continue;
    total += place.weight;
    largest = std::max(largest, place.weight);
  }
  std::vector<Core> out;
  for (const auto& place : places) {
    if (!(place.weight > 0)) continue;
    if (!(place.weight >= std::min(largest, std::min(options.precision, kCoarsest) / 10 * total))) {
      unseen += place.weight / total;
      continue;
    }
    const double depth = 2 * std::log(20 * place.weight / (options.precision * total));
    const double reach = std::clamp(std::sqrt(std::max(0.0, depth)), kLeastReach, kMostReach);
    Core core;
    bool is_finite = true;
    for (uint32_t j = 0; j < options.dimension; ++j) {
      const double mean = std::clamp(place.mean[j], support.lower[j], support.upper[j]);
      core.scale[j] = std::max(place.scale[j], kResolution * std::abs(mean));
      core.box.lower[j] = std::max(support.lower[j], mean - reach * core.scale[j]);
      core.box.upper[j] = std::min(support.upper[j], mean + reach * core.scale[j]);
      is_finite &= std::isfinite(core.box.width(j)) && core.box.width(j) > 0;
    }
    if (!is_finite) continue;
    unseen += options.dimension * place.weight / total * std::erfc(reach / std::numbers::sqrt2);
    out.push_back(core);
  }
  return out;
}

struct Cut {
  uint32_t axis = 0;
  double at = 0;
  double excess = 1;  // width of the box over the width it may have
};

// At the end of a core when much of the box lies outside it, otherwise into equal parts.
Cut best_cut(const ConditionalBox& box, const std::vector<Core>& all, uint32_t d, double scales) {
  Cut best;
  for (const Core& core : all) {
    bool reaches_in = true;
    for (uint32_t j = 0; j < d; ++j)
      reaches_in &= core.box.lower[j] < box.upper[j] && box.lower[j] < core.box.upper[j];
    if (!reaches_in) continue;
    for (uint32_t j = 0; j < d; ++j) {
      const double allowed = scales * core.scale[j], excess = box.width(j) / allowed;
      if (!(excess > best.excess * (1 + 1e-9))) continue;
      const double below = core.box.lower[j] - box.lower[j], above = box.upper[j] - core.box.upper[j];
      const double parts = std::ceil(excess - 1e-9);
      double at = box.lower[j] + box.width(j) * std::floor(parts / 2) / parts;
      if (std::max(below, above) > allowed / 2) at = below >= above ? core.box.lower[j] : core.box.upper[j];
      best = {j, at, excess};
    }
  }
  return best;
}

// False when there are too many.
bool divide(const ConditionalBox& region, const std::vector<Core>& all,
            const ConditionalStartOptions& options, double scales, std::vector<ConditionalBox>& out) {
  out.clear();
  std::vector<ConditionalBox> open = {region};
  while (!open.empty()) {
    const ConditionalBox box = open.back();
    open.pop_back();
    const Cut cut = best_cut(box, all, options.dimension, scales);
    if (cut.excess <= 1) {
      out.push_back(box);
      continue;
    }
    ConditionalBox lower = box, upper = box;
    lower.upper[cut.axis] = upper.lower[cut.axis] = cut.at;
    open.push_back(upper);
    open.push_back(lower);
    if (out.size() + open.size() > std::max<size_t>(1, options.most_cells)) return false;
  }
  return true;
}

}  // namespace

ConditionalStart conditional_start(const std::vector<ConditionalScores::Place>& places,
                                   const ConditionalBox& support, const ConditionalStartOptions& options) {
  const uint32_t d = options.dimension;
  ConditionalStart out;
  std::vector<Core> all = cores(places, support, options, out.unseen);
  if (all.empty())
    all = cores({{1, std::vector<double>(d, 0), std::vector<double>(d, 1)}}, support, options, out.unseen);
  out.region = all.front().box;
  for (const Core& core : all)
    for (uint32_t j = 0; j < d; ++j) {
      out.region.lower[j] = std::min(out.region.lower[j], core.box.lower[j]);
      out.region.upper[j] = std::max(out.region.upper[j], core.box.upper[j]);
    }
  double scales = kCellScales;
  while (!divide(out.region, all, options, scales, out.cells)) scales *= 2;
  return out;
}

}  // namespace selfnorm
