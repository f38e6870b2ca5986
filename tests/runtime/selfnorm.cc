#include "selfnorm.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "model/energy/density_file.h"
#include "model/energy/torchscript.h"
#include "proposal/density/make_density.h"
#include "runtime/random_model.h"

namespace selfnorm::test {
namespace {

Sparse sparse_of(const std::vector<float>& x) {
  Sparse out;
  for (uint32_t j = 0; j < x.size(); ++j) {
    if (x[j] != 0) out.index.push_back(j), out.value.push_back(x[j]);
  }
  return out;
}

std::vector<float> sparse_input(std::mt19937& random, size_t d) {
  auto x = normals(random, d);
  for (float& v : x) v = random() % 3 == 0 ? v : 0;
  return x;
}

RC_GTEST_PROP(Runtime, ScoresEqualTheDefinitionWithinTheBound, (uint32_t seed)) {
  std::mt19937 random(seed);
  const WeightKind kind = kKinds[random() % 3];
  const ModelFile model = random_model(random, up_to(random, 300), up_to(random, 70), kind);
  const OpenModel open(model);
  const auto x = sparse_input(random, model.features);
  const Sparse sparse = sparse_of(x);
  const size_t nnz = sparse.index.size();
  std::vector<uint32_t> classes(model.classes);
  std::iota(classes.begin(), classes.end(), 0u);
  std::vector<double> dense_out(classes.size()), sparse_out(classes.size());
  RC_ASSERT(selfnorm_score_dense(open, x.data(), x.size(), classes.data(), classes.size(), SELFNORM_RAW,
                                 dense_out.data()) == SELFNORM_OK);
  RC_ASSERT(selfnorm_score_sparse(open, sparse.index.data(), sparse.value.data(), nnz, classes.data(),
                                  classes.size(), SELFNORM_RAW, sparse_out.data()) == SELFNORM_OK);
  for (const uint32_t k : classes) {
    const double expected = reference_score(model, x, k) - model.log_normalizer;
    double bound = 0;
    RC_ASSERT(selfnorm_score_error_bound_dense(open, x.data(), x.size(), k, &bound) == SELFNORM_OK);
    RC_ASSERT(std::fabs(dense_out[k] - expected) <= bound);
    RC_ASSERT(selfnorm_score_error_bound_sparse(open, sparse.index.data(), sparse.value.data(), nnz, k,
                                                &bound) == SELFNORM_OK);
    RC_ASSERT(std::fabs(sparse_out[k] - expected) <= bound);
    if (kind == WeightKind::Float32) RC_ASSERT(bound < 1e-4);
  }
}

RC_GTEST_PROP(Runtime, LogNormalizerAndTopEqualEnumeration, (uint32_t seed)) {
  std::mt19937 random(seed);
  ModelFile model = random_model(random, up_to(random, 700), up_to(random, 40), kKinds[random() % 3]);
  const std::string bytes = saved_bytes(model);
  const OpenModel open(bytes);
  model = parse_model(open.bytes(bytes.size()), "saved");
  const auto x = sparse_input(random, model.features);
  const Sparse sparse = sparse_of(x);
  const size_t nnz = sparse.index.size();
  const double expected = reference_log_normalizer(model, x);
  double a = 0, b = 0;
  RC_ASSERT(selfnorm_log_normalizer_dense(open, x.data(), x.size(), &a) == SELFNORM_OK);
  RC_ASSERT(selfnorm_log_normalizer_sparse(open, sparse.index.data(), sparse.value.data(), nnz, &b) ==
            SELFNORM_OK);
  RC_ASSERT(std::fabs(a - expected) < 1e-5);
  RC_ASSERT(std::fabs(b - expected) < 1e-5);

  const size_t n = random() % (model.classes + 1);
  std::vector<uint32_t> top(n), all(model.classes);
  std::vector<double> log_probs(n), scores(model.classes);
  std::iota(all.begin(), all.end(), 0u);
  for (const selfnorm_kind kind : {SELFNORM_RAW, SELFNORM_EXACT}) {
    RC_ASSERT(selfnorm_top_dense(open, x.data(), x.size(), n, kind, top.data(), log_probs.data()) ==
              SELFNORM_OK);
    RC_ASSERT(selfnorm_score_dense(open, x.data(), x.size(), all.data(), all.size(), kind, scores.data()) ==
              SELFNORM_OK);
    std::vector<uint32_t> order = all;
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t i, uint32_t j) { return scores[i] > scores[j]; });
    order.resize(n);
    RC_ASSERT(top == order);
    for (size_t i = 0; i < n; ++i) RC_ASSERT(log_probs[i] == scores[top[i]]);
  }
  double total = 0;
  for (const double s : scores) total += std::exp(s);
  RC_ASSERT(std::fabs(total - 1) < 1e-5);
  RC_ASSERT(selfnorm_top_sparse(open, sparse.index.data(), sparse.value.data(), nnz, n, SELFNORM_EXACT,
                                top.data(), log_probs.data()) == SELFNORM_OK);
  for (size_t i = 0; i < n; ++i) RC_ASSERT(std::fabs(log_probs[i] - scores[top[i]]) < 1e-5);
}

TEST(Runtime, TiesGoToTheLowerClass) {
  std::mt19937 random(1);
  ModelFile model = random_model(random, 9, 2, WeightKind::Float32);
  model.bias.assign(9, 0.5f);
  const OpenModel open(model);
  uint32_t top[4];
  double log_probs[4];
  ASSERT_EQ(selfnorm_top_sparse(open, nullptr, nullptr, 0, 4, SELFNORM_RAW, top, log_probs), SELFNORM_OK);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(top[i], i);
}

TEST(Runtime, JointScoresAlternatives) {
  ModelFile model;
  model.family = Family::Joint;
  model.features = 3;
  model.weight = {1, -2, 0.5f};
  model.log_normalizer = 0.25;
  const OpenModel open(model);
  const float x[] = {2, 1, 4}, value[] = {1};
  const uint32_t index[] = {1};
  double out = 0;
  ASSERT_EQ(selfnorm_score_alternative_dense(open, x, 3, &out), SELFNORM_OK);
  EXPECT_DOUBLE_EQ(out, 2 - 2 + 2 - 0.25);
  ASSERT_EQ(selfnorm_score_alternative_sparse(open, index, value, 1, &out), SELFNORM_OK);
  EXPECT_DOUBLE_EQ(out, -2.25);
  EXPECT_EQ(selfnorm_score_dense(open, x, 3, index, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_model_family(open), SELFNORM_JOINT);
  EXPECT_EQ(selfnorm_classes(open), 0u);
}

TEST(Runtime, BadArgumentsGetCodesAndLeaveOutputsAlone) {
  std::mt19937 random(2);
  const OpenModel open(random_model(random, 5, 3, WeightKind::Float32));
  const float x[] = {1, 2, 3}, huge[] = {3e38f, 3e38f, 3e38f}, nan[] = {0, NAN, 0}, inf[] = {0, 0, INFINITY};
  const uint32_t good[] = {4, 0}, bad[] = {4, 5}, unsorted[] = {1, 1}, outside[] = {0, 3};
  uint32_t top[6] = {77, 77};
  double out[6] = {99, 99};
  const auto dense = [&](const float* values, size_t d, const uint32_t* classes, int kind) {
    return selfnorm_score_dense(open, values, d, classes, 2, kind, out);
  };
  EXPECT_EQ(dense(x, 2, good, SELFNORM_RAW), SELFNORM_ERROR_DIMENSION);
  EXPECT_STREQ(selfnorm_error_message(), "x has 2 values, expected the model's 3 features");
  EXPECT_EQ(dense(x, 3, bad, SELFNORM_RAW), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(dense(nan, 3, good, SELFNORM_RAW), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_STREQ(selfnorm_error_message(), "value 1 of x is not finite");
  EXPECT_EQ(dense(inf, 3, good, SELFNORM_EXACT), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(dense(x, 3, good, 99), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(dense(nullptr, 3, good, SELFNORM_RAW), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(dense(x, 3, nullptr, SELFNORM_RAW), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_score_sparse(open, unsorted, x, 2, good, 2, SELFNORM_RAW, out), SELFNORM_ERROR_INDEX);
  EXPECT_EQ(selfnorm_score_sparse(open, outside, x, 2, good, 2, SELFNORM_RAW, out), SELFNORM_ERROR_INDEX);
  EXPECT_EQ(selfnorm_score_sparse(open, nullptr, x, 2, good, 2, SELFNORM_RAW, out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_log_normalizer_dense(open, nan, 3, out), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(selfnorm_log_normalizer_dense(open, inf, 3, out), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(selfnorm_top_dense(open, inf, 3, 2, SELFNORM_RAW, top, out), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(selfnorm_top_dense(open, x, 3, 6, SELFNORM_RAW, top, out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_score_alternative_dense(open, x, 3, out), SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_score_error_bound_dense(open, x, 3, 5, out), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(selfnorm_score_error_bound_dense(open, inf, 3, 0, out), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(selfnorm_score_dense(nullptr, x, 3, good, 2, SELFNORM_RAW, out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(out[0], 99);
  EXPECT_EQ(out[1], 99);
  EXPECT_EQ(top[0], 77u);
  const selfnorm_status overflow = selfnorm_log_normalizer_dense(open, huge, 3, out);
  EXPECT_TRUE(overflow == SELFNORM_OK || overflow == SELFNORM_ERROR_NOT_FINITE);
  EXPECT_TRUE(std::isfinite(out[0]));
}

// A density with a TorchScript module in it: the runtime reads classes and CRFs, and runs nothing.
TEST(Runtime, AFileWithAProgramIsNoModel) {
  const ScratchDirectory scratch;
  const float points[] = {0, 0, 1, 2, 3, 1, 2, 2};
  DensityModel density;
  density.energy = make_torchscript(
      {.kind = "torchscript", .settings = R"({"dimension":2})", .tensors = {}, .module = "a program"},
      EmbeddedCode::seal);
  density.proposal = fit_density("gaussian", {points, 4, 2});
  density.normalizer_kind = "learned";
  save_density(density, scratch.file("density"));
  selfnorm_model* model = nullptr;
  EXPECT_EQ(selfnorm_open(scratch.file("density").c_str(), &model), SELFNORM_ERROR_FORMAT);
  EXPECT_EQ(model, nullptr);
}

TEST(Runtime, OpenReportsWhatIsWrongWithTheFile) {
  const ScratchDirectory scratch;
  selfnorm_model* model = nullptr;
  EXPECT_EQ(selfnorm_open(scratch.file("absent").c_str(), &model), SELFNORM_ERROR_IO);
  EXPECT_NE(std::string(selfnorm_error_message()).find("absent"), std::string::npos);
  EXPECT_EQ(selfnorm_open(scratch.file("").c_str(), &model), SELFNORM_ERROR_IO);
  std::ofstream(scratch.file("empty")).close();
  EXPECT_EQ(selfnorm_open(scratch.file("empty").c_str(), &model), SELFNORM_ERROR_FORMAT);
  EXPECT_EQ(selfnorm_open(nullptr, &model), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(model, nullptr);
  selfnorm_close(nullptr);
}

TEST(Runtime, StringsOfTheModel) {
  std::mt19937 random(3);
  ModelFile model = random_model(random, 3, 2, WeightKind::Float32);
  model.labels = {"", "zwei", std::string("\0\xFF", 2)};
  model.feature_names = {"a", "b"};
  model.audit_json = R"({"n":1})";
  const OpenModel open(model);
  size_t length = 9;
  const auto text = [&length](const char* begin) { return std::string(begin, length); };
  EXPECT_EQ(text(selfnorm_label(open, 1, &length)), "zwei");
  EXPECT_NE(selfnorm_label(open, 0, &length), nullptr);
  EXPECT_EQ(length, 0u);
  EXPECT_EQ(selfnorm_label(open, 3, &length), nullptr);
  EXPECT_EQ(text(selfnorm_feature_name(open, 1, &length)), "b");
  EXPECT_EQ(selfnorm_word(open, 0, &length), nullptr);
  EXPECT_EQ(text(selfnorm_metadata(open, "audit", &length)), R"({"n":1})");
  EXPECT_EQ(selfnorm_metadata(open, "absent", &length), nullptr);
  uint32_t k = 9;
  EXPECT_EQ(selfnorm_class_of_label(open, "\0\xFF", 2, &k), SELFNORM_OK);
  EXPECT_EQ(k, 2u);
  EXPECT_EQ(selfnorm_class_of_label(open, "drei", 4, &k), SELFNORM_ERROR_CLASS);
  EXPECT_STREQ(selfnorm_error_message(), "no class is labelled \"drei\"");
}

TEST(Runtime, ThreadsShareAModel) {
  std::mt19937 random(4);
  const OpenModel open(random_model(random, 400, 33, WeightKind::Int8));
  const auto x = normals(random, 33);
  double expected = 0;
  ASSERT_EQ(selfnorm_log_normalizer_dense(open, x.data(), 33, &expected), SELFNORM_OK);
  std::vector<std::thread> threads;
  std::vector<int> failures(4);
  for (size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        double a = 0;
        failures[t] += selfnorm_log_normalizer_dense(open, x.data(), 33, &a) != SELFNORM_OK || a != expected;
        failures[t] += selfnorm_log_normalizer_dense(open, x.data(), t, &a) != SELFNORM_ERROR_DIMENSION;
        const std::string wanted = "x has " + std::to_string(t) + " values, expected the model's 33 features";
        failures[t] += selfnorm_error_message() != wanted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<int>(4));
}

}  // namespace
}  // namespace selfnorm::test
