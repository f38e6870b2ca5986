#include "normalizer/quadrature/line_distribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "base/failure.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kLeastMode = 0.05;    // of the largest density
constexpr double kDeepestFlat = 0.99;  // of the lower of two modes

LineTable line(const PredictiveNodes& nodes) {
  std::vector<double> density(nodes.log_density.size());
  for (size_t i = 0; i < density.size(); ++i) density[i] = std::exp(nodes.log_density[i]);
  return LineTable::of_cells(cell_rule(1), nodes.edge, density);
}

// Cells with the same sides along the axis have one table.
LineTable marginal(const PredictiveNodes& nodes, uint32_t axis, uint32_t d) {
  const KronrodRule& rule = cell_rule(d);
  size_t stride = 1;
  for (uint32_t j = 0; j < axis; ++j) stride *= rule.size();
  std::map<std::pair<double, double>, std::vector<double>> slices;
  for (size_t c = 0; c < nodes.box.size() / 2 / d; ++c) {
    const double from = nodes.box[2 * (c * d + axis)], to = nodes.box[2 * (c * d + axis) + 1];
    std::vector<double>& slice = slices.try_emplace({from, to}, rule.size(), 0.0).first->second;
    for (size_t i = 0; i < nodes.nodes_per_cell; ++i) {
      const size_t node = c * nodes.nodes_per_cell + i, place = i / stride % rule.size();
      slice[place] +=
          std::exp(nodes.log_weight[node] + nodes.log_density[node]) / (rule.weight[place] * (to - from));
    }
  }
  // The polynomials of the slices at the nodes of a finer rule.
  const KronrodRule& fine = cell_rule(1);
  std::vector<double> l(rule.size()), at_fine(fine.size());
  std::vector<LineTable> tables;
  for (const auto& [side, slice] : slices) {
    for (size_t i = 0; i < fine.size(); ++i) {
      rule.lagrange(fine.node[i], l);
      at_fine[i] = std::max(0.0, std::inner_product(l.begin(), l.end(), slice.begin(), 0.0));
    }
    tables.push_back(LineTable::of_cells(fine, std::vector{side.first, side.second}, at_fine));
  }
  return LineTable::sum(tables, 1);
}

// Highest-density sets of line_distribution.h.

constexpr double kMassPrecision = 1e-9;
constexpr int kMostSteps = 100;

struct PieceRange {
  LinePiece piece;
  double least, largest;  // density
};

std::vector<PieceRange> ranges(const LineTable& table) {
  std::vector<PieceRange> out;
  out.reserve(table.pieces());
  for (size_t i = 0; i < table.pieces(); ++i) {
    const LinePiece p = table.piece(i);
    PieceRange r{p, std::min(p.first, p.last), std::max(p.first, p.last)};
    if (const double u = p.vertex(); u > 0) {
      r.least = std::min(r.least, p.density(u));
      r.largest = std::max(r.largest, p.density(u));
    }
    out.push_back(r);
  }
  return out;
}

double mass_above(const std::vector<PieceRange>& all, double t) {
  double sum = 0;
  std::array<double, 4> ends;
  for (const PieceRange& r : all) {
    if (r.largest < t) continue;
    if (r.least >= t) {
      sum += r.piece.mass;
      continue;
    }
    const size_t parts = r.piece.above(t, ends);
    for (size_t i = 0; i < parts; ++i)
      sum += r.piece.mass_below(ends[2 * i + 1]) - r.piece.mass_below(ends[2 * i]);
  }
  return sum;
}

// The largest t, nearly, with mass_above(t) >= level: false position with halved weights (Illinois), halving
// where that does not get on.
double density_level(const std::vector<PieceRange>& all, double level) {
  double low = 0, high = 0, above_low = 1 - level, above_high = -level;
  for (const PieceRange& r : all) high = std::max(high, r.largest);
  int side = 0;
  for (int step = 0; step < kMostSteps && high - low > 1e-14 * high; ++step) {
    double t = (low * above_high - high * above_low) / (above_high - above_low);
    if (step % 4 == 3 || !(t > low && t < high)) t = low / 2 + high / 2;
    const double excess = mass_above(all, t) - level;
    if (excess >= 0) {
      low = t;
      above_low = excess;
      if (excess <= kMassPrecision) break;
      if (side > 0) above_high /= 2;
      side = 1;
    } else {
      high = t;
      above_high = excess;
      if (side < 0) above_low /= 2;
      side = -1;
    }
  }
  return low;
}

}  // namespace

LineDistribution LineDistribution::of(std::span<const PredictiveNodes* const> members, uint32_t coordinate,
                                      uint32_t dimension, double mean, double scale) {
  SELFNORM_CHECK(!members.empty() && coordinate < dimension && scale > 0);
  std::vector<LineTable> tables;
  for (const PredictiveNodes* nodes : members)
    tables.push_back(dimension == 1 ? line(*nodes) : marginal(*nodes, coordinate, dimension));
  LineDistribution out;
  out.table_ = tables.size() == 1 ? std::move(tables.front())
                                  : LineTable::sum(tables, 1 / static_cast<double>(tables.size()));
  out.table_.scale(mean, scale, 1 / out.table_.cumulative.back());
  for (double& c : out.table_.cumulative) c = std::min(c, 1.0);
  out.table_.cumulative.back() = 1;
  return out;
}

// Of the piece that starts at a: integral (t - a) dF = h m / 2 - h^2 (f_0 - f_1) / 12.
double LineDistribution::mean() const {
  double sum = 0;
  for (size_t i = 0; i < table_.pieces(); ++i) {
    const LinePiece p = table_.piece(i);
    sum += p.mass * (p.from + p.width / 2) - p.width * p.width * (p.first - p.last) / 12;
  }
  return sum;
}

// integral (t - a)^2 dF = h^2 (3 m / 10 - h f_0 / 15 + h f_1 / 10).
double LineDistribution::deviation() const {
  const double centre = mean();
  double sum = 0;
  for (size_t i = 0; i < table_.pieces(); ++i) {
    const LinePiece p = table_.piece(i);
    const double offset = p.from - centre, h = p.width;
    const double first = h * p.mass / 2 - h * h * (p.first - p.last) / 12;
    const double second = h * h * (0.3 * p.mass - h * p.first / 15 + h * p.last / 10);
    sum += offset * offset * p.mass + 2 * offset * first + second;
  }
  return std::sqrt(std::max(0.0, sum));
}

double LineDistribution::quantile(double level) const {
  require_range(level > 0 && level < 1, "quantile: level", level, "(0, 1)");
  return table_.place_of(level);
}

double LineDistribution::cdf(double y) const { return std::min(1.0, table_.mass_below(y)); }

double LineDistribution::log_mass(const Interval& interval) const {
  const double below = std::isinf(interval.from) ? 0 : cdf(interval.from);
  const double through = std::isinf(interval.to) ? 1 : cdf(interval.to);
  return std::log(std::max(kLeastMass, through - below));
}

double LineDistribution::log_density(double y) const { return std::log(table_.density_at(y)); }

Interval LineDistribution::central(double level) const {
  return {quantile((1 - level) / 2), quantile((1 + level) / 2)};
}

// F^2 below y and (1 - F)^2 above are polynomials of degree 6 in a piece, for which 5 Kronrod nodes are
// exact.
double LineDistribution::crps(double y) const {
  static const KronrodRule rule(2);
  double sum = std::max({0.0, table_.at.front() - y, y - table_.at.back()});
  const auto add = [&](size_t i, double from, double to, bool is_below) {
    const LinePiece p = table_.piece(i);
    for (size_t q = 0; q < rule.size(); ++q) {
      const double f = table_.cumulative[i] + p.mass_below(from + (to - from) * rule.node[q]);
      sum += p.width * (to - from) * rule.weight[q] * (is_below ? f * f : (1 - f) * (1 - f));
    }
  };
  for (size_t i = 0; i < table_.pieces(); ++i) {
    const double u = (y - table_.at[i]) / (table_.at[i + 1] - table_.at[i]);
    if (u > 0) add(i, 0, std::min(1.0, u), true);
    if (u < 1) add(i, std::max(0.0, u), 1, false);
  }
  return sum;
}

std::vector<double> LineDistribution::modes() const {
  struct Peak {
    double at, density;
  };
  std::vector<Peak> peaks;
  double valley = INFINITY;  // the least density since the last peak
  // Peaks that only a shallow valley divides are one, the higher.
  const auto add = [&](double t, double f) {
    if (peaks.empty()) {
      peaks.push_back({t, f});
      valley = f;
    } else if (valley > kDeepestFlat * std::min(f, peaks.back().density)) {
      if (f > peaks.back().density) {
        peaks.back() = {t, f};
        valley = f;
      }
    } else if (f * kDeepestFlat > valley) {
      peaks.push_back({t, f});
      valley = f;
    }
    valley = std::min(valley, f);
  };
  for (size_t i = 0; i < table_.pieces(); ++i) {
    const LinePiece p = table_.piece(i);
    add(p.from, p.first);
    const double u = p.vertex();
    if (u > 0) add(p.from + p.width * u, std::max(0.0, p.density(u)));
  }
  add(table_.at.back(), table_.density.back());
  std::stable_sort(peaks.begin(), peaks.end(),
                   [](const Peak& a, const Peak& b) { return a.density > b.density; });
  std::vector<double> out;
  for (const Peak& peak : peaks)
    if (peak.density >= kLeastMode * peaks.front().density) out.push_back(peak.at);
  return out;
}

std::vector<Interval> LineDistribution::highest_density(double level) const {
  require_range(level > 0 && level < 1, "highest-density interval: level", level, "(0, 1)");
  const std::vector<PieceRange> all = ranges(table_);
  const double t = density_level(all, level);
  std::vector<Interval> out;
  const auto add = [&](double from, double to) {
    if (!out.empty() && from <= out.back().to)
      out.back().to = to;
    else
      out.push_back({from, to});
  };
  std::array<double, 4> ends;
  double excess = -level;
  for (size_t i = 0; i < all.size(); ++i) {
    const LinePiece& p = all[i].piece;
    if (all[i].largest < t) continue;
    if (all[i].least >= t) {
      add(p.from, table_.at[i + 1]);
      excess += p.mass;
      continue;
    }
    const size_t parts = p.above(t, ends);
    for (size_t k = 0; k < parts; ++k) {
      add(p.from + p.width * ends[2 * k],
          ends[2 * k + 1] == 1 ? table_.at[i + 1] : p.from + p.width * ends[2 * k + 1]);
      excess += p.mass_below(ends[2 * k + 1]) - p.mass_below(ends[2 * k]);
    }
  }
  while (excess > 1e-6) {
    const double end = cdf(out.back().to), mass = end - cdf(out.back().from);
    if (mass > excess || out.size() == 1) {
      out.back().to = table_.place_of(end - excess);
      break;
    }
    excess -= mass;
    out.pop_back();
  }
  return out;
}

}  // namespace selfnorm
