// Amortised log-probabilities of the C interface against their definition in double.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "runtime/random_model.h"

namespace selfnorm::test {
namespace {

std::vector<float> sparse_input(std::mt19937& random, size_t d, Sparse& sparse) {
  std::vector<float> x = normals(random, d);
  for (uint32_t j = 0; j < d; ++j) {
    if (random() % 3 != 0) x[j] = 0;
    if (x[j] != 0) sparse.index.push_back(j), sparse.value.push_back(x[j]);
  }
  return x;
}

ModelFile random_amortised(std::mt19937& random, WeightKind kind, uint32_t hidden) {
  ModelFile model = random_model(random, up_to(random, 300), up_to(random, 70), kind);
  model.normalizer = random_normalizer(random, model.features, hidden);
  return model;
}

RC_GTEST_PROP(Amortised, TheNormalizerIsItsFormula, (uint32_t seed)) {
  std::mt19937 random(seed);
  const auto hidden = static_cast<uint32_t>(random() % 3 == 0 ? 0 : random() % 600);
  const ModelFile model = random_amortised(random, kKinds[random() % 3], hidden);
  const OpenModel open(model);
  Sparse sparse;
  const auto x = sparse_input(random, model.features, sparse);
  const size_t nnz = sparse.index.size();
  double dense = 0, sparse_out = 0;
  RC_ASSERT(selfnorm_has_amortised_normalizer(open) == 1);
  RC_ASSERT(selfnorm_amortised_normalizer_units(open) == hidden);
  RC_ASSERT(selfnorm_amortised_normalizer_dense(open, x.data(), x.size(), &dense) == SELFNORM_OK);
  RC_ASSERT(selfnorm_amortised_normalizer_sparse(open, sparse.index.data(), sparse.value.data(), nnz,
                                                 &sparse_out) == SELFNORM_OK);
  const double expected = reference_normalizer(model.normalizer, x);
  const double tolerance = 1e-5 * (1 + std::sqrt(static_cast<double>(hidden)));
  RC_ASSERT(std::fabs(dense - expected) < tolerance);
  RC_ASSERT(std::fabs(sparse_out - expected) < tolerance);
}

// raw_k - b(x), for every class, and in the order of the raw scores.
RC_GTEST_PROP(Amortised, LogProbabilitiesAreRawMinusTheNormalizer, (uint32_t seed)) {
  std::mt19937 random(seed);
  const ModelFile model = random_amortised(random, kKinds[random() % 3], up_to(random, 20));
  const OpenModel open(model);
  Sparse sparse;
  const auto x = sparse_input(random, model.features, sparse);
  const size_t nnz = sparse.index.size(), n = model.classes;
  const float* value = sparse.value.data();
  const uint32_t* index = sparse.index.data();
  std::vector<uint32_t> classes(n), best(n), raw_best(n);
  std::iota(classes.begin(), classes.end(), 0u);
  std::vector<double> raw(n), amortised(n), top(n), raw_top(n);
  double b = 0;

  RC_ASSERT(selfnorm_amortised_normalizer_dense(open, x.data(), x.size(), &b) == SELFNORM_OK);
  const auto dense = [&](selfnorm_kind kind, std::vector<double>& out) {
    return selfnorm_score_dense(open, x.data(), x.size(), classes.data(), n, kind, out.data());
  };
  RC_ASSERT(dense(SELFNORM_RAW, raw) == SELFNORM_OK && dense(SELFNORM_AMORTISED, amortised) == SELFNORM_OK);
  for (size_t k = 0; k < n; ++k) RC_ASSERT(amortised[k] == raw[k] - b);
  RC_ASSERT(selfnorm_top_dense(open, x.data(), x.size(), n, SELFNORM_AMORTISED, best.data(), top.data()) ==
            SELFNORM_OK);
  RC_ASSERT(selfnorm_top_dense(open, x.data(), x.size(), n, SELFNORM_RAW, raw_best.data(), raw_top.data()) ==
            SELFNORM_OK);
  RC_ASSERT(best == raw_best);
  for (size_t i = 0; i < n; ++i) RC_ASSERT(top[i] == amortised[best[i]]);

  RC_ASSERT(selfnorm_amortised_normalizer_sparse(open, index, value, nnz, &b) == SELFNORM_OK);
  const auto scattered = [&](selfnorm_kind kind, std::vector<double>& out) {
    return selfnorm_score_sparse(open, index, value, nnz, classes.data(), n, kind, out.data());
  };
  RC_ASSERT(scattered(SELFNORM_RAW, raw) == SELFNORM_OK);
  RC_ASSERT(scattered(SELFNORM_AMORTISED, amortised) == SELFNORM_OK);
  for (size_t k = 0; k < n; ++k) RC_ASSERT(amortised[k] == raw[k] - b);
  RC_ASSERT(selfnorm_top_sparse(open, index, value, nnz, n, SELFNORM_AMORTISED, best.data(), top.data()) ==
            SELFNORM_OK);
  for (size_t i = 0; i < n; ++i) RC_ASSERT(top[i] == amortised[best[i]]);
}

TEST(Amortised, AModelWithoutOneSaysSo) {
  std::mt19937 random(1);
  const OpenModel open(random_model(random, 4, 3, WeightKind::Float32));
  const float x[] = {1, 2, 3};
  const uint32_t index[] = {0, 1, 2}, k = 0;
  uint32_t best = 77;
  double out = 99;
  const auto expect = [](selfnorm_status status) {
    EXPECT_EQ(status, SELFNORM_ERROR_ARGUMENT);
    EXPECT_NE(std::string(selfnorm_error_message()).find("no amortised normalizer"), std::string::npos);
  };
  EXPECT_EQ(selfnorm_has_amortised_normalizer(open), 0);
  EXPECT_EQ(selfnorm_amortised_normalizer_units(open), 0u);
  expect(selfnorm_amortised_normalizer_dense(open, x, 3, &out));
  expect(selfnorm_amortised_normalizer_sparse(open, index, x, 3, &out));
  expect(selfnorm_score_dense(open, x, 3, &k, 1, SELFNORM_AMORTISED, &out));
  expect(selfnorm_score_sparse(open, index, x, 3, &k, 1, SELFNORM_AMORTISED, &out));
  expect(selfnorm_top_dense(open, x, 3, 1, SELFNORM_AMORTISED, &best, &out));
  expect(selfnorm_top_sparse(open, index, x, 3, 1, SELFNORM_AMORTISED, &best, &out));
  EXPECT_EQ(out, 99);
  EXPECT_EQ(best, 77u);
}

// A hidden unit that is not a number is not a 0.
TEST(Amortised, OverflowIsAnError) {
  std::mt19937 random(2);
  ModelFile model = random_model(random, 2, 2, WeightKind::Float32);
  model.weight.assign(4, 0);
  model.normalizer = {.intercept = 1,
                      .slope = {0, 0},
                      .hidden_weight = {1e10f, -1e10f, 1, 1},
                      .hidden_bias = {0, 0},
                      .output = {1, 1}};
  const OpenModel open(model);
  const float good[] = {1, 2}, huge[] = {3e38f, 3e38f}, nan[] = {NAN, 0}, inf[] = {0, -INFINITY};
  const uint32_t index[] = {0, 1}, k = 1;
  double out = 99;
  const auto codes = [&](const float* x) {
    return std::vector<int>{selfnorm_amortised_normalizer_dense(open, x, 2, &out),
                            selfnorm_amortised_normalizer_sparse(open, index, x, 2, &out),
                            selfnorm_score_dense(open, x, 2, &k, 1, SELFNORM_AMORTISED, &out)};
  };
  for (const float* x : {huge, nan, inf}) {
    EXPECT_EQ(codes(x), std::vector<int>(3, SELFNORM_ERROR_NOT_FINITE));
    EXPECT_EQ(out, 99);
  }
  EXPECT_EQ(codes(good), std::vector<int>(3, SELFNORM_OK));
  EXPECT_EQ(selfnorm_amortised_normalizer_dense(open, good, 2, nullptr), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_amortised_normalizer_dense(open, good, 1, &out), SELFNORM_ERROR_DIMENSION);
  EXPECT_EQ(selfnorm_amortised_normalizer_sparse(open, nullptr, good, 2, &out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_amortised_normalizer_sparse(open, index, good, 0, &out), SELFNORM_OK);
  EXPECT_EQ(out, 1);
}

TEST(Amortised, AJointModelHasNone) {
  ModelFile model;
  model.family = Family::Joint;
  model.features = 1;
  model.weight = {1};
  const OpenModel open(model);
  const float x = 1;
  double out = 0;
  EXPECT_EQ(selfnorm_has_amortised_normalizer(open), 0);
  EXPECT_EQ(selfnorm_amortised_normalizer_dense(open, &x, 1, &out), SELFNORM_ERROR_FAMILY);
}

TEST(Amortised, ThreadsShareAModel) {
  std::mt19937 random(3);
  ModelFile model = random_model(random, 9, 33, WeightKind::Bfloat16);
  model.normalizer = random_normalizer(random, 33, 500);
  const OpenModel open(model);
  const auto x = normals(random, 33);
  double expected = 0;
  ASSERT_EQ(selfnorm_amortised_normalizer_dense(open, x.data(), 33, &expected), SELFNORM_OK);
  std::vector<std::thread> threads;
  std::vector<int> failures(4);
  for (size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        double b = 0;
        failures[t] +=
            selfnorm_amortised_normalizer_dense(open, x.data(), 33, &b) != SELFNORM_OK || b != expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<int>(4));
}

}  // namespace
}  // namespace selfnorm::test
