// V* of eta + eps |eta| u brought back to the norm of eta (V* grows with it), for random directions u, |u| =
// 1, beside V*(eta), for the construction of Theorem 4 and XOR; and V* of a random direction of that norm, to
// tell how rare hard parameters are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/papers/open_questions.h"
#include "experiments/theory/hard_distribution.h"
#include "math/parallel.h"
#include "math/random.h"

namespace selfnorm {
namespace {

constexpr uint64_t kStabilityStream = 0x737461626c65;  // "stable"
constexpr uint32_t kStabilityDimension = 8;
constexpr double kNorm = 50;

std::vector<double> random_direction(size_t size, RandomStream random) {
  std::vector<double> u(size);
  double square = 0;
  for (double& v : u) v = random.normal(), square += v * v;
  for (double& v : u) v /= std::sqrt(square);
  return u;
}

struct SeedSpread {
  double mean = 0, low = 0, high = 0;  // tenth and ninetieth percentile
  double reached = 0;                  // share of the draws with at least V*(eta)
};

// Of V* at keep * eta + |eta| eps u, scaled to |eta|, over draws.
SeedSpread perturbed(const CubeModel& model, double keep, double eps, uint64_t draws, uint64_t seed) {
  std::vector<double> values(draws);
  parallel_units(draws, [&](size_t i) {
    CubeModel moved = model;
    const std::vector<double> u =
        random_direction(model.eta.size(), RandomStream(seed, kStabilityStream + i));
    for (size_t j = 0; j < u.size(); ++j) moved.eta[j] = keep * model.eta[j] + eps * model.norm() * u[j];
    values[i] = cube_variance(moved.scaled(model.norm() / moved.norm())).v_star;
  });
  SeedSpread out;
  const double v_star = cube_variance(model).v_star;
  for (const double v : values) out.reached += (v >= v_star ? 1.0 : 0.0) / static_cast<double>(draws);
  for (const double v : values) out.mean += v / static_cast<double>(draws);
  std::sort(values.begin(), values.end());
  out.low = values[draws / 10];
  out.high = values[draws - 1 - draws / 10];
  return out;
}

}  // namespace

Answer stability_of_hardness(const ExperimentOptions& options, const std::function<void(double)>& progress) {
  const std::vector<double> sizes = {0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1};
  const uint64_t draws = options.reduced() ? 20 : 200;
  const ThreadLimit limit(options.threads);
  Answer out;
  out.question = "stability of the hard distribution";
  out.panel = {.title = fmt::format("(b) V* after a random perturbation, d = {}, |eta| = {}",
                                    kStabilityDimension, kNorm),
               .x = {.label = "size of the perturbation / |eta|", .logarithmic = true},
               .y = {.label = "V* / V* of the construction", .low = 0},
               .series = {}};
  out.table = {
      .caption = fmt::format("(b) Mean V* over {} random perturbations brought back to the norm of eta, as a "
                             "share of V*(eta); random: a random direction of that norm instead of eta.",
                             draws),
      .columns = {"construction", "V*(eta)", "at 0.1 |eta|", "at 0.3 |eta|", "at 1 |eta|", "random",
                  "random ones that reach V*(eta)"},
      .rows = {}};
  struct Construction {
    std::string name;
    CubeModel model;
  };
  const CubeModel paper = theorem4_model(kStabilityDimension, 2);
  const std::vector<Construction> constructions = {
      {"the paper's eta0", paper.scaled(kNorm / paper.norm())},
      {"the XOR construction", xor_model(kStabilityDimension, 0.5 * kNorm)}};
  for (uint32_t c = 0; c < constructions.size(); ++c) {
    const auto& [name, model] = constructions[c];
    const double v_star = cube_variance(model).v_star;
    Series series{.name = name + ", mean", .x = {}, .y = {}, .colour = c};
    Series band{
        .name = name + ", 10% to 90% of the draws", .x = {}, .y = {}, .stroke = Stroke::region, .colour = c};
    std::vector<double> upper;
    double at_tenth = 0, at_third = 0, at_one = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const SeedSpread spread = perturbed(model, 1, sizes[i], draws, options.seed);
      series.x.push_back(sizes[i]);
      series.y.push_back(spread.mean / v_star);
      band.x.push_back(sizes[i]);
      band.y.push_back(spread.low / v_star);
      upper.push_back(spread.high / v_star);
      if (sizes[i] == 0.1) at_tenth = spread.mean / v_star;
      if (sizes[i] == 0.3) at_third = spread.mean / v_star;
      if (sizes[i] == 1) at_one = spread.mean / v_star;
      out.rows.push_back({name, sizes[i], spread.mean / v_star, spread.low / v_star, spread.high / v_star});
      progress(static_cast<double>(c * sizes.size() + i + 1) /
               static_cast<double>(constructions.size() * sizes.size()));
    }
    for (size_t i = sizes.size(); i-- > 0;) {
      band.x.push_back(sizes[i]);
      band.y.push_back(upper[i]);
    }
    out.panel.series.push_back(std::move(band));
    out.panel.series.push_back(std::move(series));
    const SeedSpread random = perturbed(model, 0, 1, draws, options.seed);
    const double share = random.mean / v_star;
    out.table.add({name, v_star, at_tenth, at_third, at_one, share, random.reached});
    out.rows.push_back({name + ", random direction", 1.0, share, random.low / v_star, random.high / v_star});
    const std::string key = c == 0 ? "paper" : "xor";
    out.facts.emplace_back("stability_" + key + "_at_0.1", at_tenth);
    out.facts.emplace_back("stability_" + key + "_random_direction", share);
    out.text += fmt::format(
        "{}When eta moves by a tenth of its norm, V* of {} keeps {:.0f}% on average: it is {}. Of random "
        "directions of the same norm {:.0f}% reach its V*, and their mean is {:.2g} times it.",
        c > 0 ? " " : "", name, 100 * at_tenth,
        at_tenth > 0.8 ? "stable (more than 80%)" : "not stable (80% or less)", 100 * random.reached, share);
  }
  return out;
}

}  // namespace selfnorm
