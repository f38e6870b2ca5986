#include "family/density/simple_density.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "math/random.h"
#include "proposal/density/level_mixture.h"
#include "proposal/density/make_density.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kSimpleFitRows = 20'000, kMostSimpleRows = 8192;
constexpr uint32_t kMostColumns = 50;  // of a mixture with full covariances
constexpr uint64_t kMostComponents = 32, kRowsOfComponent = 100;
constexpr uint64_t kStream = 0x73696d70;  // "simp"

// Standardised as the model has them.
std::vector<float> rows_of(const DensityModel& model, const PointSource& data,
                           std::span<const uint64_t> rows) {
  std::vector<float> x(rows.size() * data.columns());
  data.read(rows, x);
  if (model.standardisation.mean.empty()) return x;
  std::vector<float> u(x.size());
  model.standardisation.apply({x.data(), rows.size(), data.columns()}, u);
  return u;
}

using LogProb = std::function<void(const Points&, std::span<double>)>;

double nll_of(const LogProb& log_prob, const DensityModel& model, const PointSource& data,
              std::span<const uint64_t> rows) {
  double sum = 0;
  std::vector<double> log_q;
  for (size_t begin = 0; begin < rows.size(); begin += kMostSimpleRows) {
    const auto block = rows.subspan(begin, std::min<size_t>(kMostSimpleRows, rows.size() - begin));
    const std::vector<float> u = rows_of(model, data, block);
    log_q.resize(block.size());
    log_prob({u.data(), block.size(), data.columns()}, log_q);
    for (const double l : log_q) sum -= l;
  }
  const double volume = model.standardisation.scale.empty() ? 0 : model.standardisation.log_volume();
  return sum / static_cast<double>(rows.size()) + volume;
}

const char* name_of(const std::string& kind) {
  if (kind == "bernoulli") return "independent bits (a product of Bernoullis)";
  if (kind == "categorical") return "independent columns (a product of categoricals)";
  if (kind == "counts") return "independent counts (a product of negative binomials)";
  if (kind == "mixture") return "a Gaussian mixture";
  if (kind.starts_with("gaussian")) return "a Gaussian";
  return "the proposal";
}

}  // namespace

SimpleModel simple_density(const DensityModel& model, const PointSource& data,
                           std::span<const uint64_t> train_rows, std::span<const uint64_t> held_out,
                           uint64_t seed) {
  SELFNORM_CHECK(!train_rows.empty() && !held_out.empty());
  const Density& proposal = *model.proposal;
  const auto of = [](const Density& q) -> LogProb {
    return [&q](const Points& x, std::span<double> out) { density_log_prob(q, x, out); };
  };
  const std::string kind = proposal.record().kind;
  const std::string word = kind == "gaussian-diagonal" ? "gaussian:diagonal" : kind;
  SimpleModel best{name_of(kind), nll_of(of(proposal), model, data, held_out),
                   fmt::format("--objective fit --proposal {} is that one", word)};
  const auto take = [&](SimpleModel other) {
    if (!(best.nll <= other.nll)) best = std::move(other);
  };
  std::vector<uint64_t> chosen = random_permutation(train_rows.size(), RandomStream(seed, kStream));
  chosen.resize(std::min<size_t>(chosen.size(), kSimpleFitRows));
  for (uint64_t& i : chosen) i = train_rows[i];
  const std::vector<float> u = rows_of(model, data, chosen);
  const Points points{u.data(), chosen.size(), data.columns()};
  const Support support = proposal.support();
  if (support.space == Support::Space::levels) {
    const LevelMixture mixture = fit_level_mixture(points, support.levels, {.seed = seed});
    const bool is_binary =
        std::all_of(support.levels.begin(), support.levels.end(), [](uint32_t n) { return n == 2; });
    take({fmt::format("a mixture of {} products of {}", mixture.components(),
                      is_binary ? "Bernoullis" : "categoricals"),
          nll_of([&](const Points& x, std::span<double> out) { mixture.log_prob(x, out); }, model, data,
                 held_out),
          "try --objective pseudo-likelihood, --energy rbm or more --steps"});
  } else if (support.is_real() && kind != "mixture" && data.columns() <= kMostColumns) {
    const uint64_t components = std::clamp<uint64_t>(chosen.size() / kRowsOfComponent, 1, kMostComponents);
    const auto mixture = fit_density(fmt::format("mixture:{}", components), points, {.seed = seed});
    take({fmt::format("a Gaussian mixture of {} components", components),
          nll_of(of(*mixture), model, data, held_out),
          fmt::format("--objective fit --proposal mixture:{} is that one", components)});
  }
  return best;
}

}  // namespace selfnorm
