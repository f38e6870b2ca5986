#include "model/network/dense_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/parallel.h"
#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {

static void PrintTo(Activation f, std::ostream* out) {  // found by its argument
  *out << activation_names()[static_cast<size_t>(f)];
}

namespace {

DenseShape shape_of(uint32_t inputs, std::vector<uint32_t> levels, std::vector<uint32_t> widths) {
  DenseShape shape;
  shape.inputs = inputs;
  shape.levels = std::move(levels);
  shape.widths = std::move(widths);
  return shape;
}

std::vector<float> normals(size_t n, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

EncodedFrame random_rows(const DenseShape& shape, uint64_t rows, uint64_t seed) {
  EncodedFrame out;
  out.rows = rows;
  out.numeric = shape.inputs;
  out.categorical = static_cast<uint32_t>(shape.levels.size());
  out.number = normals(rows * shape.inputs, seed);
  RandomStream random(seed, 1);
  for (uint64_t i = 0; i < rows; ++i)
    for (const uint32_t n : shape.levels) out.level.push_back(static_cast<uint32_t>(random.below(n)));
  return out;
}

std::vector<float> evaluated(const DenseNetwork& network, const EncodedFrame& x) {
  std::vector<float> out(x.rows * network.width());
  network.evaluate(x.view(), out);
  return out;
}

double activated(Activation f, double z) {
  switch (f) {
    case Activation::silu:
      return z / (1 + std::exp(-z));
    case Activation::relu:
      return std::max(z, 0.0);
    case Activation::tanh:
      return std::tanh(z);
    case Activation::softplus:
      return std::log1p(std::exp(z));
    case Activation::gelu:
      return z * std::erfc(-z / std::sqrt(2.0)) / 2;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// The formula of dense_network.h in doubles, with one-hot vectors written out.
std::vector<double> reference(const DenseNetwork& network, const EncodedFrame& x, uint64_t row) {
  const DenseShape& shape = network.shape();
  const std::span<const float> theta = network.parameters();
  size_t embedding = 0;
  for (size_t l = 0, in = shape.inputs; l < shape.widths.size(); in = shape.widths[l++])
    embedding += (in + 1) * shape.widths[l];
  std::vector<double> a(x.number.begin() + static_cast<ptrdiff_t>(row * x.numeric),
                        x.number.begin() + static_cast<ptrdiff_t>((row + 1) * x.numeric));
  size_t at = 0;
  for (size_t l = 0; l < shape.widths.size(); ++l) {
    const size_t in = a.size(), out = shape.widths[l];
    std::vector<double> z(out);
    for (size_t j = 0; j < out; ++j) {
      z[j] = theta[at + in * out + j];
      for (size_t i = 0; i < in; ++i) z[j] += double{theta[at + j * in + i]} * a[i];
    }
    at += (in + 1) * out;
    for (size_t k = 0, e = embedding; l == 0 && k < shape.levels.size(); e += shape.levels[k++] * out)
      for (size_t j = 0; j < out; ++j) z[j] += theta[e + x.level[row * x.categorical + k] * out + j];
    if (l + 1 < shape.widths.size() || shape.activates_output)
      for (double& value : z) value = activated(shape.activation, value);
    a = std::move(z);
  }
  return a;
}

class EveryActivation : public testing::TestWithParam<Activation> {
 protected:
  DenseShape shape(bool activates_output) const {
    DenseShape out = shape_of(3, {4, 3}, {7, 5, 2});
    out.activation = GetParam();
    out.activates_output = activates_output;
    return out;
  }
};

TEST_P(EveryActivation, FollowsTheFormula) {
  for (const bool activates_output : {false, true}) {
    DenseNetwork network(shape(activates_output), 3);
    for (float& bias : network.output_bias()) bias = 0.25f;
    network.parameters_changed();
    const EncodedFrame x = random_rows(network.shape(), 70, 4);
    const std::vector<float> out = evaluated(network, x);
    for (uint64_t i = 0; i < x.rows; ++i) {
      const std::vector<double> expected = reference(network, x, i);
      for (size_t j = 0; j < expected.size(); ++j)
        ASSERT_NEAR(out[i * 2 + j], expected[j], 1e-5 * (1 + std::abs(expected[j]))) << i << ' ' << j;
    }
  }
}

TEST_P(EveryActivation, GradientsAreThoseOfTheReference) {
  for (const bool activates_output : {false, true}) {
    DenseNetwork network(shape(activates_output), 5);
    EncodedFrame x = random_rows(network.shape(), 9, 6);
    const std::vector<float> d = normals(x.rows * 2, 7);
    DensePass pass(network);
    pass.forward(x.view());
    std::vector<float> gradient(network.parameters().size(), 1.0f), dx(x.number.size(), 9.0f);
    pass.backward(d, gradient, dx);
    const auto loss = [&] {
      double sum = 0;
      for (uint64_t i = 0; i < x.rows; ++i) {
        const std::vector<double> out = reference(network, x, i);
        for (size_t j = 0; j < out.size(); ++j) sum += double{d[i * 2 + j]} * out[j];
      }
      return sum;
    };
    const auto difference = [&](float& value) {
      const float at = value, step = 1.0f / 4096;
      value = at + step;
      const double above = loss(), h_above = value;
      value = at - step;
      const double below = loss(), h_below = value;
      value = at;
      return (above - below) / (h_above - h_below);
    };
    for (size_t k = 0; k < gradient.size(); ++k) {
      const double expected = difference(network.parameters()[k]);
      EXPECT_NEAR(gradient[k] - 1, expected, 1e-3 * (1 + std::abs(expected))) << "parameter " << k;
    }
    for (size_t k = 0; k < dx.size(); ++k) {
      const double expected = difference(x.number[k]);
      EXPECT_NEAR(dx[k], expected, 1e-3 * (1 + std::abs(expected))) << "input " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DenseNetwork, EveryActivation,
                         testing::Values(Activation::silu, Activation::relu, Activation::tanh,
                                         Activation::softplus, Activation::gelu),
                         testing::PrintToStringParamName());

TEST(DenseNetwork, PassesOfAnySizeAreEvaluationsAndAddUp) {
  DenseShape shape = shape_of(5, {3}, {40, 33});
  shape.activates_output = true;
  const DenseNetwork network(shape, 1);
  DensePass pass(network);
  for (const uint64_t rows : {0, 1, 63, 64, 127, 128, 200, 1500, 65}) {
    const EncodedFrame x = random_rows(shape, rows, rows);
    const Points out = pass.forward(x.view());
    ASSERT_EQ(out.rows, rows);
    ASSERT_EQ(out.columns, 33u);
    EXPECT_EQ(std::vector<float>(out.data, out.data + out.size()), evaluated(network, x)) << rows;

    const std::vector<float> d = normals(rows * 33, 2);
    std::vector<float> whole(network.parameters().size()), dx(x.number.size());
    pass.backward(d, whole, dx);
    std::vector<float> again(whole.size()), no_dx;
    pass.backward(d, again, no_dx);
    EXPECT_EQ(whole, again);

    std::vector<double> sum(whole.size());
    DensePass single(network);
    for (uint64_t i = 0; i < rows; ++i) {
      std::vector<float> one(whole.size()), one_dx(5);
      single.forward(x.view().slice(i, i + 1));
      single.backward(std::span(d).subspan(i * 33, 33), one, one_dx);
      for (size_t k = 0; k < one.size(); ++k) sum[k] += one[k];
      for (size_t j = 0; j < 5; ++j) EXPECT_EQ(one_dx[j], dx[i * 5 + j]);
    }
    for (size_t k = 0; k < sum.size(); ++k) ASSERT_NEAR(whole[k], sum[k], 2e-3 + 1e-4 * std::abs(sum[k]));
  }
}

TEST(DenseNetwork, BitsDoNotDependOnTheNumberOfThreads) {
  const DenseShape shape = shape_of(6, {5, 2}, {48, 70, 9});
  const DenseNetwork network(shape, 8);
  const EncodedFrame x = random_rows(shape, 1300, 9);
  const std::vector<float> d = normals(x.rows * 9, 10);
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    DensePass pass(network);
    std::vector<float> gradient(network.parameters().size()), dx(x.number.size());
    const Points out = pass.forward(x.view());
    pass.backward(d, gradient, dx);
    return std::tuple(std::vector<float>(out.data, out.data + out.size()), gradient, dx,
                      evaluated(network, x));
  };
  EXPECT_EQ(run(1), run(4));
}

TEST(DenseNetwork, StartsWithTheStatedDeviations) {
  DenseShape shape = shape_of(200, {400}, {300, 100});
  shape.output_scale = 0.5;
  DenseNetwork network(shape, 2);
  const std::span<const float> theta = network.parameters();
  ASSERT_EQ(theta.size(), 201u * 300 + 301 * 100 + 400 * 300);
  const auto deviation = [&](size_t begin, size_t n) {
    double sum = 0;
    for (size_t i = begin; i < begin + n; ++i) sum += double{theta[i]} * theta[i];
    return std::sqrt(sum / static_cast<double>(n));
  };
  // The relative error of a deviation of n numbers is 1 / sqrt(2 n): five of them.
  EXPECT_NEAR(deviation(0, 60000), 0.1, 0.1 * 5 / std::sqrt(2 * 60000.0));
  EXPECT_NEAR(deviation(60000, 300), 0.1, 0.1 * 5 / std::sqrt(2 * 300.0));
  EXPECT_NEAR(deviation(60300, 30000), 0.5 / std::sqrt(300), 0.03 * 5 / std::sqrt(2 * 30000.0));
  EXPECT_EQ(deviation(90300, 100), 0);
  EXPECT_EQ(deviation(90400, 300), 0);
  EXPECT_NEAR(deviation(90700, 399 * 300), 0.1, 0.1 * 5 / std::sqrt(2 * 399 * 300.0));
  EXPECT_EQ(network.output_bias().data(), theta.data() + 90300);
  EXPECT_EQ(network.output_bias().size(), 100u);
}

TEST(DenseNetwork, UnseenLevelsAreTheMeanOfTheSeen) {
  DenseNetwork network(shape_of(0, {4, 3}, {2}), 1);
  const std::span<float> e = network.parameters().subspan(2);
  const std::vector<float> values = {9, 9, 1, 10, 2, 20, 3, 30, /**/ 7, 7, 4, 40, 5, 50};
  std::copy(values.begin(), values.end(), e.begin());
  network.parameters_changed();
  network.set_unseen({{0, 1, 0, 3}, {0, 0, 0}});
  EXPECT_EQ(e[0], 2.5f);
  EXPECT_EQ(e[1], 25);
  EXPECT_EQ(e[2], 1);
  EXPECT_EQ(e[4], 2.5f);
  EXPECT_EQ(e[8], 7);  // nothing was counted
  EncodedFrame x{.rows = 1, .numeric = 0, .categorical = 2, .number = {}, .level = {0, 2}};
  EXPECT_EQ(evaluated(network, x), (std::vector<float>{7.5f, 75}));
  network.set_unseen({{4, 1, 0, 3}, {0, 0, 0}});  // level 0 was trained: it stays
  EXPECT_EQ(e[0], 2.5f);
  EXPECT_EQ(e[4], 2.5f);  // (4 x 2.5 + 1 + 3 x 3) / 8
  EXPECT_THROW(network.set_unseen({{0, 1, 1, 1}}), Bug);
  EXPECT_THROW(network.set_unseen({{0, 1}, {0, 1, 1}}), Bug);
}

TEST(DenseNetwork, WithoutInputsItIsAConstant) {
  DenseNetwork network(shape_of(0, {}, {3, 2}), 1);
  std::fill_n(network.parameters().begin(), 3, 0.0f);
  network.output_bias()[1] = 0.5f;
  network.parameters_changed();
  EncodedFrame x{.rows = 3, .numeric = 0, .categorical = 0, .number = {}, .level = {}};
  EXPECT_EQ(evaluated(network, x), (std::vector<float>{0, 0.5f, 0, 0.5f, 0, 0.5f}));
  DensePass pass(network);
  pass.forward(x.view());
  std::vector<float> gradient(network.parameters().size());
  pass.backward(std::vector<float>{1, 2, 1, 2, 1, 2}, gradient, {});
  EXPECT_EQ(gradient[gradient.size() - 1], 6);
  EXPECT_EQ(gradient[gradient.size() - 2], 3);
}

TEST(DenseNetwork, PassesSurviveAMoveOfTheNetwork) {
  DenseNetwork network(shape_of(2, {}, {3}), 1);
  DensePass pass(network);
  const DenseNetwork moved = std::move(network);
  const EncodedFrame x = random_rows(moved.shape(), 5, 1);
  DensePass moved_pass = std::move(pass);
  const Points out = moved_pass.forward(x.view());
  EXPECT_EQ(std::vector<float>(out.data, out.data + out.size()), evaluated(moved, x));
}

TEST(DenseNetwork, ShapesThatAreNoneAreErrors) {
  EXPECT_THROW(DenseNetwork(shape_of(2, {}, {}), 0), Error);
  EXPECT_THROW(DenseNetwork(shape_of(2, {}, {3, 0}), 0), Error);
  EXPECT_THROW(DenseNetwork(shape_of(2, {}, {4000000000u}), 0), Error);
  EXPECT_THROW(DenseNetwork(shape_of(4000000000u, {}, {1}), 0), Error);
  EXPECT_THROW(DenseNetwork(shape_of(2, {0}, {3}), 0), Error);
  for (const double scale : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    DenseShape shape = shape_of(2, {}, {3});
    shape.output_scale = scale;
    EXPECT_THROW(DenseNetwork(shape, 0), Error);
  }
}

TEST(DenseNetwork, RowsOfAnotherShapeAreBugs) {
  const DenseShape shape = shape_of(2, {3}, {4});
  const DenseNetwork network(shape, 0);
  EncodedFrame x = random_rows(shape, 3, 0);
  std::vector<float> out(12);
  x.level[1] = 3;
  EXPECT_THROW(network.evaluate(x.view(), out), Bug);
  DensePass pass(network);
  EXPECT_THROW(pass.forward(x.view()), Bug);
  x.level[1] = 2;
  EXPECT_THROW(network.evaluate(x.view(), std::span(out).first(11)), Bug);
  EXPECT_THROW(network.evaluate(random_rows(shape_of(3, {3}, {4}), 3, 0).view(), out), Bug);
  EXPECT_THROW(network.evaluate(random_rows(shape_of(2, {}, {4}), 3, 0).view(), out), Bug);
  pass.forward(x.view());
  std::vector<float> gradient(network.parameters().size());
  EXPECT_THROW(pass.backward(std::span(out).first(8), gradient, {}), Bug);
  EXPECT_THROW(pass.backward(out, std::span(gradient).first(3), {}), Bug);
  EXPECT_THROW(pass.backward(out, gradient, std::span(out).first(3)), Bug);
}

}  // namespace
}  // namespace selfnorm
