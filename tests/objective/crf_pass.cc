// Every registered likelihood objective on CRFs, through value_and_gradient.
#include "normalizer/crf/crf_pass.h"

#include <gtest/gtest.h>

#include "gradient_check.h"
#include "normalizer/crf/small_crfs.h"
#include "objective/loss.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

class EveryCrfObjective : public testing::TestWithParam<std::string> {};

TEST_P(EveryCrfObjective, GradientAgreesWithDifferences) {
  ObjectiveOptions options;
  options.name = GetParam();
  options.alpha = 0.7;
  options.gamma = 0.4;
  const auto objective = make_objective(options);
  for (const SmallSequences& kind :
       {SmallSequences{.labels = 3, .unigrams = 4},
        SmallSequences{.labels = 2, .unigrams = 3, .bigrams = 2, .has_values = true}}) {
    const Sequences data = kind.make(21);
    const auto pass = make_crf_pass<double>(data, kind.shape());
    const LossQuery query{
        .centre = 0.3,
        .normalised = objective->normalised_fraction() < 1 ? data.sentences() * 2 / 5 : data.sentences(),
        .gradient_scale = 0.5};
    const auto loss = [&](const std::vector<double>& theta) {
      const LossSum sum = value_and_gradient<double>(*pass, *objective, query, theta, {});
      return 0.5 * (sum.likelihood + sum.penalty);
    };
    const auto theta = random_vector<double>(kind.shape().size(), 0.8, 22);
    std::vector<double> gradient(theta.size());
    value_and_gradient<double>(*pass, *objective, query, theta, gradient);
    expect_gradient(loss, theta, gradient);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryCrfObjective, testing::ValuesIn(objective_names()));

}  // namespace
}  // namespace selfnorm
