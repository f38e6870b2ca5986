// The part of selfnorm.h about CRFs: what it refuses, and threads.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/random_crf.h"

namespace selfnorm::test {
namespace {

TEST(RuntimeCrf, EmptySentences) {
  CrfModel model = random_crf({});
  model.normalizer = {true, 1, 0.5, {}};
  const OpenModel open(saved_bytes(model));
  CrfMemory memory(open, 0);
  const selfnorm_sentence x = {};
  double out = 9;
  EXPECT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_EXACT, nullptr, &out),
            SELFNORM_OK);
  EXPECT_EQ(out, 0);
  EXPECT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), nullptr), SELFNORM_OK);
  EXPECT_EQ(selfnorm_score_labelling(open, &x, nullptr, SELFNORM_AMORTISED, nullptr, 0, &out), SELFNORM_OK);
  EXPECT_EQ(out, -0.5);
}

TEST(RuntimeCrf, CallsOfOtherFamiliesAreRefused) {
  std::mt19937 random(1);
  const OpenModel crf(saved_bytes(random_crf({}))), classes(random_model(random, 3, 2, WeightKind::Float32));
  const float x[] = {1, 2};
  const uint32_t index[] = {0, 1};
  uint32_t out[2];
  double value[2];
  char memory[8];
  const selfnorm_sentence sentence = {};
  selfnorm_state state = {};
  float h[2];
  for (const selfnorm_status status :
       {selfnorm_score_dense(crf, x, 2, index, 2, SELFNORM_RAW, value),
        selfnorm_score_dense(crf, nullptr, 0, index, 2, SELFNORM_RAW, value),
        selfnorm_score_sparse(crf, index, x, 2, index, 2, SELFNORM_EXACT, value),
        selfnorm_log_normalizer_dense(crf, x, 0, value),
        selfnorm_amortised_normalizer_dense(crf, x, 0, value),
        selfnorm_top_dense(crf, x, 0, 1, SELFNORM_RAW, out, value),
        selfnorm_score_alternative_dense(crf, x, 0, value),
        selfnorm_score_error_bound_dense(crf, x, 0, 0, value), selfnorm_encode_sparse(crf, index, x, 1, h),
        selfnorm_word_id(crf, "a", 1, out), selfnorm_begin_sentence(crf, &state),
        selfnorm_precompute(const_cast<OpenModel&>(crf).get(), 1),
        selfnorm_tag(classes, &sentence, memory, 8, SELFNORM_RAW, out, value),
        selfnorm_score_labelling(classes, &sentence, out, SELFNORM_RAW, nullptr, 0, value),
        selfnorm_chain_log_normalizer(classes, &sentence, memory, 8, value),
        selfnorm_chain_amortised_normalizer(classes, &sentence, value),
        selfnorm_marginals(classes, &sentence, memory, 8, value),
        selfnorm_attribute_id(classes, "u1", 2, out), selfnorm_pair_attribute_id(classes, "u1", 2, out)})
    EXPECT_EQ(status, SELFNORM_ERROR_FAMILY) << selfnorm_error_message();
  EXPECT_EQ(selfnorm_chain_workspace(classes, 10), 0u);
  EXPECT_EQ(selfnorm_attributes(classes), 0u);
}

TEST(RuntimeCrf, BadArgumentsGetCodesAndLeaveOutputsAlone) {
  const OpenModel open(saved_bytes(random_crf({.bigrams = 1})));
  CrfMemory memory(open, 2);
  const size_t begin[] = {0, 1, 2}, falling[] = {0, 2, 1};
  const uint32_t good[] = {0, 7}, bad[] = {0, 8}, none[] = {0, 3};
  const float nan[] = {1, NAN}, huge[] = {3e38f, -3e38f};
  uint32_t labels[2] = {77, 77};
  double out[6] = {99, 99};
  const auto tag = [&](const selfnorm_sentence& x, int kind = SELFNORM_EXACT) {
    return selfnorm_tag(open, &x, memory.data(), memory.bytes(), kind, labels, out);
  };
  const selfnorm_sentence x = {2, {begin, good, nullptr}, {}};
  EXPECT_EQ(tag({2, {falling, good, nullptr}, {}}), SELFNORM_ERROR_ARGUMENT);
  EXPECT_STREQ(selfnorm_error_message(),
               "begin[1] of the unigram attributes is 2 and begin[2] is 1, expected no less");
  EXPECT_EQ(tag({2, {begin, nullptr, nullptr}, {}}), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(tag({2, {begin, bad, nullptr}, {}}), SELFNORM_ERROR_ATTRIBUTE);
  EXPECT_EQ(tag({2, {}, {begin, good, nullptr}}), SELFNORM_ERROR_ATTRIBUTE);
  EXPECT_STREQ(selfnorm_error_message(),
               "bigram attribute 7, expected one below the model's 1; leave out attributes that it does not "
               "have");
  EXPECT_EQ(tag({2, {begin, good, nan}, {}}), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_STREQ(selfnorm_error_message(), "value 1 of the unigram attributes is not finite");
  EXPECT_EQ(tag({2, {begin, good, nan}, {}}, SELFNORM_RAW), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(tag({3, {}, {}}), SELFNORM_ERROR_ARGUMENT);  // the workspace is for 2
  EXPECT_EQ(tag({SIZE_MAX / 2, {}, {}}), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(tag(x, SELFNORM_AMORTISED), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(tag(x, 5), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_tag(open, &x, nullptr, 0, SELFNORM_RAW, labels, out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_RAW, nullptr, out),
            SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_tag(open, nullptr, memory.data(), memory.bytes(), SELFNORM_RAW, labels, out),
            SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_tag(nullptr, &x, memory.data(), memory.bytes(), SELFNORM_RAW, labels, out),
            SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_score_labelling(open, &x, none, SELFNORM_RAW, nullptr, 0, out), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(selfnorm_score_labelling(open, &x, good, SELFNORM_EXACT, nullptr, 0, out), SELFNORM_ERROR_CLASS);
  const uint32_t zeros[] = {0, 0};
  EXPECT_EQ(selfnorm_score_labelling(open, &x, zeros, SELFNORM_EXACT, nullptr, 0, out),
            SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_score_labelling(open, &x, zeros, SELFNORM_RAW, nullptr, 0, nullptr),
            SELFNORM_ERROR_ARGUMENT);
  const selfnorm_sentence too_large = {2, {begin, good, huge}, {}};
  EXPECT_EQ(selfnorm_marginals(open, &too_large, memory.data(), memory.bytes(), out),
            SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes() - 1, out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_chain_amortised_normalizer(open, &x, out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(labels[0], 77u);
  EXPECT_EQ(out[0], 99);
  EXPECT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_EXACT, labels, nullptr),
            SELFNORM_OK);
}

// Whatever stands there: unknown numbers, values that are not finite, offsets that fall.
TEST(RuntimeCrf, BigramAttributesOfTheFirstPositionAreIgnored) {
  const OpenModel open(saved_bytes(random_crf({.bigrams = 2})));
  CrfMemory memory(open, 2);
  const size_t empty[] = {0, 0, 1}, filled[] = {0, 1, 2}, falling[] = {9, 1, 2};
  const uint32_t number[] = {1}, unknown[] = {77, 1};
  const float value[] = {0.5f}, nan[] = {NAN, 0.5f}, last_nan[] = {NAN, INFINITY};
  uint32_t labels[2];
  double expected = 0, out = 0;
  const auto tag = [&](const selfnorm_attribute_rows& bigram, double* log_prob) {
    const selfnorm_sentence x = {2, {}, bigram};
    return selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_EXACT, labels, log_prob);
  };
  ASSERT_EQ(tag({empty, number, value}, &expected), SELFNORM_OK);
  for (const size_t* begin : {filled, falling}) {
    ASSERT_EQ(tag({begin, unknown, nan}, &out), SELFNORM_OK) << selfnorm_error_message();
    EXPECT_EQ(out, expected);
  }
  EXPECT_EQ(tag({filled, unknown, last_nan}, &out), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_STREQ(selfnorm_error_message(), "value 1 of the bigram attributes is not finite");
}

// Without attributes b(x) is two numbers, whatever the length.
TEST(RuntimeCrf, AmortisedNormalizerOfAnyLength) {
  CrfModel model = random_crf({});
  model.normalizer = {true, 0.25, 0.5, std::vector<float>(8, 1)};
  const OpenModel open(saved_bytes(model));
  const selfnorm_sentence x = {size_t{1} << 62, {}, {}};
  double b = 0;
  ASSERT_EQ(selfnorm_chain_amortised_normalizer(open, &x, &b), SELFNORM_OK);
  EXPECT_EQ(b, std::ldexp(1, 60));
}

TEST(RuntimeCrf, ThreadsShareAModel) {
  const CrfPlan plan{.longest = 20, .labels = 17, .unigrams = 30, .bigrams = 1};
  const OpenModel open(saved_bytes(random_crf(plan)));
  const Sequences data = random_sequences(plan);
  const auto run = [&] {
    std::vector<double> out;
    CrfMemory memory(open, plan.longest);
    std::vector<uint32_t> labels(plan.longest);
    for (uint64_t i = 0; i < data.sentences(); ++i) {
      const selfnorm_sentence x = sentence_of(data, i);
      double log_prob = 0;
      selfnorm_tag(open, &x, memory.data(), memory.bytes(), SELFNORM_EXACT, labels.data(), &log_prob);
      out.push_back(log_prob);
      out.insert(out.end(), labels.begin(), labels.begin() + static_cast<ptrdiff_t>(x.positions));
    }
    return out;
  };
  const std::vector<double> expected = run();
  std::vector<std::vector<double>> found(4);
  std::vector<std::thread> threads;
  for (auto& out : found) threads.emplace_back([&] { out = run(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& out : found) EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace selfnorm::test
