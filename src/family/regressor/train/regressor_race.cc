#include "family/regressor/train/regressor_race.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/checkpoint.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr double kHeatEpochs = 0.5;  // of those of a member
// log T: what mixtures are asked at, and where the best is looked for.
constexpr double kColdest = -3, kWarmest = 1.8, kGridStep = 0.2;
constexpr double kColdestMiddle = -1.6, kWarmestMiddle = 1.2, kMiddleStep = 0.1;
constexpr double kPriorScale = 0.5;  // log T is normal around 0 before rows are seen
constexpr double kWidestSpread = 1, kSpreadStep = 0.25;
constexpr double kWidestLogTemperature = 1.5;  // of a single model
constexpr std::uintmax_t kTemperatureEvaluations = 16;
constexpr double kTemperatureEvidence = 4;

double scale_quantile(uint64_t i, uint64_t members) {
  const auto m = static_cast<double>(members);
  return std::sqrt(3) * (2 * static_cast<double>(i) + 1 - m) / m;
}

// log p of row j at a temperature, from those at the temperatures of the grid.
double log_density_at(const std::vector<double>& density, size_t j, size_t size, double log_temperature) {
  const double place =
      std::clamp((log_temperature - kColdest) / kGridStep, 0.0, static_cast<double>(size - 1));
  const size_t left = std::min(static_cast<size_t>(place), size - 2);
  const double share = place - static_cast<double>(left);
  const double* at = density.data() + j * size + left;
  return share == 0 ? at[0] : share == 1 ? at[1] : (1 - share) * at[0] + share * at[1];
}

double sum_of(std::span<const PoolPart> parts, const std::function<double(double)>& of_weight) {
  double sum = 0;
  for (const PoolPart& part : parts)
    for (const double w : part.weight) sum += of_weight(w);
  return sum;
}

// What the prior takes from the mean log-likelihood of rows.
double prior_nll(double log_temperature, double rows) {
  const double z = log_temperature / kPriorScale;
  return 0.5 * z * z / rows;
}

// The likeliest log T of the middles, with the prior.
double likeliest(double coldest, double warmest, double rows, const std::function<double(double)>& nll) {
  double best = 0, least = nll(0);
  const auto steps = static_cast<int>(std::lround((warmest - coldest) / kMiddleStep));
  for (int k = 0; k <= steps; ++k) {
    const double at = coldest + k * kMiddleStep, value = nll(at) + prior_nll(at, rows);
    if (value < least) best = at, least = value;
  }
  return best;
}

// Mean NLL of the rows under the members one by one, weighted.
double alone_nll(std::span<const PoolPart> parts, double log_temperature) {
  const size_t size = pool_grid().size();
  double sum = 0, weights = 0;
  for (const PoolPart& part : parts)
    for (const std::vector<double>& density : part.density)
      for (size_t j = 0; j < part.weight.size(); ++j) {
        if (part.weight[j] == 0) continue;
        sum -= part.weight[j] * log_density_at(density, j, size, log_temperature);
        weights += part.weight[j];
      }
  return sum / weights;
}

// Mean NLL of the rows under the averages, weighted.
double pool_nll(std::span<const PoolPart> parts, double log_temperature, double spread) {
  const size_t size = pool_grid().size();
  double sum = 0, weights = 0;
  for (const PoolPart& part : parts)
    for (size_t j = 0; j < part.weight.size(); ++j) {
      const size_t members = part.density.size();
      LogSumExp pool;
      for (size_t m = 0; m < members; ++m)
        pool.add(
            log_density_at(part.density[m], j, size, log_temperature + spread * scale_quantile(m, members)));
      sum -= part.weight[j] * (pool.value() - std::log(static_cast<double>(members)));
      weights += part.weight[j];
    }
  return sum / weights;
}

}  // namespace

double effective_rows(double sum, double sum_of_squares) {
  return sum_of_squares > 0 ? sum * sum / sum_of_squares : 0;
}

FittedTemperature fit_temperature(double rows, const std::function<double(double)>& nll) {
  const auto finite = [&](double log_temperature) {
    const double value = nll(std::exp(log_temperature));
    return std::isfinite(value) ? value : std::numeric_limits<double>::max();
  };
  const double untouched = finite(0);
  std::uintmax_t evaluations = kTemperatureEvaluations;
  const auto [at, value] = boost::math::tools::brent_find_minima(finite, -kWidestLogTemperature,
                                                                 kWidestLogTemperature, 10, evaluations);
  const bool helps = 2 * rows * (untouched - value) > kTemperatureEvidence;
  return helps ? FittedTemperature{std::exp(at), value} : FittedTemperature{1, untouched};
}

double PoolTemperatures::of(uint64_t i, uint64_t members) const {
  return middle * std::exp(spread * scale_quantile(i, members));
}

std::vector<double> pool_grid() {
  std::vector<double> out;
  const auto steps = static_cast<int>(std::lround((kWarmest - kColdest) / kGridStep));
  for (int k = 0; k <= steps; ++k) out.push_back(std::exp(kColdest + k * kGridStep));
  return out;
}

PoolTemperatures fit_pool(std::span<const PoolPart> parts) {
  PoolTemperatures out;
  out.rows = effective_rows(sum_of(parts, [](double w) { return w; }),
                            sum_of(parts, [](double w) { return w * w; }));
  if (out.rows == 0) return out;
  out.nll = out.untouched = pool_nll(parts, 0, 0);
  const auto penalised = [&](const PoolTemperatures& t) {
    return t.nll + prior_nll(std::log(t.middle), out.rows);
  };
  const auto spreads = static_cast<int>(std::lround(kWidestSpread / kSpreadStep));
  for (const bool is_spread : {false, true}) {
    PoolTemperatures best = out;
    for (int a = is_spread ? 1 : 0; a <= (is_spread ? spreads : 0); ++a) {
      PoolTemperatures tried = out;
      tried.spread = a * kSpreadStep;
      const double log_temperature = likeliest(kColdestMiddle, kWarmestMiddle, out.rows,
                                               [&](double at) { return pool_nll(parts, at, tried.spread); });
      tried.middle = std::exp(log_temperature);
      tried.nll = pool_nll(parts, log_temperature, tried.spread);
      if (penalised(tried) < penalised(best)) best = tried;
    }
    if (2 * out.rows * (penalised(out) - penalised(best)) > kTemperatureEvidence) out = best;
  }
  out.alone = std::exp(
      likeliest(kColdestMiddle, kWarmestMiddle, out.rows, [&](double at) { return alone_nll(parts, at); }));
  return out;
}

PoolTemperatures settled(PoolTemperatures found, double rows, const std::function<double(double)>& nll) {
  if (found.middle <= 1 || rows == 0) return found;
  const double proposed = std::log(found.middle);
  const double cooler = std::max(0.0, std::log(found.alone) - proposed);
  const auto at = [&](double log_temperature) { return nll(std::exp(log_temperature)); };
  const double members = likeliest(0, kWarmest, rows, at);
  const double gain = at(0) - at(members) - prior_nll(members, rows);
  found.proposed = found.middle;
  found.middle =
      2 * rows * gain > kTemperatureEvidence ? std::exp(std::clamp(members - cooler, 0.0, proposed)) : 1;
  return found;
}

RegressorRace::RegressorRace(const RegressorOptions& given, uint64_t rows, uint64_t held_out, uint64_t pool)
    : given_(resolved_by_rows(given, rows)) {
  given_.learning_rate = given.learning_rate;  // of the widths that are tried
  const bool has_few = held_out < kLeastHeldOut;
  if (!given.module.empty() || rows < kLeastRows) return;
  folds_ = has_few ? kRaceFolds : 1;
  const bool races_noise = !given.input_noise,
             races_features = given.features == std::vector<uint32_t>{0} && !has_few;
  if (!races_noise && !races_features && pool == 1) return;
  const auto add = [this](Kind kind) {
    runs_.push_back({kind, std::vector<double>(folds_), std::vector<std::vector<double>>(folds_)});
  };
  add(Kind::first);
  if (races_noise) add(Kind::noiseless);
  if (races_features) add(Kind::wider);
  raced_ = runs_.size();
  pool_ = pool;
  while (runs_.size() + 1 < raced_ + pool_) add(Kind::again);
}

RegressorRace::Choice RegressorRace::tried(uint64_t r) const {
  const Run& run = runs_[r];
  if (run.kind == Kind::again) return best(raced_);
  Choice out = run.kind == Kind::wider ? best(r) : Choice{*given_.input_noise, given_.features, 0, r};
  out.run = r;
  if (run.kind == Kind::noiseless) out.noise = 0;
  if (run.kind == Kind::wider)
    for (uint32_t& width : out.features) width *= 2;
  out.nll = std::accumulate(run.nll.begin(), run.nll.end(), 0.0) / static_cast<double>(folds_);
  return out;
}

RegressorRace::Choice RegressorRace::best(uint64_t r) const {
  Choice out = tried(0);
  for (uint64_t j = 1; j < r; ++j) {
    const Choice other = tried(j);
    if (other.nll < out.nll - (runs_[j].kind == Kind::wider ? kWiderGain : 0)) out = other;
  }
  return out;
}

RegressorOptions RegressorRace::heat(uint64_t i) const {
  const Choice choice = tried(i / folds_);
  RegressorOptions out = given_;
  out.objective = "mdn";
  out.base = "proposal";
  out.own_features = false;
  out.input_noise = choice.noise;
  out.features = choice.features;
  out.epochs = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(kHeatEpochs * static_cast<double>(given_.epochs))));
  return out;
}

RegressorOptions RegressorRace::outcome() const {
  RegressorOptions out = given_;
  if (runs_.empty()) return out;
  const Choice choice = best(raced_);
  out.input_noise = choice.noise;
  out.features = choice.features;
  return out;
}

void RegressorRace::state(CheckpointFields& fields, uint64_t finished) {
  for (uint64_t i = 0; i < std::min(finished, heats()); ++i) {
    fields(fmt::format("race.{}", i), runs_[i / folds_].nll[i % folds_]);
    if (pools()) fields(fmt::format("race.{}.density", i), runs_[i / folds_].density[i % folds_]);
  }
}

PoolTemperatures RegressorRace::temperatures(std::vector<std::vector<double>> weight) const {
  std::vector<PoolPart> parts(folds_);
  for (uint64_t k = 0; k < folds_; ++k) {
    parts[k].weight = std::move(weight[k]);
    parts[k].density.push_back(runs_[best(raced_).run].density[k]);
    for (uint64_t r = raced_; r < runs_.size(); ++r) parts[k].density.push_back(runs_[r].density[k]);
  }
  return fit_pool(parts);
}

nlohmann::ordered_json RegressorRace::record() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (uint64_t r = 0; r < raced_; ++r) {
    const Choice run = tried(r);
    nlohmann::ordered_json nll = run.nll;
    if (!std::isfinite(run.nll)) nll = nullptr;
    out.push_back({{"input_noise", run.noise}, {"features", run.features}, {"valid_nll", std::move(nll)}});
  }
  return out;
}

std::string RegressorRace::text() const {
  std::vector<std::string> others;
  for (uint64_t r = 0; r < raced_; ++r) {
    const Choice run = tried(r);
    others.push_back(
        fmt::format("noise {} features {}: {:.4f}", run.noise, fmt::join(run.features, ","), run.nll));
  }
  const Choice choice = best(raced_);
  return fmt::format("chosen on {}: input noise {}, features {} (NLL of mixtures: {})", place(), choice.noise,
                     fmt::join(choice.features, ","), fmt::join(others, "; "));
}

std::string RegressorRace::text(const PoolTemperatures& found) const {
  const double first = found.of(0, pool_), last = found.of(pool_ - 1, pool_);
  const double searched = std::log(found.proposed > 1 ? found.proposed : found.middle);
  const bool is_at_edge =
      searched > kWarmestMiddle - kMiddleStep / 2 || searched < kColdestMiddle + kMiddleStep / 2;
  return fmt::format(
      "chosen on {}: {} (NLL of averages of {} mixtures on {:.0f} rows: {:.4f}; with temperature 1: "
      "{:.4f}){}{}",
      place(),
      found.spread > 0 ? fmt::format("temperatures {:.2g} to {:.2g} of the members", first, last)
                       : fmt::format("temperature {:.2g} of all members", found.middle),
      pool_, found.rows, found.nll, found.untouched,
      found.proposed > 1 && found.middle < found.proposed
          ? fmt::format("; {:.2g} before the members as they are served had a say", found.proposed)
          : "",
      is_at_edge ? fmt::format("; {:.2g} is the edge of what is looked at", std::exp(searched)) : "");
}

}  // namespace selfnorm
