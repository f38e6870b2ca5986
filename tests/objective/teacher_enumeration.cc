#include <gtest/gtest.h>

#include <cmath>

#include "gradient_check.h"
#include "math/parallel.h"
#include "normalizer/class_moments.h"
#include "normalizer/enumeration.h"
#include "objective/loss.h"
#include "objective/penalty.h"
#include "random_data.h"

namespace selfnorm {
namespace {

struct Instance {
  Dataset data;
  ModelFile teacher;
  std::vector<double> log_z;

  Instance(uint32_t classes, uint32_t features, uint64_t rows, bool sparse)
      : data(random_dataset({.rows = rows, .features = features, .classes = classes, .sparse = sparse},
                            classes)) {
    teacher.classes = classes;
    teacher.features = features;
    teacher.weight = random_vector<float>(size_t{classes} * features, 1, 0.5);
    teacher.bias = random_vector<float>(classes, 2, 0.5);
    for (const SoftmaxMoments& m : class_moments(*make_class_scores(teacher, sparse), data.features).rows)
      log_z.push_back(m.log_z());
  }
};

// s = sum_k q_k s_k and A, one class at a time.
TEST(TeacherEnumeration, AgreesWithTheOracle) {
  for (const bool sparse : {false, true}) {
    const Instance in(1500, 6, 70, sparse);
    const auto teacher = make_class_scores(in.teacher, sparse);
    const Multiclass<float> model(in.data.features, 1500, 6, {});
    const auto theta = random_vector<float>(model.parameters(), 3, 0.5);
    const TeacherEnumeration pass(model, in.data.features, *teacher, in.log_z);
    pass.run(theta, 70,
             [&](uint64_t i, double score, double log_z) {  // in parallel
               std::vector<float> teacher_scores(1500);
               teacher->tile(in.data.features, {i, i + 1}, {0, 1500}, teacher_scores.data());
               LogSumExp sum;
               double expected = 0;
               for (uint32_t k = 0; k < 1500; ++k) {
                 const double s = model.score(theta, i, k);
                 sum.add(s);
                 expected += std::exp(static_cast<double>(teacher_scores[k]) - in.log_z[i]) * s;
               }
               EXPECT_NEAR(score, expected, 1e-4);
               EXPECT_NEAR(log_z, sum.value(), 1e-5);
               return ScoreDerivatives{};
             },
             {});
  }
}

TEST(TeacherEnumeration, GradientAgreesWithDifferences) {
  const Instance in(5, 3, 40, false);
  const auto teacher = make_class_scores(in.teacher, false);
  const Multiclass<float> model(in.data.features, 5, 3, {});
  const TeacherEnumeration pass(model, in.data.features, *teacher, in.log_z);
  const Penalty objective(0.7);
  const auto at = random_vector<double>(model.parameters(), 4, 0.5);
  const auto loss = [&](const std::vector<double>& x, std::span<float> gradient) {
    const std::vector<float> theta(x.begin(), x.end());
    return value_and_gradient<float>(pass, objective, {}, theta, gradient).mean_loss() * 40;
  };
  std::vector<float> gradient(model.gradient_size());
  loss(at, gradient);
  expect_gradient([&](const std::vector<double>& x) { return loss(x, {}); }, at,
                  {gradient.begin(), gradient.end()}, 1e-2, 2e-3);
}

// At the teacher's own parameters the cross-entropy is at its minimum.
TEST(TeacherEnumeration, TheTeacherItselfIsTheOptimum) {
  const Instance in(6, 4, 100, false);
  const auto teacher = make_class_scores(in.teacher, false);
  const Multiclass<float> model(in.data.features, 6, 4, {});
  std::vector<float> theta(model.parameters());
  for (uint32_t k = 0; k < 6; ++k) {
    for (uint32_t j = 0; j < 4; ++j) theta[j * 6 + k] = in.teacher.weight[k * 4 + j];
    theta[4 * 6 + k] = in.teacher.bias[k];
  }
  const TeacherEnumeration pass(model, in.data.features, *teacher, in.log_z);
  std::vector<float> gradient(model.gradient_size());
  value_and_gradient<float>(pass, Penalty(0), {}, theta, gradient);
  for (const float g : gradient) EXPECT_NEAR(g, 0, 1e-3);
}

TEST(TeacherEnumeration, TheSameBitsForAnyNumberOfThreads) {
  const Instance in(3000, 8, 200, false);
  const auto teacher = make_class_scores(in.teacher, false);
  const Multiclass<float> model(in.data.features, 3000, 8, {});
  const auto theta = random_vector<float>(model.parameters(), 5, 0.2);
  const TeacherEnumeration pass(model, in.data.features, *teacher, in.log_z);
  std::vector<float> gradients[2];
  for (int t = 0; t < 2; ++t) {
    const ThreadLimit limit(t == 0 ? 1 : 2);
    gradients[t].resize(model.gradient_size());
    value_and_gradient<float>(pass, Penalty(0.3), {}, theta, gradients[t]);
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

}  // namespace
}  // namespace selfnorm
