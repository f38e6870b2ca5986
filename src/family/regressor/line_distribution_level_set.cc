// Highest-density sets of line_distribution.h.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/range.h"
#include "family/regressor/line_distribution.h"

namespace selfnorm {
namespace {

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
