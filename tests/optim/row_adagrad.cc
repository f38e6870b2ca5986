#include <gtest/gtest.h>

#include <cmath>

#include "optim/adaptive.h"
#include "random_data.h"

namespace selfnorm {
namespace {

// The same steps with every row decayed at every step, in double.
struct Eager {
  size_t columns;
  double decay;
  std::vector<double> x, square;

  void step(double rate, size_t row, const float* gradient) {
    for (double& v : x) v *= 1 - rate * decay;
    double sum = 0;
    for (size_t j = 0; j < columns; ++j) sum += double{gradient[j]} * double{gradient[j]};
    square[row] += sum / static_cast<double>(columns);
    for (size_t j = 0; j < columns; ++j)
      x[row * columns + j] -= rate * double{gradient[j]} / std::sqrt(square[row]);
  }
};

TEST(RowAdagrad, OneStep) {
  std::vector<float> x{1, 2, 3, 4};
  RowAdagrad optimiser(2, 2, 0.5, 0);
  const float gradient[] = {3, -1};
  optimiser.begin_step(0.25);
  optimiser.update(x.data(), 1, gradient);
  const float move = static_cast<float>(0.25 / std::sqrt(0.5 + (9 + 1) / 2.0));
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[1], 2);
  EXPECT_FLOAT_EQ(x[2], 3 - 3 * move);
  EXPECT_FLOAT_EQ(x[3], 4 + move);
  EXPECT_EQ(optimiser.state().square, (std::vector<float>{0.5f, 5.5f}));
  EXPECT_TRUE(optimiser.state().decayed.empty());
}

// 300 steps on rows used at random, row 0 never: each multiplication rounds, so 1e-5 of values of about 1.
TEST(RowAdagrad, LazyDecayIsEagerDecay) {
  const size_t rows = 9, columns = 5;
  for (const double decay : {0.0, 0.05}) {
    std::vector<float> x = random_vector<float>(rows * columns, 1);
    RowAdagrad lazy(rows, columns, 1e-4, decay);
    Eager eager{columns, decay, {x.begin(), x.end()}, std::vector<double>(rows, 1e-4)};
    RandomStream random(2);
    for (uint64_t step = 0; step < 300; ++step) {
      const double rate = 0.1 / (1.0 + 0.01 * static_cast<double>(step));
      const size_t row = 1 + random.below(rows - 1);
      const std::vector<float> gradient = random_vector<float>(columns, 100 + step);
      lazy.begin_step(rate);
      lazy.update(x.data(), row, gradient.data());
      eager.step(rate, row, gradient.data());
    }
    lazy.settle(x.data());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(double{x[i]}, eager.x[i], 1e-5) << decay << " " << i;
    const std::vector<float> settled = x;
    lazy.settle(x.data());
    EXPECT_EQ(x, settled);
  }
}

TEST(RowAdagrad, ARestoredStateContinuesWithTheSameBits) {
  std::vector<float> x = random_vector<float>(12, 1), y;
  RowAdagrad first(4, 3, 1e-4, 0.1);
  const auto step = [](RowAdagrad& optimiser, std::vector<float>& values, uint64_t t) {
    optimiser.begin_step(0.3);
    optimiser.update(values.data(), t % 3, random_vector<float>(3, t).data());
  };
  for (uint64_t t = 0; t < 5; ++t) step(first, x, t);
  RowAdagrad second(4, 3, 1e-4, 0.1);
  second.state() = first.state();
  y = x;
  for (uint64_t t = 5; t < 11; ++t) {
    step(first, x, t);
    step(second, y, t);
  }
  first.settle(x.data());
  second.settle(y.data());
  EXPECT_EQ(x, y);
}

// A rate beyond 1 / decay would turn the signs of parameters; decay stops at one half a step.
TEST(RowAdagrad, DecayOfAHugeRateIsOneHalf) {
  std::vector<float> x{8, -8};
  RowAdagrad optimiser(2, 1, 1, 1);
  optimiser.begin_step(1e30);
  optimiser.begin_step(1e30);
  optimiser.settle(x.data());
  EXPECT_FLOAT_EQ(x[0], 2);
  EXPECT_FLOAT_EQ(x[1], -2);
}

}  // namespace
}  // namespace selfnorm
