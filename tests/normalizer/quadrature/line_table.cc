#include "normalizer/quadrature/line_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace selfnorm {
namespace {

// f(t) on the cells of `edge`.
template <class Density>
LineTable table_of(const std::vector<double>& edge, const Density& density) {
  const KronrodRule rule(5);
  std::vector<double> f;
  for (size_t c = 0; c + 1 < edge.size(); ++c)
    for (const double u : rule.node) f.push_back(density(edge[c] + (edge[c + 1] - edge[c]) * u));
  return LineTable::of_cells(rule, edge, f);
}

TEST(LineTable, CubicMassesAreExact) {
  const LineTable table = table_of({-1, 0.5, 2}, [](double t) { return 3 - t + t * t; });
  const auto mass = [](double t) { return 3 * (t + 1) - (t * t - 1) / 2 + (t * t * t + 1) / 3; };
  EXPECT_EQ(table.at.front(), -1);
  EXPECT_EQ(table.at.back(), 2);
  EXPECT_NEAR(table.cumulative.back(), mass(2), 1e-12);
  for (const double t : {-0.99, -0.2, 0.5, 1.234, 1.999}) {
    EXPECT_NEAR(table.mass_below(t), mass(t), 1e-12);
    EXPECT_NEAR(table.density_at(t), 3 - t + t * t, 1e-10);
    EXPECT_NEAR(table.place_of(mass(t)), t, 1e-12);
  }
  EXPECT_EQ(table.mass_below(-2), 0);
  EXPECT_EQ(table.mass_below(3), table.cumulative.back());
  EXPECT_EQ(table.density_at(-1.1), 0);
  EXPECT_EQ(table.density_at(2.1), 0);
  EXPECT_EQ(table.place_of(0), -1);
  EXPECT_EQ(table.place_of(table.cumulative.back()), 2);
}

// exp(-40 t) in one cell: the polynomial through 11 nodes cannot follow it, the logarithm can.
TEST(LineTable, CellsThatAreWideForTheirDensity) {
  const LineTable table = table_of({0, 1}, [](double t) { return 40 * std::exp(-40 * t); });
  for (const double t : {0.01, 0.05, 0.1, 0.5}) EXPECT_NEAR(table.mass_below(t), -std::expm1(-40 * t), 2e-3);
  for (size_t i = 0; i < table.pieces(); ++i) EXPECT_GE(table.cumulative[i + 1], table.cumulative[i]);
}

TEST(LineTable, JumpsStayMonotone) {
  const LineTable table = table_of({0, 1, 2}, [](double t) { return t > 0.6 && t < 1.3 ? 1.0 : 0.0; });
  double before = 0;
  for (int i = 0; i <= 1000; ++i) {
    const double now = table.mass_below(i / 500.0);
    EXPECT_GE(now, before - 1e-15);
    EXPECT_GE(table.density_at(i / 500.0), 0);
    before = now;
  }
  EXPECT_NEAR(before, 0.7, 0.1);
}

TEST(LineTable, SumsAddMassesAndMeetingCellsDoNotCountTwice) {
  const auto one = [](double) { return 1.0; };
  // 0.5, the middle node of the first, is where the other two meet.
  const std::vector<LineTable> tables = {table_of({0, 1}, one), table_of({0, 0.5}, one),
                                         table_of({0.5, 1}, one)};
  const LineTable sum = LineTable::sum(tables, 0.5);
  EXPECT_NEAR(sum.cumulative.back(), 1, 1e-14);
  for (const double t : {0.1, 0.5, 0.77}) {
    EXPECT_NEAR(sum.density_at(t), 1, 1e-12);
    EXPECT_NEAR(sum.mass_below(t), t, 1e-13);
  }
}

TEST(LineTable, ScaleMovesPlacesAndKeepsMasses) {
  LineTable table = table_of({0, 1}, [](double t) { return 1 + t; });
  table.scale(10, 2, 0.5);
  EXPECT_NEAR(table.cumulative.back(), 0.75, 1e-13);
  EXPECT_NEAR(table.mass_below(11), 0.5 * 0.625, 1e-12);
  EXPECT_NEAR(table.density_at(11), 0.5 * 1.5 / 2, 1e-12);
}

// f(u) = a u^2 + b u + c from its ends and its mass.
LinePiece parabola(double a, double b, double c) { return {0, 1, a / 3 + b / 2 + c, c, a + b + c}; }

TEST(LinePiece, VertexAndLevelSets) {
  std::array<double, 4> ends;
  const LinePiece hill = parabola(-4, 4, 1);  // 2 at 1/2
  EXPECT_NEAR(hill.vertex(), 0.5, 1e-15);
  EXPECT_NEAR(hill.density(0.5), 2, 1e-14);
  ASSERT_EQ(hill.above(1.64, ends), 1u);
  EXPECT_NEAR(ends[0], 0.2, 1e-12);
  EXPECT_NEAR(ends[1], 0.8, 1e-12);
  const LinePiece valley = parabola(4, -4, 2);  // 1 at 1/2
  ASSERT_EQ(valley.above(1.36, ends), 2u);
  EXPECT_NEAR(ends[1], 0.2, 1e-12);
  EXPECT_NEAR(ends[2], 0.8, 1e-12);
  const LinePiece slope = parabola(0, 1, 1);
  EXPECT_EQ(slope.vertex(), -1);
  ASSERT_EQ(slope.above(1.25, ends), 1u);
  EXPECT_NEAR(ends[0], 0.25, 1e-12);
  EXPECT_EQ(ends[1], 1);
  const LinePiece flat = parabola(0, 0, 1);
  EXPECT_EQ(flat.vertex(), -1);
  EXPECT_EQ(flat.above(1, ends), 1u);
  EXPECT_EQ(flat.above(1.1, ends), 0u);
}

TEST(LinePiece, PlaceInvertsMass) {
  for (const LinePiece& p : {parabola(-4, 4, 0), parabola(3, 0, 0), parabola(0, 0, 2), parabola(12, -12, 3)})
    for (const double u : {0.0, 0.01, 0.3, 0.5, 0.9, 1.0})
      EXPECT_NEAR(p.mass_below(p.place_of(p.mass_below(u))), p.mass_below(u), 1e-13);
}

}  // namespace
}  // namespace selfnorm
