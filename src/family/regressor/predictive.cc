#include "family/regressor/predictive.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "base/failure.h"
#include "base/option_table.h"
#include "family/regressor/regressor_block.h"
#include "math/parallel.h"
#include "math/random.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/line_table.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// Draws from the density at the nodes of a quadrature of two or three dimensions.
class CellSampler {
 public:
  // The nodes have to outlive it.
  CellSampler(const PredictiveNodes& nodes, uint32_t dimension)
      : nodes_(nodes),
        dimension_(dimension),
        slice_(cell_rule(dimension).size()),
        lagrange_(cell_rule(dimension).size()) {
    const size_t n = nodes.nodes_per_cell;
    double sum = 0;
    for (size_t begin = 0; begin < nodes.log_density.size(); begin += n) {
      for (size_t i = begin; i < begin + n; ++i) sum += std::exp(nodes.log_weight[i] + nodes.log_density[i]);
      cumulative_.push_back(sum);
    }
  }

  // One draw, in the units of the nodes.
  // From the last coordinate, whose slices are contiguous, to the first: the slices' masses give its
  // distribution, and the polynomial through them at the drawn place the density of the coordinates that are
  // left.
  void draw(RandomStream& random, std::span<double> y) {
    const KronrodRule& rule = cell_rule(dimension_);
    const size_t points = rule.size(), n = nodes_.nodes_per_cell;
    const double mass = random.uniform() * cumulative_.back();
    const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, mass);
    const auto cell = static_cast<size_t>(above - cumulative_.begin());
    density_.resize(n);
    double peak = -INFINITY;
    for (size_t i = 0; i < n; ++i) peak = std::max(peak, nodes_.log_density[cell * n + i]);
    for (size_t i = 0; i < n; ++i) density_[i] = std::exp(nodes_.log_density[cell * n + i] - peak);

    constexpr std::array<double, 2> kUnit = {0, 1};
    size_t left = n;
    for (uint32_t j = dimension_; j-- > 0;) {
      left /= points;
      for (size_t a = 0; a < points; ++a) {
        double sum = 0;
        for (size_t i = 0; i < left; ++i) {
          double weight = 1;
          for (size_t rest = i, k = 0; k < j; ++k, rest /= points) weight *= rule.weight[rest % points];
          sum += weight * density_[a * left + i];
        }
        slice_[a] = sum;
      }
      const LineTable line = LineTable::of_cells(rule, kUnit, slice_);
      const double t = line.place_of(random.uniform() * line.cumulative.back());
      const double from = nodes_.box[2 * (cell * dimension_ + j)];
      const double to = nodes_.box[2 * (cell * dimension_ + j) + 1];
      y[j] = std::clamp(from + (to - from) * t, from, to);
      rule.lagrange(t, lagrange_);
      for (size_t i = 0; i < left; ++i) {
        double sum = 0;
        for (size_t a = 0; a < points; ++a) sum += lagrange_[a] * density_[a * left + i];
        density_[i] = std::max(0.0, sum);
      }
    }
  }

 private:
  const PredictiveNodes& nodes_;
  uint32_t dimension_;
  std::vector<double> cumulative_;  // masses of the cells
  std::vector<double> density_, slice_, lagrange_;
};

constexpr size_t kGrain = 8;         // rows, a unit of parallel work
constexpr uint64_t kRawRows = 4096;  // at once, without quadrature
constexpr double kGridMass = 0.999, kGridMargin = 0.1;

// From standardised units to those of the data: of all that a mean may be large against the scale.
struct Units {
  double mean, scale;

  double of(double u) const { return mean + scale * u; }
  Interval of(const Interval& u) const { return {of(u.from), of(u.to)}; }
  template <typename Value>
  std::vector<Value> of(std::vector<Value> values) const {
    for (Value& value : values) value = of(value);
    return values;
  }
};

// `line` in standardised units.
CoordinatePrediction coordinate_prediction(const LineDistribution& line, const Units& units,
                                           const PredictionOptions& options) {
  CoordinatePrediction out;
  out.mean = units.of(line.mean());
  out.deviation = units.scale * line.deviation();
  out.median = units.of(line.quantile(0.5));
  out.modes = units.of(line.modes());
  for (const double level : options.quantiles) out.quantiles.push_back(units.of(line.quantile(level)));
  for (const double level : options.intervals) {
    out.central.push_back(units.of(line.central(level)));
    out.highest_density.push_back(units.of(line.highest_density(level)));
  }
  for (const double t : options.survival)
    out.survival.push_back(1 - line.cdf((t - units.mean) / units.scale));
  if (options.grid == 0) return out;
  const Interval most = line.central(kGridMass), region = line.region();
  const double margin = kGridMargin * (most.to - most.from);
  const double from = std::max(region.from, most.from - margin), to = std::min(region.to, most.to + margin);
  for (uint64_t i = 0; i < options.grid; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(options.grid - 1);
    const double u = from + (to - from) * share;
    out.grid_y.push_back(units.of(u));
    out.grid_density.push_back(std::exp(line.log_density(u)) / units.scale);
  }
  return out;
}

// Stream `row` of the seed; samples x d in the units of the data. `line`: of the first coordinate, in
// standardised units.
std::vector<double> draw(std::span<const Units> units, std::span<const PredictiveNodes* const> members,
                         const PredictionOptions& options, RandomStream random,
                         const LineDistribution& line) {
  const size_t d = units.size();
  std::vector<double> out(options.samples * d);
  if (d == 1) {
    for (double& y : out) y = units[0].of(line.quantile(std::max(0x1p-54, random.uniform())));
    return out;
  }
  std::vector<CellSampler> samplers;
  for (const PredictiveNodes* nodes : members) samplers.emplace_back(*nodes, static_cast<uint32_t>(d));
  for (uint64_t i = 0; i < options.samples; ++i) {
    const std::span<double> y = std::span(out).subspan(i * d, d);
    samplers[random.below(samplers.size())].draw(random, y);
    for (size_t j = 0; j < d; ++j) y[j] = units[j].of(y[j]);
  }
  return out;
}

bool is_finite(const Prediction& p) {
  const auto all = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
  };
  return all(p.samples) && std::ranges::all_of(p.coordinates, [&](const CoordinatePrediction& c) {
           return all({c.mean, c.deviation, c.median}) && all(c.modes) && all(c.quantiles);
         });
}

}  // namespace

OptionTable prediction_option_table(PredictionOptions& o) {
  OptionTable table;
  table.add("quantiles", &o.quantiles, "Levels, X,X,...; none: no quantiles").above(0).below(1);
  table
      .add("intervals", &o.intervals,
           "Masses of central and highest-density intervals, X,X,...; none: no intervals")
      .above(0)
      .below(1);
  table.add("survival", &o.survival,
            "Places T,T,... of the survival function P(y > T), in the units of the target");
  table.add("number", &o.samples, "Draws of the target for every row").short_form("-n");
  table.add("grid", &o.grid, "Points of the density for every row; 0, or 2 and more");
  table.add("precision", &o.quadrature.precision, "Error of A(x) by quadrature").in(1e-8, 0.1);
  table.add("seed", &o.seed, "Seed of the samples");
  return table;
}

void PredictionOptions::validate() const {
  PredictionOptions copy = *this;
  prediction_option_table(copy).validate();
  require_range(grid != 1, "points of the grid", static_cast<double>(grid), "0 or at least 2");
  quadrature.validate();
}

void predict(const Regressor& model, const InputRows& x, std::span<const double> y,
             const PredictionOptions& options, const std::function<void(uint64_t, Prediction&&)>& each) {
  options.validate();
  if (!y.empty()) check_targets(model, x.rows(), y);
  const uint32_t d = model.dimension();
  std::vector<Units> units;
  for (uint32_t j = 0; j < d; ++j) units.push_back({model.target_mean[j], model.target_scale[j]});
  const double volume = model.log_volume(), count = std::log(static_cast<double>(model.members.size()));
  const uint64_t at_once = rows_at_once(d);
  for (uint64_t begin = 0; begin < x.rows(); begin += at_once) {
    const uint64_t end = std::min(x.rows(), begin + at_once);
    const InputRows block = x.slice(begin, end);
    std::vector<double> numbers;  // NaN where it is an interval
    if (!y.empty())
      numbers.assign(y.begin() + static_cast<ptrdiff_t>(begin * d),
                     y.begin() + static_cast<ptrdiff_t>(end * d));
    const auto is_interval = [&](size_t i) {
      return !options.high.empty() && y[begin + i] < options.high[begin + i];
    };
    for (size_t i = 0; i < numbers.size(); ++i)
      if (is_interval(i)) numbers[i] = NAN;
    const BlockTargets targets(model, numbers);
    ConditionalQuadratureOptions quadrature = options.quadrature;
    quadrature.first_row += begin;
    const std::vector<MemberBlock> members = member_blocks(model, block, targets, quadrature);
    std::vector<Prediction> out(end - begin);
    parallel_ranges(out.size(), kGrain, [&](size_t from, size_t to) {
      std::vector<const PredictiveNodes*> nodes(members.size());
      for (size_t i = from; i < to; ++i) {
        Prediction& p = out[i];
        LogSumExp exact, raw;
        for (size_t m = 0; m < members.size(); ++m) {
          nodes[m] = &members[m].nodes[i];
          p.error = std::max(p.error, nodes[m]->error);
          p.tail = std::max(p.tail, nodes[m]->tail);
          exact.add(members[m].target.s[i] - members[m].log_normalizer(i));
          raw.add(members[m].target.s[i] - members[m].target.b[i]);
        }
        p.log_normalizer = members[0].log_normalizer(i);
        p.normalizer = members[0].target.b[i];
        if (targets.is_given(i)) {
          p.log_density = exact.value() - count - volume;
          p.log_density_raw = raw.value() - count - volume;
        }
        for (uint32_t j = 0; j < d; ++j) {
          const auto line = LineDistribution::of(nodes, j, d, 0, 1);
          p.coordinates.push_back(coordinate_prediction(line, units[j], options));
          if (is_interval(i))
            p.log_density = line.log_mass({(y[begin + i] - units[0].mean) / units[0].scale,
                                           (options.high[begin + i] - units[0].mean) / units[0].scale});
          if (j == 0 && options.samples > 0)
            p.samples = draw(units, nodes, options, RandomStream(options.seed, begin + i), line);
        }
      }
    });
    for (size_t i = 0; i < out.size(); ++i) {
      if (!is_finite(out[i]))
        throw_error(
            "row {} (from 0): the prediction is not finite; the model is damaged, or its training diverged",
            begin + i);
      each(begin + i, std::move(out[i]));
    }
  }
}

std::vector<double> raw_log_density(const Regressor& model, const InputRows& x, std::span<const double> y) {
  check_targets(model, x.rows(), y);
  const uint32_t d = model.dimension();
  const double volume = model.log_volume(), count = std::log(static_cast<double>(model.members.size()));
  std::vector<double> out;
  out.reserve(x.rows());
  for (uint64_t begin = 0; begin < x.rows(); begin += kRawRows) {
    const uint64_t end = std::min(x.rows(), begin + kRawRows);
    const InputRows block = x.slice(begin, end);
    const BlockTargets targets(model, y.subspan(begin * d, (end - begin) * d));
    std::vector<LogSumExp> sum(end - begin);
    for (size_t m = 0; m < model.members.size(); ++m) {
      const TargetScores scores = target_scores(*prepare_scores(model, m, block), targets, begin);
      for (size_t i = 0; i < sum.size(); ++i) sum[i].add(scores.s[i] - scores.b[i]);
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      if (!targets.is_given(i))
        throw_error("row {}: the target is not a number; expected one for every row", begin + i);
      out.push_back(sum[i].value() - count - volume);
    }
  }
  return out;
}

}  // namespace selfnorm
