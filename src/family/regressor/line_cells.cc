// Tables of line_table.h from the cells of a quadrature.
#include <algorithm>
#include <array>
#include <cmath>

#include "family/regressor/line_table.h"

namespace selfnorm {
namespace {

constexpr double kRough = 1e-4;       // mass, of the last Legendre coefficients of a cell
constexpr double kLeastLog = -700;    // of a density, relative to the largest of its cell
constexpr double kLargestRise = 0.5;  // of log f between two nodes, over the higher one
constexpr double kStep = 0.7;         // of log f, in a piece
constexpr double kMostParts = 16;     // of the gap between two nodes

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
      log_[i] = std::log(largest) + std::max(kLeastLog, std::log(cell.f[i] / largest));
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
