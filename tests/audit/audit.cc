#include "audit/audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audit/error_audit.h"
#include "math/parallel.h"
#include "random_head.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

ModelFile random_model(uint32_t classes, uint32_t features, uint64_t seed) {
  ModelFile model = random_head(classes, features, seed, 0.3);
  model.log_normalizer = 1.5;
  return model;
}

TEST(Audit, AgreesWithTheEvaluationOfTheSameData) {
  const ModelFile model = random_model(6, 5, 1);
  const Dataset data = random_dataset({.rows = 3000, .features = 5, .classes = 6}, 2);
  const Evaluation expected = evaluate(model, data);
  const Audit found = audit(model, *make_example_source(data), {});
  EXPECT_EQ(found.n, 3000u);
  EXPECT_EQ(found.classes, 6u);
  EXPECT_NEAR(found.log_z.mean, expected.log_z.mean, 1e-6);
  EXPECT_NEAR(found.log_z.std, expected.log_z.std, 1e-6);
  EXPECT_NEAR(found.log_z.rms, expected.log_z.rms, 1e-6);
  EXPECT_NEAR(found.log_z.min, expected.log_z.min, 1e-6);
  EXPECT_NEAR(found.log_z.max, expected.log_z.max, 1e-6);
  EXPECT_NEAR(found.log_z.q99, expected.log_z.q99, 1e-6);
  EXPECT_NEAR(found.kl_uniform, expected.kl_uniform, 1e-6);
  ASSERT_TRUE(found.labelled);
  EXPECT_NEAR(found.labelled->nll_raw, expected.nll_raw, 1e-6);
  EXPECT_NEAR(found.labelled->nll_exact, expected.nll_exact, 1e-6);
  EXPECT_NEAR(found.labelled->accuracy, expected.accuracy, 1e-12);
  EXPECT_NEAR(found.variance, expected.log_z.std * expected.log_z.std, 1e-6);
  EXPECT_LT(*found.v_star, found.variance);
  EXPECT_NEAR(*found.v_star_adjusted, *found.v_star * 3000 / (3000 - 6), 1e-9);
  uint64_t counted = 0;
  for (const HistogramBin& bin : found.histogram) counted += bin.count;
  EXPECT_EQ(counted, 3000u);
}

TEST(Audit, CountsExceedancesAndListsTheWorst) {
  const ModelFile model = random_model(4, 3, 3);
  const Dataset data = random_dataset({.rows = 2000, .features = 3, .classes = 4}, 4);
  const auto source = make_example_source(data);
  const AuditOptions options{.eps = 0.4, .rho = 0.2, .confidence = 0.95, .worst = 3};
  const Audit found = audit(model, *source, options);
  std::vector<std::pair<double, uint64_t>> sizes;
  const std::vector<float> w = model.weight;
  uint64_t exceed = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    LogSumExp sum;
    for (uint32_t k = 0; k < 4; ++k) {
      double s = static_cast<double>(model.bias[k]);
      for (uint32_t j = 0; j < 3; ++j)
        s += static_cast<double>(w[k * 3 + j]) * static_cast<double>(data.features.dense.row(i)[j]);
      sum.add(s);
    }
    const double size = std::abs(sum.value() - 1.5);
    sizes.emplace_back(size, i);
    exceed += size > 0.4 ? 1 : 0;
  }
  std::sort(sizes.rbegin(), sizes.rend());
  EXPECT_EQ(found.certificate.exceed, exceed);
  EXPECT_EQ(found.certificate.rho_bound, clopper_pearson_upper(exceed, 2000, 0.95));
  EXPECT_EQ(found.certificate.certified, found.certificate.rho_bound <= 0.2);
  const auto allowed = static_cast<size_t>(largest_certifiable_count(2000, 0.2, 0.95));
  EXPECT_NEAR(*found.certificate.smallest_eps, sizes[allowed].first, 1e-6);
  ASSERT_EQ(found.worst.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found.worst[i].example, sizes[i].second);
    EXPECT_NEAR(std::abs(found.worst[i].error), sizes[i].first, 1e-6);
  }
  // The smallest eps certifies; a little less does not.
  AuditOptions tight = options;
  tight.eps = *found.certificate.smallest_eps;
  EXPECT_TRUE(audit(model, *source, tight).certificate.certified);
  tight.eps *= 0.99;
  EXPECT_FALSE(audit(model, *source, tight).certificate.certified);
}

TEST(Audit, TooFewInputsCertifyNothing) {
  const ModelFile model = random_model(4, 3, 3);
  const auto source = make_example_source(random_dataset({.rows = 100, .features = 3, .classes = 4}, 4));
  const Audit found = audit(model, *source, {.eps = 100, .rho = 0.01, .confidence = 0.99});
  EXPECT_EQ(found.certificate.exceed, 0u);
  EXPECT_FALSE(found.certificate.certified);
  EXPECT_FALSE(found.certificate.smallest_eps);
}

// Two classes, one constant feature: p(class 0) = 0.8 for every row, and 8 of 10 rows are of class 0.
TEST(Audit, CalibrationOfACalibratedModelIsZero) {
  ModelFile model;
  model.input = ModelInput::Dense;
  model.classes = 2;
  model.features = 1;
  model.weight = {0, 0};
  model.bias = {static_cast<float>(std::log(0.8)), static_cast<float>(std::log(0.2))};
  Dataset data;
  data.features.is_sparse = false;
  data.features.dense = {10, 1, std::vector<float>(10, 1)};
  data.target = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  data.labels = {"0", "1"};
  const Audit good = audit(model, *make_example_source(data), {});
  EXPECT_NEAR(good.labelled->ece, 0, 1e-6);
  EXPECT_NEAR(good.labelled->ece_exact, 0, 1e-6);
  EXPECT_EQ(good.above_one, 0);
  for (float& b : model.bias) b += 0.5f;  // raw probabilities are now 1.65 times too large
  const Audit shifted = audit(model, *make_example_source(data), {});
  EXPECT_NEAR(shifted.labelled->ece, 0.8 * std::exp(0.5) - 0.8, 1e-6);
  EXPECT_NEAR(shifted.labelled->ece_exact, 0, 1e-6);
  EXPECT_EQ(shifted.above_one, 1);
  EXPECT_NEAR(shifted.log_z.mean, 0.5, 1e-6);
}

TEST(Audit, OfAmortisedScoresSubtractsB) {
  ModelFile model = random_model(5, 3, 6);
  const Dataset data = random_dataset({.rows = 400, .features = 3, .classes = 5}, 7);
  const auto source = make_example_source(data);
  EXPECT_THROW(audit(model, *source, {.amortised = true}), Error);
  const Audit raw = audit(model, *source, {});
  model.normalizer.slope = {0, 0, 0};
  model.normalizer.intercept = raw.log_z.mean;
  const Audit amortised = audit(model, *source, {.amortised = true});
  EXPECT_NEAR(amortised.log_z.mean, 0, 1e-6);
  EXPECT_NEAR(amortised.log_z.std, raw.log_z.std, 1e-6);
  EXPECT_NEAR(*amortised.labelled->nll_amortised, amortised.labelled->nll_exact, 1e-6);
  EXPECT_NEAR(amortised.labelled->nll_raw, raw.labelled->nll_raw, 1e-12);
  EXPECT_NEAR(audit(model, *source, {}).log_z.mean, raw.log_z.mean, 1e-12);
}

TEST(Audit, JointModelsAndDataWithoutLabels) {
  Dataset groups = random_groups(200, 3, 8);
  const ModelFile model = joint_model({1, -1, 0.5});
  const Evaluation expected = evaluate(model, groups);
  const Audit found = audit(model, *make_example_source(groups), {});
  EXPECT_NEAR(found.log_z.rms, expected.log_z.rms, 1e-6);
  EXPECT_NEAR(found.labelled->nll_exact, expected.nll_exact, 1e-6);
  EXPECT_NEAR(found.labelled->accuracy, expected.accuracy, 1e-12);

  Dataset unlabelled = random_dataset({.rows = 50, .features = 5, .classes = 6}, 2);
  unlabelled.target.assign(50, Dataset::kNoTarget);
  EXPECT_FALSE(audit(random_model(6, 5, 1), *make_example_source(unlabelled), {}).labelled);
}

// Everything a picture shows of an input, against the scores computed directly.
TEST(Audit, KeepsWhatPicturesNeed) {
  ModelFile model = random_model(3, 2, 11);
  model.normalizer.slope = {0.1f, -0.2f};
  model.normalizer.intercept = 0.3;
  Dataset data = random_dataset({.rows = 40, .features = 2, .classes = 3}, 12);
  data.target.own()[7] = Dataset::kNoTarget;
  const Audit found =
      audit(model, *make_example_source(data), {.amortised = true, .with_v_star = false, .worst = 5});
  EXPECT_FALSE(found.labelled);
  EXPECT_EQ(found.sample_stride, 1u);
  ASSERT_EQ(found.sample.size(), 40u);
  for (uint64_t i = 0; i < 40; ++i) {
    const float* x = data.features.dense.row(i).data();
    const double x0 = static_cast<double>(x[0]), x1 = static_cast<double>(x[1]);
    double s[3];
    LogSumExp sum;
    for (uint32_t k = 0; k < 3; ++k) {
      s[k] = static_cast<double>(model.bias[k]) + static_cast<double>(model.weight[2 * k]) * x0 +
             static_cast<double>(model.weight[2 * k + 1]) * x1;
      sum.add(s[k]);
    }
    const auto best = static_cast<uint64_t>(std::max_element(s, s + 3) - s);
    const double subtracted = 1.5 + 0.3 + 0.1 * x0 - 0.2 * x1;
    const AuditedInput& input = found.sample[i];
    EXPECT_EQ(input.example, i);
    EXPECT_NEAR(input.error, sum.value() - subtracted, 1e-5);
    EXPECT_NEAR(input.norm, std::hypot(x0, x1), 1e-12);
    EXPECT_EQ(input.best, best);
    EXPECT_NEAR(input.best_exact, s[best] - sum.value(), 1e-5);
    EXPECT_NEAR(input.best_audited(), s[best] - subtracted, 1e-5);
    EXPECT_EQ(input.target, data.target[i]);
    if (i == 7) {
      EXPECT_TRUE(std::isnan(input.target_exact) && std::isnan(input.target_audited()));
      EXPECT_FALSE(input.is_correct);
      continue;
    }
    EXPECT_NEAR(input.target_exact, s[data.target[i]] - sum.value(), 1e-5);
    EXPECT_NEAR(input.target_audited(), s[data.target[i]] - subtracted, 1e-5);
    EXPECT_EQ(input.is_correct, best == data.target[i]);
  }
  ASSERT_EQ(found.worst_inputs.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    const AuditedInput& worst = found.worst_inputs[i];
    EXPECT_EQ(worst.example, found.worst[i].example);
    EXPECT_EQ(worst.error, found.worst[i].error);
    EXPECT_EQ(worst.norm, found.sample[worst.example].norm);
    EXPECT_EQ(worst.best_exact, found.sample[worst.example].best_exact);
  }
}

TEST(Audit, NormsOfSparseRowsAndOfGroups) {
  const Dataset sparse = random_dataset({.rows = 30, .features = 8, .classes = 4, .sparse = true}, 3);
  ModelFile model = random_model(4, 8, 5);
  model.input = ModelInput::Sparse;
  const Audit found = audit(model, *make_example_source(sparse), {.with_v_star = false});
  for (uint64_t i = 0; i < 30; ++i) {
    double square = 0;
    for (uint64_t e = sparse.features.sparse.begin[i]; e < sparse.features.sparse.begin[i + 1]; ++e)
      square += std::pow(static_cast<double>(sparse.features.sparse.value[e]), 2);
    EXPECT_NEAR(found.sample[i].norm, std::sqrt(square), 1e-12);
  }
  // Groups {3, 4} and {5}; the second alternative of the first group is the best and not the chosen one.
  Dataset groups;
  groups.features.is_sparse = false;
  groups.features.dense = {3, 1, {3, 4, 5}};
  groups.group_begin = {0, 2, 3};
  groups.target = {0, 0};
  const Audit joint = audit(joint_model({1}), *make_example_source(groups), {.with_v_star = false});
  EXPECT_NEAR(joint.sample[0].norm, std::sqrt((9 + 16) / 2.0), 1e-12);
  EXPECT_NEAR(joint.sample[1].norm, 5, 1e-12);
  EXPECT_EQ(joint.sample[0].best, 1u);
  EXPECT_EQ(joint.sample[0].target, 0u);
  EXPECT_FALSE(joint.sample[0].is_correct);
  EXPECT_NEAR(joint.sample[0].target_exact, -std::log1p(std::exp(1)), 1e-6);
  EXPECT_NEAR(joint.sample[0].target_audited(), 3, 1e-6);
}

// Squares are summed in double: rows of the largest floats have a norm.
TEST(Audit, NormsOfTheLargestInputsAreFinite) {
  ModelFile model = random_model(2, 2, 1);
  model.weight = {0, 0, 0, 0};
  Dataset data;
  data.features.is_sparse = false;
  data.features.dense = {1, 2, {3e38f, 3e38f}};
  const Audit found = audit(model, *make_example_source(data), {.with_v_star = false});
  EXPECT_NEAR(found.sample[0].norm / 3e38, std::sqrt(2), 1e-6);
}

TEST(Audit, CalibrationBinsAreThoseOfTheError) {
  const ModelFile model = random_model(6, 5, 1);
  const auto source = make_example_source(random_dataset({.rows = 500, .features = 5, .classes = 6}, 2));
  const Audit found = audit(model, *source, {});
  const auto check = [&](const std::vector<CalibrationBin>& bins, double ece) {
    double sum = 0, correct = 0;
    uint64_t counted = 0;
    for (const CalibrationBin& bin : bins) {
      const double share = static_cast<double>(bin.count) / 500;
      sum += share * std::abs(bin.accuracy - bin.confidence);
      correct += share * bin.accuracy;
      counted += bin.count;
      if (bin.count == 0) continue;
      EXPECT_GE(bin.confidence, bin.from);
      EXPECT_TRUE(bin.to == 1 || bin.confidence <= bin.to);
    }
    EXPECT_EQ(counted, 500u);
    EXPECT_NEAR(sum, ece, 1e-12);
    EXPECT_NEAR(correct, found.labelled->accuracy, 1e-12);
  };
  check(found.labelled->bins, found.labelled->ece);
  check(found.labelled->bins_exact, found.labelled->ece_exact);
  EXPECT_EQ(found.labelled->bins.back().to, 1);
}

TEST(Audit, TheSameForAnyNumberOfThreads) {
  const ModelFile model = random_model(900, 20, 9);
  const auto source = make_example_source(random_dataset({.rows = 2500, .features = 20, .classes = 900}, 10));
  double rms[2], v_star[2];
  for (int t = 0; t < 2; ++t) {
    const ThreadLimit limit(t == 0 ? 1 : 2);
    const Audit found = audit(model, *source, {});
    rms[t] = found.log_z.rms;
    v_star[t] = *found.v_star;
  }
  EXPECT_EQ(rms[0], rms[1]);
  EXPECT_EQ(v_star[0], v_star[1]);
}

// Whole audits with a known truth and ties: x takes the values 0 .. 9, so |e| takes ten values whose
// probabilities are known. Claimed is P(|e| > eps) <= rho; it may be false in at most a share 1 - confidence
// = 0.1 of the audits. Of 2,000 audits 200 failures are expected at most, with standard deviation 13.4: 270
// are five of them away.
TEST(Audit, TheCertificateFailsNoMoreOftenThanItSays) {
  ModelFile model;
  model.input = ModelInput::Dense;
  model.classes = 2;
  model.features = 1;
  model.weight = {0.1f, 0.1f};
  model.bias = {-std::log(2.0f), -std::log(2.0f)};  // e(x) = x / 10
  const double probability[] = {0.3, 0.2, 0.15, 0.1, 0.08, 0.07, 0.05, 0.03, 0.01, 0.01};
  RandomStream random(17);
  int failures_of_smallest = 0, failures_of_fixed = 0;
  for (int audits = 0; audits < 2000; ++audits) {
    Dataset data;
    data.features.is_sparse = false;
    data.features.dense = {150, 1, {}};
    for (int i = 0; i < 150; ++i) {
      double left = random.uniform();
      int x = 0;
      while (x < 9 && left >= probability[x]) left -= probability[x++];
      data.features.dense.values.push_back(static_cast<float>(x));
    }
    const Audit found = audit(model, *make_example_source(data),
                              {.eps = 0.55, .rho = 0.06, .confidence = 0.9, .with_v_star = false});
    const auto exceeds = [&](double eps) {
      double sum = 0;
      for (int x = 0; x < 10; ++x) sum += x / 10.0 > eps + 1e-5 ? probability[x] : 0;
      return sum;
    };
    failures_of_smallest += exceeds(*found.certificate.smallest_eps) > 0.06 ? 1 : 0;
    failures_of_fixed += exceeds(0.55) > found.certificate.rho_bound ? 1 : 0;
  }
  EXPECT_LE(failures_of_smallest, 270);
  EXPECT_LE(failures_of_fixed, 270);
  EXPECT_GT(failures_of_fixed, 20);  // the bound is not idle
}

TEST(Audit, RefusesOptionsOutOfRange) {
  const ModelFile model = random_model(3, 2, 1);
  const auto source = make_example_source(random_dataset({.rows = 5, .features = 2, .classes = 3}, 2));
  for (const AuditOptions& bad : {AuditOptions{.eps = 0}, AuditOptions{.eps = NAN}, AuditOptions{.rho = 1},
                                  AuditOptions{.confidence = 0}, AuditOptions{.bins = 0}})
    EXPECT_THROW(audit(model, *source, bad), Error);
}

}  // namespace
}  // namespace selfnorm
