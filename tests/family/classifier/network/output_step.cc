// Every way of treating the log-normalizer, against finite differences of its own loss, and against the
// linear model's loss where that computes the same.
#include "family/classifier/network/output_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "family/classifier/learned_normalizer.h"
#include "family/classifier/network/output_problem.h"
#include "model/parameters.h"
#include "normalizer/problem.h"
#include "objective/registry.h"

namespace selfnorm {

static void PrintTo(const ObjectiveOptions& o, std::ostream* out) {  // found by its argument
  *out << o.name;
  if (is_candidate_objective(o.name)) *out << ' ' << o.noise << ' ' << o.noise_sharing << ' ' << o.normalizer;
}

namespace {

// g from a step of AdaGrad with rate 1 that found G and moved the row by delta = -g / sqrt(G + |g|^2 / n).
std::vector<double> recovered_gradient(std::span<const float> before, std::span<const float> after,
                                       float g0) {
  const double n = static_cast<double>(before.size()), square = double{g0};
  std::vector<double> delta;
  double sum = 0;
  for (size_t j = 0; j < before.size(); ++j) {
    delta.push_back(double{after[j]} - double{before[j]});
    sum += delta.back() * delta.back();
  }
  const double norm = sum * square / (1 - sum / n);
  for (double& d : delta) d *= -std::sqrt(square + norm / n);
  return delta;
}

// A function b moves with the state, which the derivative leaves out by design: it is checked where it is
// still 0 for every state; everything else after two steps, with a b or c of its own.
bool moves_b(const ObjectiveOptions& o) {
  return learns_normalizer(o) && (o.normalizer == "linear" || o.normalizer == "mlp");
}

class OutputStepOf : public testing::TestWithParam<ObjectiveOptions> {
 protected:
  static constexpr OutputProblem kProblems[] = {{}, {.classes = 6, .is_decorated = true}, {.classes = 2}};

  static void warm(Layer& layer) {
    for (int i = 0; i < 2 && !moves_b(GetParam()); ++i) layer.update(0.05);
  }
  static void expect_near(double derivative, double difference) {
    EXPECT_NEAR(derivative, difference, 3e-3 * (kScale + std::abs(difference)));
  }
};

TEST_P(OutputStepOf, DerivativesOfTheStates) {
  for (const OutputProblem& problem : kProblems) {
    Layer layer(GetParam(), problem);
    warm(layer);
    std::vector<float> d_state;
    layer.run(d_state);
    for (size_t j = 0; j < d_state.size(); ++j)
      expect_near(double{d_state[j]}, layer.difference(layer.state_.dense.values[j]));
  }
}

TEST_P(OutputStepOf, DerivativesOfTheParametersAndOfNoOthers) {
  for (const OutputProblem& problem : kProblems) {
    Layer layer(GetParam(), problem);
    warm(layer);
    ModelFile& model = layer.model_;
    const std::set<uint32_t> used = layer.used_rows();
    std::vector<double> d_weight, d_bias;
    for (float& w : model.weight) d_weight.push_back(layer.difference(w));
    for (float& c : model.bias) d_bias.push_back(layer.difference(c));
    Checkpoint checkpoint;
    CheckpointFields written(checkpoint);
    layer.step_->state(written);
    std::vector<float> weight_square, bias_square;
    checkpoint.get("weight.square", weight_square);
    checkpoint.get("bias.square", bias_square);
    const std::vector<float> weight = model.weight, bias = model.bias;
    layer.update(1);
    for (uint32_t k = 0; k < bias.size(); ++k) {
      const auto before = std::span(weight).subspan(k * kStates, kStates),
                 after = std::span<const float>(model.weight).subspan(k * kStates, kStates);
      if (!used.contains(k)) {
        EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
        EXPECT_EQ(bias[k], model.bias[k]);
      }
      const std::vector<double> g = recovered_gradient(before, after, weight_square[k]);
      for (size_t j = 0; j < kStates; ++j) expect_near(g[j], d_weight[k * kStates + j]);
      const std::vector<double> c = recovered_gradient({&bias[k], 1}, {&model.bias[k], 1}, bias_square[k]);
      expect_near(c[0], d_bias[k]);
    }
  }
}

TEST_P(OutputStepOf, ARestoredStepContinuesWithTheSameBits) {
  Layer whole(GetParam(), {}), part(GetParam(), {});
  whole.options_.l2 = part.options_.l2 = 0.1;
  whole.step_ = whole.make();
  part.step_ = part.make();
  for (int i = 0; i < 2; ++i) {
    whole.update(0.1);
    part.update(0.1);
  }
  Checkpoint checkpoint;
  CheckpointFields written(checkpoint);
  part.step_->state(written);
  Layer rest(GetParam(), {});
  rest.options_.l2 = 0.1;
  rest.step_ = rest.make();
  CheckpointFields read(std::as_const(checkpoint));
  rest.step_->state(read);
  whole.update(0.1);
  rest.update(0.1);
  whole.step_->finish(whole.model_);
  rest.step_->finish(rest.model_);
  EXPECT_EQ(whole.step_->centre(), rest.step_->centre());
  EXPECT_TRUE(whole.model_ == rest.model_);
  EXPECT_EQ(whole.model_.log_normalizer, whole.step_->centre());
  EXPECT_EQ(whole.model_.normalizer.exists(), moves_b(GetParam()));
}

TEST_P(OutputStepOf, WeightsOfZeroAreExamplesThatAreNotThere) {
  Layer layer(GetParam(), {});
  layer.weight_.assign(kExamples, 0);
  layer.batch_.weight = layer.weight_;
  std::vector<float> d_state;
  const ModelFile before = layer.model_;
  const LossSum sum = layer.run(d_state);
  layer.step_->update(1);
  EXPECT_EQ(sum.weight, 0);
  EXPECT_EQ(sum.likelihood + sum.penalty, 0);
  EXPECT_EQ(std::count(d_state.begin(), d_state.end(), 0.0f), static_cast<std::ptrdiff_t>(d_state.size()));
  EXPECT_TRUE(layer.model_ == before);
}

INSTANTIATE_TEST_SUITE_P(All, OutputStepOf, testing::ValuesIn(output_objectives()), [](const auto& instance) {
  std::string name = testing::PrintToString(instance.param) + " " + std::to_string(instance.index);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == ' '; }, '_');
  return name;
});

// The same numbers as the one value_and_gradient that linear models use, in double.
TEST(OutputStep, EnumerationAgreesWithTheLinearModel) {
  for (const ObjectiveOptions& objective : output_objectives()) {
    if (objective.name != "exact" && objective.name != "penalty") continue;
    Layer layer(objective, {.classes = 6, .is_decorated = true});
    Dataset data;
    data.features = layer.state_;
    data.target = layer.target_;
    const auto pass = make_exact_pass<double>(data, kStates, layer.model_.classes, layer.model_.log_carrier);
    const LossSum expected =
        value_and_gradient<double>(*pass, *make_objective(layer.options_.objective),
                                   {.weight = layer.weight_, .centre = objective.centre.value_or(0)},
                                   parameters_of<double>(layer.model_), {});
    std::vector<float> d_state;
    const LossSum sum = layer.run(d_state);
    EXPECT_DOUBLE_EQ(sum.weight, expected.weight);
    EXPECT_DOUBLE_EQ(sum.normalised_weight, expected.normalised_weight);
    EXPECT_NEAR(sum.likelihood, expected.likelihood, 1e-5);
    EXPECT_NEAR(sum.penalty, expected.penalty, 1e-5);
    EXPECT_NEAR(sum.nll, expected.nll, 1e-5);
    EXPECT_NEAR(sum.log_z, expected.log_z, 1e-5);
    EXPECT_NEAR(sum.log_z_square, expected.log_z_square, 1e-5);
    EXPECT_NEAR(sum.d_centre, expected.d_centre, 1e-5);
  }
}

// c moves against the mean derivative g by min(10 rate, 1) g / sqrt(1 + g^2), and stays without learning.
TEST(OutputStep, ALearnedCentreMoves) {
  ObjectiveOptions objective = objective_of("penalty");
  Layer fixed(objective, {});
  objective.learn_centre = true;
  Layer layer(objective, {});
  std::vector<float> d_state;
  const double g = kScale * layer.run(d_state).d_centre / kExamples;
  ASSERT_GT(std::abs(g), 1e-4);
  layer.step_->update(0.05);
  EXPECT_NEAR(layer.step_->centre(), -0.5 * g / std::sqrt(1 + g * g), 1e-6);
  fixed.update(0.05);
  EXPECT_EQ(fixed.step_->centre(), 0);
}

TEST(OutputStep, InBatchNoiseOfOneExampleTeachesNothing) {
  for (const std::string& name : candidate_objective_names()) {
    ObjectiveOptions objective = objective_of(name);
    objective.noise = "in-batch";
    Layer layer(objective, {});
    layer.target_.resize(1);
    layer.state_.dense.rows = 1;
    layer.state_.dense.values.resize(kStates);
    layer.batch_.target = layer.target_;
    const ModelFile before = layer.model_;
    std::vector<float> d_state(kStates, 77.0f);
    layer.step_->begin(layer.batch_);
    const LossSum sum = layer.step_->block({0, 1}, d_state.data());
    layer.step_->update(1);
    EXPECT_EQ(sum.likelihood, 0);
    EXPECT_EQ(d_state, std::vector<float>(kStates, 0.0f));
    EXPECT_TRUE(layer.model_ == before);
  }
}

// Multiplying all weights of the data by a constant is a matter of units.
TEST(OutputStep, NormalizersDoNotDependOnTheUnitOfTheWeights) {
  for (const char* name : {"nce", "snl", "penalty"}) {
    ObjectiveOptions objective = objective_of(name);
    objective.learn_centre = objective.name == "penalty";
    Layer plain(objective, {}), scaled(objective, {});
    plain.weight_.assign(kExamples, 1.0f);
    plain.batch_.weight = plain.weight_;
    scaled.weight_.assign(kExamples, 1024.0f);
    scaled.batch_.weight = scaled.weight_;
    scaled.batch_.scale = plain.batch_.scale / 1024;
    plain.update(0.1);
    scaled.update(0.1);
    EXPECT_NE(plain.step_->centre(), 0);
    EXPECT_DOUBLE_EQ(scaled.step_->centre(), plain.step_->centre());
  }
}

// Scores far above b: r = exp(20), and still no example pushes with more than 4 in sum.
TEST(OutputStep, BoundsWhatOneExamplePushesDown) {
  Layer layer(objective_of("snl"), {});
  for (float& c : layer.model_.bias) c += 20;
  std::vector<float> d_state;
  layer.run(d_state);
  float longest = 0;
  for (const float w : layer.model_.weight) longest = std::max(longest, std::abs(w));
  for (const float d : d_state) EXPECT_LE(double{std::abs(d)}, kScale * 4 * double{longest} * (1 + 1e-5));
  const std::vector<float> before = layer.model_.bias;
  layer.update(1e-6);
  for (size_t k = 0; k < before.size(); ++k) EXPECT_LE(layer.model_.bias[k], before[k]);
}

}  // namespace
}  // namespace selfnorm
