#include "family/regressor/line_table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace selfnorm {

double LinePiece::mass_below(double u) const {
  return u * (width * first * (1 - u) * (1 - u) - width * last * u * (1 - u) + mass * u * (3 - 2 * u));
}

double LinePiece::density(double u) const {
  return first * (1 - u) * (1 - 3 * u) + last * u * (3 * u - 2) + 6 * mass / width * u * (1 - u);
}

// Newton's method inside a bracket.
double LinePiece::place_of(double m) const {
  double low = 0, high = 1, u = mass > 0 ? std::clamp(m / mass, 0.0, 1.0) : 0.5;
  for (int step = 0; step < 60; ++step) {
    const double excess = mass_below(u) - m;
    (excess > 0 ? high : low) = u;
    if (std::abs(excess) <= 1e-14 * mass || high - low < 1e-15) break;
    const double next = u - excess / (width * density(u));
    u = next > low && next < high ? next : low / 2 + high / 2;
  }
  return u;
}

double LinePiece::vertex() const {
  const double mean = mass / width;
  const double square = 3 * (first + last) - 6 * mean, linear = 6 * mean - 4 * first - 2 * last;
  const double u = -linear / (2 * square);
  return u > 0 && u < 1 ? u : -1;
}

size_t LinePiece::above(double level, std::span<double, 4> ends) const {
  const double mean = mass / width;
  const double a = 3 * (first + last) - 6 * mean, b = 6 * mean - 4 * first - 2 * last, c = first - level;
  std::array<double, 4> cut = {0, 1, 1, 1};
  size_t cuts = 1;
  const double discriminant = b * b - 4 * a * c;
  if (discriminant > 0) {
    // The stable pair of roots.
    const double q = -(b + std::copysign(std::sqrt(discriminant), b)) / 2;
    std::array<double, 2> root = {q / a, c / q};
    if (!(root[0] <= root[1])) std::swap(root[0], root[1]);
    for (const double r : root)
      if (r > 0 && r < 1) cut[cuts++] = r;
  }
  cut[cuts++] = 1;
  size_t parts = 0;
  for (size_t i = 0; i + 1 < cuts; ++i) {
    if (!(density(cut[i] / 2 + cut[i + 1] / 2) >= level)) continue;
    ends[2 * parts] = cut[i];
    ends[2 * parts + 1] = cut[i + 1];
    ++parts;
  }
  return parts;
}

LinePiece LineTable::piece(size_t i) const {
  return {at[i], at[i + 1] - at[i], cumulative[i + 1] - cumulative[i], density[i], density[i + 1]};
}

size_t LineTable::piece_at(double t) const {
  const auto after = static_cast<size_t>(std::upper_bound(at.begin(), at.end(), t) - at.begin());
  return std::clamp<size_t>(after, 1, pieces()) - 1;
}

double LineTable::mass_below(double t) const {
  if (!(t > at.front())) return 0;
  if (t >= at.back()) return cumulative.back();
  const size_t i = piece_at(t);
  const LinePiece p = piece(i);
  return cumulative[i] + p.mass_below((t - p.from) / p.width);
}

double LineTable::density_at(double t) const {
  if (!(t >= at.front() && t <= at.back())) return 0;
  const LinePiece p = piece(piece_at(t));
  return std::max(0.0, p.density((t - p.from) / p.width));
}

double LineTable::place_of(double mass) const {
  const auto above = std::lower_bound(cumulative.begin() + 1, cumulative.end(), mass);
  const size_t i = std::min(static_cast<size_t>(above - cumulative.begin()), pieces()) - 1;
  const LinePiece p = piece(i);
  return p.from + p.width * p.place_of(mass - cumulative[i]);
}

void LineTable::scale(double mean, double deviation, double factor) {
  for (double& t : at) t = mean + deviation * t;
  for (double& f : density) f *= factor / deviation;
  for (double& c : cumulative) c *= factor;
}

void LineTable::limit_densities() {
  for (size_t i = 0; i < pieces(); ++i) {
    const double most = 3 * (cumulative[i + 1] - cumulative[i]) / (at[i + 1] - at[i]);
    density[i] = std::min(density[i], most);
    density[i + 1] = std::min(density[i + 1], most);
  }
}

LineTable LineTable::sum(std::span<const LineTable> tables, double factor) {
  LineTable out;
  double from = tables.front().at.front(), to = tables.front().at.back();
  for (const LineTable& table : tables) {
    from = std::min(from, table.at.front());
    to = std::max(to, table.at.back());
    out.at.insert(out.at.end(), table.at.begin() + 1, table.at.end() - 1);
  }
  out.at.push_back(from);
  out.at.push_back(to);
  std::sort(out.at.begin(), out.at.end());
  // Points that nearly meet are one.
  const double step = 1e-12 * (to - from);
  out.at.erase(std::unique(out.at.begin(), out.at.end(), [&](double a, double b) { return b - a <= step; }),
               out.at.end());
  out.at.back() = to;
  out.density.assign(out.at.size(), 0);
  out.cumulative.assign(out.at.size(), 0);
  for (const LineTable& table : tables) {
    size_t i = 0;
    for (size_t p = 0; p < out.at.size(); ++p) {
      const double t = out.at[p];
      if (t < table.at.front()) continue;
      if (t > table.at.back()) {
        out.cumulative[p] += factor * table.cumulative.back();
        continue;
      }
      while (i + 1 < table.pieces() && table.at[i + 1] < t) ++i;
      const LinePiece piece = table.piece(i);
      const double u = (t - piece.from) / piece.width;
      out.cumulative[p] += factor * (table.cumulative[i] + piece.mass_below(u));
      // Two tables that meet at t have half of it each.
      const bool is_end = (t == table.at.front() && t > from) || (t == table.at.back() && t < to);
      out.density[p] += (is_end ? factor / 2 : factor) * std::max(0.0, piece.density(u));
    }
  }
  for (size_t p = 1; p < out.at.size(); ++p)
    out.cumulative[p] = std::max(out.cumulative[p], out.cumulative[p - 1]);
  out.limit_densities();
  return out;
}

}  // namespace selfnorm
