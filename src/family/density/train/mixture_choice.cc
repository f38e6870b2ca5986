#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "family/density/train/density_problem.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRows = 5000;           // at most
constexpr uint64_t kRowsOfComponent = 20;  // at least
constexpr uint64_t kChoiceStream = 0x31C7;

}  // namespace

uint32_t choose_components(const Points& data, const FitOptions& options) {
  std::vector<uint64_t> order = random_permutation(data.rows, RandomStream(options.seed, kChoiceStream));
  order.resize(std::min(data.rows, kRows));
  std::vector<float> rows;
  for (const uint64_t i : order) rows.insert(rows.end(), data.row(i).begin(), data.row(i).end());
  const Points all{rows.data(), order.size(), data.columns};
  const uint64_t fitted = all.rows * 4 / 5;
  uint32_t best = 1, failures = 0;
  double best_likelihood = -INFINITY;
  std::vector<double> log_q(all.rows - fitted);
  for (uint32_t k = 1; k <= kMostComponents && k * kRowsOfComponent <= fitted && failures < 2; k *= 2) {
    const auto density = fit_density(fmt::format("mixture:{}", k), all.slice(0, fitted), options);
    density_log_prob(*density, all.slice(fitted, all.rows), log_q);
    double likelihood = 0;
    for (const double l : log_q) likelihood += l;
    failures = likelihood > best_likelihood ? 0 : failures + 1;
    if (failures > 0) continue;
    best = k;
    best_likelihood = likelihood;
  }
  return best;
}

}  // namespace selfnorm
