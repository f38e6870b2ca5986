#include "model/energy/autoregressive_energy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/energy/make_energy.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::vector<float> line_normals(size_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> out(count);
  for (float& v : out) v = static_cast<float>(random.normal());
  return out;
}

// Of three columns, with f and b that are not 0.
AutoregressiveEnergy moved_energy() {
  AutoregressiveEnergy energy({.dimension = 3, .features = {6, 5}, .tilt = {4}, .normalizer = {3}}, 1);
  const std::vector<float> x = line_normals(300, 2);
  energy.start_at({x.data(), 100, 3});
  RandomStream random(3);
  for (float& v : energy.parameters()) v += static_cast<float>(0.3 * random.normal());
  energy.parameters_changed();
  return energy;
}

std::vector<double> line_scores(const Energy& energy, const std::vector<float>& x) {
  std::vector<double> out(x.size() / energy.dimension());
  energy.score({x.data(), out.size(), energy.dimension()}, out);
  return out;
}

// s_i(x_i; x_<i) - b_i(x_<i) of one row.
double line_term(const AutoregressiveEnergy& energy, uint32_t column, const std::vector<float>& row) {
  const auto line = energy.line(column, {row.data(), 1, energy.dimension()});
  const uint32_t zero = 0;
  double s = 0;
  line->score({&row[column], 1, 1}, {&zero, 1}, {&s, 1});
  return s - line->normalizer(0);
}

TEST(AutoregressiveEnergy, IsTheSumOfItsLines) {
  const AutoregressiveEnergy energy = moved_energy();
  const std::vector<float> x = line_normals(30, 4);
  const std::vector<double> s = line_scores(energy, x);
  for (size_t r = 0; r < s.size(); ++r) {
    const std::vector<float> row(x.begin() + static_cast<ptrdiff_t>(3 * r),
                                 x.begin() + static_cast<ptrdiff_t>(3 * r + 3));
    EXPECT_NEAR(s[r], line_term(energy, 0, row) + line_term(energy, 1, row) + line_term(energy, 2, row),
                1e-5);
  }
}

TEST(AutoregressiveEnergy, AColumnSeesThoseBeforeItAlone) {
  const AutoregressiveEnergy energy = moved_energy();
  const std::vector<float> row{0.3f, -0.7f, 0.4f};
  for (uint32_t changed = 0; changed < 3; ++changed) {
    std::vector<float> other = row;
    other[changed] += 0.5f;
    for (uint32_t column = 0; column < 3; ++column) {
      if (column < changed)
        EXPECT_EQ(line_term(energy, column, row), line_term(energy, column, other)) << column << changed;
      else
        EXPECT_GT(std::abs(line_term(energy, column, row) - line_term(energy, column, other)), 1e-4)
            << column << changed;
    }
  }
}

// What lies beyond the rows it started at is seen at their ends.
TEST(AutoregressiveEnergy, ColumnsAreSeenInTheirRange) {
  const AutoregressiveEnergy energy = moved_energy();
  EXPECT_EQ(line_term(energy, 1, {50, 0.5f, 0}), line_term(energy, 1, {1e30f, 0.5f, 0}));
}

TEST(AutoregressiveEnergy, StartsAsItsMixtures) {
  AutoregressiveEnergy energy({.dimension = 2}, 5);
  const std::vector<float> x = line_normals(400, 6);
  energy.start_at({x.data(), 200, 2});
  for (uint32_t column = 0; column < 2; ++column) {
    const auto line = energy.line(column, {x.data(), 200, 2});
    for (uint64_t r = 0; r < 200; ++r) EXPECT_EQ(line->normalizer(r), 0);
  }
  double mean = 0;  // of two independent normals: the entropy is 2.84
  for (const double s : line_scores(energy, x)) mean -= s / 200;
  EXPECT_NEAR(mean, std::log(2 * M_PI * M_E), 0.2);
}

TEST(AutoregressiveEnergy, IsTheSameFromItsRecord) {
  const AutoregressiveEnergy energy = moved_energy();
  const auto again = make_energy(energy.record());
  const std::vector<float> x = line_normals(30, 7);
  EXPECT_EQ(line_scores(energy, x), line_scores(*again, x));
}

TEST(AutoregressiveEnergy, DamagedRecordsAreErrors) {
  const EnergyRecord good = moved_energy().record();
  EnergyRecord lacking = good, other = good, crossed = good;
  lacking.tensors.pop_back();
  EXPECT_THROW(make_energy(lacking), Error);
  const size_t at = other.settings.find("\"dimension\":3");
  ASSERT_NE(at, std::string::npos);
  other.settings.replace(at, 13, "\"dimension\":2");
  EXPECT_THROW(make_energy(other), Error);
  for (float& v : crossed.tensors[0].values) v = 1e6f;  // lower ends
  EXPECT_THROW(make_energy(crossed), Error);
}

TEST(AutoregressiveEnergy, HasNoDerivativesInX) {
  const AutoregressiveEnergy energy = moved_energy();
  EXPECT_THROW(energy.make_pass(), Error);
  EXPECT_THROW(check_energy_word("autoregressive:0"), Error);
}

}  // namespace
}  // namespace selfnorm
