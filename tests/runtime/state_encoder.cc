// Models with a bag encoder and hierarchical models through the C interface, against their definition in
// double.
#include "selfnorm/runtime/state_encoder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "runtime/random_network.h"

namespace selfnorm::test {
namespace {

// Saved, and read back so that quantised weights are the stored ones.
struct Stored {
  std::string bytes;
  OpenModel open;
  ModelFile model;

  explicit Stored(const ModelFile& file)
      : bytes(saved_bytes(file)), open(bytes), model(parse_model(open.bytes(bytes.size()), "saved")) {}
};

struct Bag {
  std::vector<uint32_t> index;
  std::vector<float> value;
};

Bag random_bag(std::mt19937& random, uint32_t inputs) {
  Bag out;
  for (uint32_t j = 0; j < inputs; ++j) {
    if (random() % 3 != 0) continue;
    out.index.push_back(j);
    out.value.push_back(normals(random, 1)[0]);
  }
  return out;
}

RC_GTEST_PROP(StateEncoder, BagsEqualTheDefinition, (uint32_t seed)) {
  std::mt19937 random(seed);
  ModelFile file = random_bag_model(random, kFamilies[random() % 2], 1 + up_to(random, 60),
                                    static_cast<uint32_t>(random() % 2 * up_to(random, 40)));
  file.weights = kKinds[random() % 3];
  const bool has_b = file.family == Family::Multiclass && random() % 2 == 0;
  if (has_b) file.normalizer = random_normalizer(random, file.features, 3);
  const Stored stored(file);
  const ModelFile& model = stored.model;
  const Bag x = random_bag(random, model.encoder.inputs);
  const size_t nnz = x.index.size();
  const std::vector<double> h = reference_bag(model.encoder, x.index, x.value);
  const double excess = reference_excess(model, h);

  std::vector<uint32_t> classes(model.classes), top(model.classes);
  std::iota(classes.begin(), classes.end(), 0u);
  std::vector<double> raw(model.classes), exact(model.classes), best(model.classes);
  std::vector<float> state(model.features);
  const auto score = [&](selfnorm_kind kind, std::vector<double>& out) {
    return selfnorm_score_sparse(stored.open, x.index.data(), x.value.data(), nnz, classes.data(),
                                 classes.size(), kind, out.data());
  };
  RC_ASSERT(score(SELFNORM_RAW, raw) == SELFNORM_OK);
  RC_ASSERT(score(SELFNORM_EXACT, exact) == SELFNORM_OK);
  RC_ASSERT(selfnorm_encode_sparse(stored.open, x.index.data(), x.value.data(), nnz, state.data()) ==
            SELFNORM_OK);
  for (size_t j = 0; j < h.size(); ++j) RC_ASSERT(std::fabs(state[j] - h[j]) < 1e-5 * (1 + std::fabs(h[j])));
  for (const uint32_t k : classes) {
    const double expected = reference_raw(model, h, k);
    RC_ASSERT(std::fabs(raw[k] - expected) < 1e-4);
    RC_ASSERT(std::fabs(exact[k] - (expected - excess)) < 1e-4);
    double dense = 0, bound = 0;
    RC_ASSERT(selfnorm_score_dense(stored.open, state.data(), state.size(), &k, 1, SELFNORM_RAW, &dense) ==
              SELFNORM_OK);
    RC_ASSERT(dense == raw[k]);
    RC_ASSERT(selfnorm_score_error_bound_sparse(stored.open, x.index.data(), x.value.data(), nnz, k,
                                                &bound) == SELFNORM_OK);
    const std::vector<double> rounded(state.begin(), state.end());
    RC_ASSERT(std::fabs(raw[k] - reference_raw(file, rounded, k)) <= bound);
  }
  RC_ASSERT(selfnorm_top_sparse(stored.open, x.index.data(), x.value.data(), nnz, top.size(), SELFNORM_RAW,
                                top.data(), best.data()) == SELFNORM_OK);
  std::vector<uint32_t> order = classes;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) { return raw[i] > raw[j]; });
  RC_ASSERT(top == order);
  double a = 0;
  RC_ASSERT(selfnorm_log_normalizer_sparse(stored.open, x.index.data(), x.value.data(), nnz, &a) ==
            SELFNORM_OK);
  RC_ASSERT(std::fabs(a - model.log_normalizer - excess) < 1e-4);
  if (!has_b) return;
  double b = 0;
  RC_ASSERT(selfnorm_amortised_normalizer_sparse(stored.open, x.index.data(), x.value.data(), nnz, &b) ==
            SELFNORM_OK);
  RC_ASSERT(std::fabs(b - reference_normalizer(model.normalizer, state)) < 1e-4);
}

TEST(StateEncoder, TheSmallestTree) {
  std::mt19937 random(1);
  const ModelFile model = random_bag_model(random, Family::Hierarchical, 2, 0);
  const OpenModel open(model);
  const uint32_t index[] = {0}, classes[] = {0, 1};
  const float value[] = {2};
  double out[2], a = 9;
  ASSERT_EQ(selfnorm_score_sparse(open, index, value, 1, classes, 2, SELFNORM_EXACT, out), SELFNORM_OK);
  EXPECT_NEAR(std::exp(out[0]) + std::exp(out[1]), 1, 1e-12);
  ASSERT_EQ(selfnorm_log_normalizer_sparse(open, index, value, 1, &a), SELFNORM_OK);
  EXPECT_EQ(a, 0);
  EXPECT_EQ(selfnorm_model_family(open), SELFNORM_HIERARCHICAL);
  EXPECT_EQ(selfnorm_score_sparse(open, index, value, 1, classes, 2, SELFNORM_AMORTISED, out),
            SELFNORM_ERROR_ARGUMENT);
}

// Links that do not lead upwards end a walk with an error, wherever they are.
TEST(StateEncoder, DamagedTreesAreNotFollowed) {
  std::mt19937 random(2);
  const ModelFile model = random_bag_model(random, Family::Hierarchical, 6, 0);
  const std::string good = saved_bytes(model);
  const auto* links = reinterpret_cast<const char*>(model.tree.data());
  const size_t at = good.find(std::string(links, 4 * model.tree.size()));
  ASSERT_NE(at, std::string::npos);
  std::vector<uint32_t> classes(6);
  std::iota(classes.begin(), classes.end(), 0u);
  for (size_t node = 0; node + 1 < model.tree.size(); ++node) {
    for (const uint32_t link : {0u, 1u, 9u, 10u, 0x7FFFFFFFu, 0xFFFFFFFEu, 0xFFFFFFFFu}) {
      std::string bad = good;
      std::memcpy(bad.data() + at + 4 * node, &link, 4);
      const OpenModel open(bad);
      ASSERT_EQ(open.status(), SELFNORM_OK);
      for (const uint32_t k : classes) {
        double out = 7, bound = 7;
        const selfnorm_status status =
            selfnorm_score_sparse(open, nullptr, nullptr, 0, &k, 1, SELFNORM_RAW, &out);
        EXPECT_TRUE(status == SELFNORM_OK || (status == SELFNORM_ERROR_NOT_FINITE && out == 7));
        EXPECT_TRUE(std::isfinite(out));
        EXPECT_EQ(selfnorm_score_error_bound_sparse(open, nullptr, nullptr, 0, k, &bound), status);
      }
      uint32_t top[6];
      double scores[6];
      selfnorm_top_sparse(open, nullptr, nullptr, 0, 6, SELFNORM_RAW, top, scores);
    }
  }
}

TEST(StateEncoder, EmptyAndZeroBags) {
  std::mt19937 random(3);
  const ModelFile model = random_bag_model(random, Family::Multiclass, 3, 4);
  const OpenModel open(model);
  const std::vector<double> expected = reference_bag(model.encoder, {}, {});
  const uint32_t index[] = {0};
  const float zero[] = {0}, huge[] = {3e38f};
  float h[4];
  for (const size_t nnz : {0, 1}) {
    ASSERT_EQ(selfnorm_encode_sparse(open, index, zero, nnz, h), SELFNORM_OK);
    for (int j = 0; j < 4; ++j) EXPECT_FLOAT_EQ(h[j], static_cast<float>(expected[j]));
  }
  EXPECT_EQ(selfnorm_encode_sparse(open, index, huge, 1, h), SELFNORM_OK);
  EXPECT_EQ(selfnorm_inputs(open), model.encoder.inputs);
  EXPECT_EQ(selfnorm_features(open), 4u);
}

TEST(StateEncoder, BadArguments) {
  std::mt19937 random(4);
  const ModelFile model = random_bag_model(random, Family::Multiclass, 3, 4);
  const uint32_t inputs = model.encoder.inputs, outside[] = {inputs}, index[] = {0}, k = 0;
  const OpenModel open(model), flat(random_model(random, 3, 2, WeightKind::Float32));
  const OpenModel language(random_context_model(random, Family::Multiclass, 3, 4));
  const float value[] = {1}, nan[] = {NAN}, infinite[] = {-INFINITY};
  float h[4] = {5, 5, 5, 5};
  double out = 9;
  EXPECT_EQ(selfnorm_encode_sparse(open, outside, value, 1, h), SELFNORM_ERROR_INDEX);
  EXPECT_EQ(selfnorm_encode_sparse(open, index, nan, 1, h), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_STREQ(selfnorm_error_message(), "value 0 of x is not finite");
  EXPECT_EQ(selfnorm_encode_sparse(open, index, infinite, 1, h), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(selfnorm_encode_sparse(open, nullptr, value, 1, h), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_encode_sparse(open, index, nullptr, 1, h), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_encode_sparse(open, index, value, 1, nullptr), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_encode_sparse(flat, index, value, 1, h), SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_encode_sparse(language, index, value, 1, h), SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_score_sparse(open, outside, value, 1, &k, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_INDEX);
  EXPECT_EQ(selfnorm_score_sparse(open, index, nan, 1, &k, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(selfnorm_score_sparse(language, index, value, 1, &k, 1, SELFNORM_RAW, &out),
            SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_score_dense(open, value, 1, &k, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_DIMENSION);
  EXPECT_EQ(h[0], 5);
  EXPECT_EQ(out, 9);
}

// Weights so large that a hidden unit overflows: never hidden by the maximum with 0.
TEST(StateEncoder, OverflowStaysVisible) {
  std::mt19937 random(5);
  for (const float sign : {1.0f, -1.0f}) {
    ModelFile model = random_bag_model(random, Family::Multiclass, 3, 2);
    std::fill(model.encoder.embedding.begin(), model.encoder.embedding.end(), 3e38f);
    std::fill(model.encoder.hidden_weight.begin(), model.encoder.hidden_weight.end(), sign * 3e38f);
    const OpenModel open(model);
    const uint32_t index[] = {0};
    const float value[] = {1};
    float h[2];
    EXPECT_EQ(selfnorm_encode_sparse(open, index, value, 1, h), SELFNORM_ERROR_NOT_FINITE);
  }
}

}  // namespace
}  // namespace selfnorm::test
