#include "normalizer/ladder/tail_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "normalizer/ladder/clustered_head.h"

namespace selfnorm {
namespace {

using runtime::NearestSum;

// Half of the sum is left, and its true size differs from the estimate by `truth` of x.
struct Tails {
  Features x = dense_inputs(1500, 3, 1);
  std::vector<NearestSum> sums;
  std::vector<double> log_z;

  template <class Truth>
  explicit Tails(const Truth& truth) {
    for (uint64_t i = 0; i < x.rows(); ++i) {
      sums.push_back({0.5, 1, 1, 0.1, 1, 0});
      log_z.push_back(sums.back().log_z(truth(x.dense.row(i))));
    }
  }
  double rms(const LadderRung& rung) const {
    const std::vector<double> t = tail_values(rung, x, sums);
    double square = 0;
    for (size_t i = 0; i < sums.size(); ++i) square += std::pow(sums[i].log_z(t[i]) - log_z[i], 2);
    return std::sqrt(square / static_cast<double>(sums.size()));
  }
};

TEST(TailNetwork, LearnsWhatItCanSee) {
  const Tails tails([](std::span<const float> x) { return static_cast<double>(x[0] + std::abs(x[1])); });
  LadderRung rung;
  const double before = tails.rms(rung);
  fit_tail(tails.x, tails.sums, tails.log_z, {.hidden = 16}, rung);
  EXPECT_LT(tails.rms(rung), 0.15 * before);
}

TEST(TailNetwork, StaysAtZeroWhereThatIsRight) {
  const Tails tails([](std::span<const float>) { return 0.0; });
  LadderRung rung;
  fit_tail(tails.x, tails.sums, tails.log_z, {.hidden = 8, .epochs = 3}, rung);
  EXPECT_EQ(tails.rms(rung), 0);
  EXPECT_TRUE(rung.b.output.empty());
}

// The rows set apart choose the epoch and nothing else.
TEST(TailNetwork, SaysWhichRowsItWasNotFittedTo) {
  const Tails tails([](std::span<const float> x) { return 0.5 * static_cast<double>(x[0]); });
  const TailOptions options{.hidden = 8, .epochs = 1, .hold_out = 0.2};
  LadderRung rung, apart_moved, fitted_moved;
  const std::vector<uint64_t> apart = fit_tail(tails.x, tails.sums, tails.log_z, options, rung);
  const std::set<uint64_t> rows(apart.begin(), apart.end());
  EXPECT_EQ(rows.size(), 300u);
  const auto moved = [&](bool is_apart) {
    std::vector<double> out = tails.log_z;
    for (uint64_t i = 0; i < out.size(); ++i) out[i] += rows.contains(i) == is_apart ? 1e-3 : 0;
    return out;
  };
  EXPECT_EQ(fit_tail(tails.x, tails.sums, moved(true), options, apart_moved), apart);
  fit_tail(tails.x, tails.sums, moved(false), options, fitted_moved);
  EXPECT_EQ(apart_moved, rung);
  EXPECT_NE(fitted_moved, rung);
}

TEST(TailNetwork, OfSparseInputsSeesTheSumsAlone) {
  Tails tails([](std::span<const float>) { return 0.7; });
  tails.x = as_sparse(tails.x);
  LadderRung rung;
  fit_tail(tails.x, tails.sums, tails.log_z, {.hidden = 8}, rung);
  EXPECT_TRUE(rung.b.hidden_weight.empty());
  EXPECT_EQ(rung.extra.size(), 8 * runtime::kTailExtras);
  EXPECT_LT(tails.rms(rung), 0.01);
}

TEST(TailNetwork, IsTheSameEveryTime) {
  const Tails tails([](std::span<const float> x) { return 0.5 * static_cast<double>(x[2]); });
  LadderRung a, b;
  fit_tail(tails.x, tails.sums, tails.log_z, {.hidden = 4, .epochs = 3}, a);
  fit_tail(tails.x, tails.sums, tails.log_z, {.hidden = 4, .epochs = 3}, b);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace selfnorm
