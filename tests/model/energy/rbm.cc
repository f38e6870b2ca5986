#include <gtest/gtest.h>

#include <cmath>

#include "model/energy/energy_check.h"
#include "model/energy/make_energy.h"
#include "random_data.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint32_t kVisible = 4, kHidden = 3;

std::unique_ptr<Energy> random_rbm() {
  auto rbm = make_rbm({.dimension = kVisible, .hidden = kHidden});
  const auto values = random_vector<float>(rbm->parameters().size(), 5);
  std::copy(values.begin(), values.end(), rbm->parameters().begin());
  rbm->parameters_changed();
  return rbm;
}

std::vector<float> all_bits() {
  std::vector<float> x;
  for (uint32_t i = 0; i < 1u << kVisible; ++i)
    for (uint32_t j = 0; j < kVisible; ++j) x.push_back(static_cast<float>(i >> j & 1));
  return x;
}

// s(v) = log sum over h in {0,1}^H of exp(a.v + c.h + h'Wv).
TEST(Rbm, HiddenUnitsAreSummedOut) {
  const auto rbm = random_rbm();
  const auto theta = rbm->parameters();
  const auto x = all_bits();
  const auto s = scores(*rbm, x);
  for (size_t i = 0; i < s.size(); ++i) {
    LogSumExp sum;
    for (uint32_t h = 0; h < 1u << kHidden; ++h) {
      double joint = 0;
      for (uint32_t j = 0; j < kVisible; ++j) joint += static_cast<double>(theta[j]) * x[i * kVisible + j];
      for (uint32_t k = 0; k < kHidden; ++k) {
        if (!(h >> k & 1)) continue;
        joint += theta[kVisible + k];
        for (uint32_t j = 0; j < kVisible; ++j)
          joint += static_cast<double>(theta[kVisible + kHidden + k * kVisible + j]) * x[i * kVisible + j];
      }
      sum.add(joint);
    }
    EXPECT_NEAR(s[i], sum.value(), 1e-9);
  }
}

TEST(Rbm, GradientIsThatOfTheScores) {
  const auto rbm = random_rbm();
  expect_parameter_gradient(*rbm, all_bits());
  expect_thread_invariance(*rbm, all_bits());
}

TEST(Rbm, StartsSmallAndFromItsSeed) {
  const auto a = make_rbm({.dimension = 20, .hidden = 10, .seed = 1});
  const auto b = make_rbm({.dimension = 20, .hidden = 10, .seed = 1});
  const auto c = make_rbm({.dimension = 20, .hidden = 10, .seed = 2});
  EXPECT_EQ(a->record().tensors[2].values, b->record().tensors[2].values);
  EXPECT_NE(a->record().tensors[2].values, c->record().tensors[2].values);
  const EnergyRecord record = a->record();
  for (const float bias : record.tensors[0].values) EXPECT_EQ(bias, 0);
  for (const float w : record.tensors[2].values) EXPECT_LT(std::abs(w), 0.06f);
}

TEST(Rbm, RecordMakesItAgain) {
  const auto rbm = random_rbm();
  const EnergyRecord record = rbm->record();
  EXPECT_EQ(scores(*make_rbm(record), all_bits()), scores(*rbm, all_bits()));
  EnergyRecord damaged = record;
  damaged.tensors.pop_back();
  EXPECT_THROW(make_rbm(damaged), Error);
  damaged = record;
  damaged.settings = R"({"dimension": 5, "hidden": 3})";
  EXPECT_THROW(make_rbm(damaged), Error);
  damaged.settings = "[";
  EXPECT_THROW(make_rbm(damaged), Error);
}

TEST(Rbm, BadInputs) {
  EXPECT_THROW(make_rbm({.dimension = 0}), Error);
  EXPECT_THROW(make_rbm({.dimension = 2, .hidden = 0}), Error);
  const auto rbm = random_rbm();
  EXPECT_EQ(scores(*rbm, {0, 1, 2, 0})[0], -INFINITY);
  std::vector<double> s(1);
  std::vector<float> x(kVisible), dx(kVisible);
  EXPECT_THROW(rbm->score_gradient({x.data(), 1, kVisible}, s, dx), Error);
}

}  // namespace
}  // namespace selfnorm
