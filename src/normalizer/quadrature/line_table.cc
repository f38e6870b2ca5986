#include "normalizer/quadrature/line_table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace selfnorm {
namespace {

// Tables of line_table.h from the cells of a quadrature.

constexpr double kRough = 1e-4;            // mass, of the last Legendre coefficients of a cell
constexpr double kLeastLogDensity = -700;  // of a density, relative to the largest of its cell
constexpr double kLargestRise = 0.5;       // of log f between two nodes, over the higher one
constexpr double kStep = 0.7;              // of log f, in a piece
constexpr double kMostParts = 16;          // of the gap between two nodes

struct LineCell {
  const KronrodRule& rule;
  double from, width;
  std::span<const double> f;

  double place(double u) const { return from + width * u; }
  bool is_rough() const { return rule.roughness(f) * width > kRough; }
  // The polynomial through the densities, which may not leave [0, twice the largest].
  double polynomial(double u) const {
    std::vector<double> l(f.size());
    rule.lagrange(u, l);
    double sum = 0;
    for (size_t j = 0; j < f.size(); ++j) sum += l[j] * f[j];
    return std::clamp(sum, 0.0, 2 * *std::max_element(f.begin(), f.end()));
  }
};

// exp of the cubic through the logarithms of the densities at four neighbouring nodes.
class LogCubic {
 public:
  explicit LogCubic(const LineCell& cell) : cell_(cell), log_(cell.f.size()) {
    const double largest = *std::max_element(cell.f.begin(), cell.f.end());
    for (size_t i = 0; i < log_.size(); ++i)
      log_[i] = std::log(largest) + std::max(kLeastLogDensity, std::log(cell.f[i] / largest));
  }
  double log_at(size_t i) const { return log_[i]; }
  // In the gap between nodes i and i + 1, or beyond the first or last node.
  double operator()(size_t i, double u) const {
    const size_t first = std::min(i == 0 ? 0 : i - 1, log_.size() - 4);
    double sum = 0;
    for (size_t a = first; a < first + 4; ++a) {
      double l = 1;
      for (size_t b = first; b < first + 4; ++b)
        if (b != a) l *= (u - cell_.rule.node[b]) / (cell_.rule.node[a] - cell_.rule.node[b]);
      sum += l * log_[a];
    }
    return std::exp(std::min(sum, std::max(log_[i], log_[i + 1]) + kLargestRise));
  }

 private:
  const LineCell& cell_;
  std::vector<double> log_;
};

class Builder {
 public:
  explicit Builder(size_t points) {
    for (auto* v : {&out_.at, &out_.density, &out_.cumulative}) v->reserve(points);
  }
  void add(double t, double f, double c) {
    if (!out_.at.empty() && !(t > out_.at.back())) return;
    out_.at.push_back(t);
    out_.density.push_back(f);
    out_.cumulative.push_back(out_.cumulative.empty() ? 0 : std::max(c, out_.cumulative.back()));
  }
  void add_smooth(const LineCell& cell) {
    const size_t n = cell.f.size();
    double whole = 0;
    for (size_t j = 0; j < n; ++j) whole += cell.width * cell.rule.weight[j] * cell.f[j];
    for (size_t i = 0; i < n; ++i) {
      double mass = 0;
      for (size_t j = 0; j < n; ++j) mass += cell.rule.cumulative[i * n + j] * cell.f[j];
      add(cell.place(cell.rule.node[i]), cell.f[i], before_ + std::min(cell.width * mass, whole));
    }
    before_ += whole;
  }
  void add_rough(const LineCell& cell) {
    static const KronrodRule line(1);
    const LogCubic f(cell);
    const std::vector<double>& node = cell.rule.node;
    const size_t n = node.size();
    const auto integrate = [&](size_t gap, double from, double to) {
      for (size_t q = 0; q < line.size(); ++q)
        before_ += cell.width * (to - from) * line.weight[q] * f(gap, from + (to - from) * line.node[q]);
    };
    integrate(0, 0, node[0]);
    add(cell.place(node[0]), cell.f[0], before_);
    for (size_t i = 0; i + 1 < n; ++i) {
      const double change = std::abs(f.log_at(i + 1) - f.log_at(i));
      const auto parts = static_cast<int>(std::clamp(std::ceil(change / kStep), 1.0, kMostParts));
      const double step = (node[i + 1] - node[i]) / parts;
      for (int p = 0; p < parts; ++p) {
        const double from = node[i] + step * p, to = from + step;
        integrate(i, from, to);
        if (p + 1 < parts) add(cell.place(to), f(i, to), before_);
      }
      add(cell.place(node[i + 1]), cell.f[i + 1], before_);
    }
    integrate(n - 2, node[n - 1], 1);
  }
  double before() const { return before_; }
  LineTable& table() { return out_; }

 private:
  LineTable out_;
  double before_ = 0;  // mass of the cells so far
};

}  // namespace

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

LineTable LineTable::of_cells(const KronrodRule& rule, std::span<const double> edge,
                              std::span<const double> densities) {
  const size_t n = rule.size(), cells = edge.size() - 1;
  const auto cell = [&](size_t c) {
    return LineCell{rule, edge[c], edge[c + 1] - edge[c], densities.subspan(c * n, n)};
  };
  Builder builder(cells * n + 2);
  builder.add(edge[0], cell(0).polynomial(0), 0);
  for (size_t c = 0; c < cells; ++c)
    cell(c).is_rough() ? builder.add_rough(cell(c)) : builder.add_smooth(cell(c));
  builder.add(edge[cells], cell(cells - 1).polynomial(1), builder.before());
  builder.table().limit_densities();
  return std::move(builder.table());
}

}  // namespace selfnorm
