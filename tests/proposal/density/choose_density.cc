#include "proposal/density/choose_density.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/toy/toys.h"
#include "proposal/density/composed.h"
#include "proposal/density/density_checks.h"

namespace selfnorm {
namespace {

DensityChoice chosen_for(const char* toy, uint32_t dimension, uint64_t rows) {
  const auto source = make_toy(toy, dimension);
  const std::vector<float> x = sample_toy(*source, rows, 3);
  return choose_density({x.data(), rows, source->dimension()}, {}, {.effort = ChoiceOptions::Effort::quick});
}

size_t components_of(const DensityChoice& choice) {
  const auto record = choice.density->record();
  return record.kind == "mixture" ? record.values.at("logit").size() : 1;
}

TEST(ChooseDensity, AsManyComponentsAsTheDataDeserve) {
  EXPECT_LE(components_of(chosen_for("gaussian", 12, 1000)), 2u);
  EXPECT_GE(components_of(chosen_for("eight-gaussians", 0, 3000)), 8u);
  EXPECT_GE(components_of(chosen_for("ring", 0, 3000)), 8u);
  EXPECT_EQ(components_of(chosen_for("ring", 0, 2)), 1u);
  EXPECT_EQ(components_of(chosen_for("ring", 0, 25)), 1u);
}

// Two lumps of bits: no product covers them, a mixture of products does, and nothing that was tried is better
// on the held-out rows than what was taken.
TEST(ChooseDensity, IsNeverWorseThanWhatItTried) {
  RandomStream random(5);
  std::vector<float> rows;
  for (int i = 0; i < 1200; ++i) {
    const bool side = random.uniform() < 0.4;
    for (int j = 0; j < 8; ++j) rows.push_back(side != (random.uniform() < 0.1 + 0.02 * j) ? 1.0f : 0.0f);
  }
  ChoiceOptions options;
  options.fit.space = Support::binary(8);
  const DensityChoice choice = choose_density({rows.data(), 1000, 8}, {rows.data() + 8000, 200, 8}, options);
  EXPECT_GE(choice.tried.size(), 5u);
  std::vector<double> log_q(200);
  choice.density->log_prob({rows.data() + 8000, 200, 8}, log_q);
  double nll = 0;
  for (const double l : log_q) nll -= l / 200;
  EXPECT_NEAR(nll, choice.nll, 1e-9);
  for (const TriedDensity& tried : choice.tried) EXPECT_LE(choice.nll, tried.nll + 1e-9) << tried.word;
  EXPECT_NE(choice.text.find("held-out"), std::string::npos);
  expect_round_trip(*choice.density);
}

// Narrow around a curve in four dimensions: a network alone, with a share of a mixture for what is beyond it.
TEST(ChooseDensity, ANetworkIsNotAlone) {
  RandomStream random(7);
  std::vector<float> rows;
  for (int i = 0; i < 2200; ++i) {
    const double a = 2 * random.uniform() - 1, b = 2 * random.uniform() - 1, c = 2 * random.uniform() - 1;
    const double last = std::sin(5 * a) * std::cos(4 * b) + c * c + 0.02 * random.normal();
    for (const double v : {a, b, c, last}) rows.push_back(static_cast<float>(v));
  }
  const Points held_out{rows.data() + 8000, 200, 4};
  const DensityChoice choice = choose_density({rows.data(), 2000, 4}, held_out, {});
  EXPECT_EQ(choice.word, "stacked");
  const auto& stack = dynamic_cast<const Stacked&>(*choice.density);
  const size_t networks = static_cast<size_t>(std::ranges::count_if(
      stack.members(), [](const auto& member) { return member->record().kind == "autoregressive"; }));
  EXPECT_GE(networks, 1u);
  EXPECT_LT(networks, stack.members().size());
  for (const TriedDensity& tried : choice.tried) EXPECT_LE(choice.nll, tried.nll + 0.0021) << tried.word;
  const std::vector<float> far{0.9f, 0.9f, 0.9f, 2.5f};
  for (const auto& member : stack.members())
    if (member->record().kind == "mixture") {
      EXPECT_GE(log_prob_at(stack, far), log_prob_at(*member, far) + std::log(0.002) - 1e-6);
    }
  expect_round_trip(stack);
}

TEST(Stacked, WeightsAreTheBestOnTheRows) {
  const std::vector<double> log_q{-1, -5, -1, -5, -1, -1, -5, -1,
                                  -5, -5, -9, -9, -9, -9, -9};  // three members
  const std::vector<double> weight = stacking_weights(log_q, 3);
  EXPECT_NEAR(weight[0] + weight[1] + weight[2], 1, 1e-9);
  EXPECT_GT(weight[0], weight[1]);
  EXPECT_LT(weight[2], 1e-3);
}

TEST(Stacked, SumsItsMembersAndTheirDerivatives) {
  const auto source = make_toy("ring", 0);
  const std::vector<float> x = sample_toy(*source, 500, 4);
  const Points data{x.data(), 500, 2};
  std::vector<std::shared_ptr<const Density>> members{fit_density("gaussian", data),
                                                      fit_density("mixture:4", data)};
  const Stacked stacked(members, {0.25, 0.75});
  const std::vector<float> at{0.3f, -0.4f};
  EXPECT_NEAR(std::exp(log_prob_at(stacked, at)),
              0.25 * std::exp(log_prob_at(*members[0], at)) + 0.75 * std::exp(log_prob_at(*members[1], at)),
              1e-12);
  expect_derivatives(stacked, at, {1, -2});
  EXPECT_NEAR(grid_integral(stacked, -12, 12, 300), 1, 1e-3);
  expect_round_trip(stacked);
}

}  // namespace
}  // namespace selfnorm
