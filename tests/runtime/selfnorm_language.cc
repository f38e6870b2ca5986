// Language models through the C interface, against their definition in double.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <thread>

#include "runtime/random_network.h"

namespace selfnorm::test {
namespace {

std::vector<uint32_t> random_context(std::mt19937& random, const ModelFile& model) {
  std::vector<uint32_t> out(model.encoder.positions);
  for (uint32_t& w : out) w = static_cast<uint32_t>(random() % model.encoder.inputs);
  return out;
}

// (n - 1)/2 sum_j |w_kj| s_j with s_j = sum_i max_w |P_i[w]_j| / (32767 - (n - 1)).
double table_bound(const ModelFile& model, uint32_t k) {
  const Encoder& encoder = model.encoder;
  const double positions = encoder.positions;
  double out = 0;
  for (uint32_t j = 0; j < encoder.hidden(); ++j) {
    double sum = 0;
    for (uint32_t i = 0; i < encoder.positions; ++i) {
      double largest = 0;
      for (uint32_t w = 0; w < encoder.inputs; ++w) {
        double p = 0;
        for (uint32_t c = 0; c < encoder.width; ++c)
          p += static_cast<double>(encoder.hidden_weight[j * encoder.pooled() + i * encoder.width + c]) *
               encoder.embedding[size_t{w} * encoder.width + c];
        largest = std::max(largest, std::fabs(p));
      }
      sum += largest;
    }
    out += std::fabs(model.weight[size_t{k} * model.features + j]) * sum / (32767 - positions);
  }
  return out * positions / 2;
}

RC_GTEST_PROP(Language, EveryCallEqualsTheDefinition, (uint32_t seed)) {
  std::mt19937 random(seed);
  ModelFile model = random_context_model(random, kFamilies[random() % 2], 1 + up_to(random, 40),
                                         static_cast<uint32_t>(random() % 2 * up_to(random, 70)));
  model.weights = kKinds[random() % 3];
  const bool has_b = model.family == Family::Multiclass && random() % 2 == 0;
  if (has_b) model.normalizer = random_normalizer(random, model.features, 2);
  const std::string bytes = saved_bytes(model);
  OpenModel open(bytes);
  model = parse_model(open.bytes(bytes.size()), "saved");
  const uint32_t positions = model.encoder.positions;
  RC_ASSERT(selfnorm_order(open) == positions + 1);

  std::vector<uint32_t> contexts, words;
  for (int i = 0; i < 8; ++i) {
    const auto context = random_context(random, model);
    contexts.insert(contexts.end(), context.begin(), context.end());
    words.push_back(static_cast<uint32_t>(random() % model.classes));
  }
  for (const bool precomputed : {false, true}) {
    if (precomputed) RC_ASSERT(selfnorm_precompute(open.get(), 1 + seed % 3) == SELFNORM_OK);
    for (const selfnorm_kind kind : {SELFNORM_RAW, SELFNORM_EXACT, SELFNORM_AMORTISED}) {
      if (kind == SELFNORM_AMORTISED && !has_b) continue;
      std::vector<double> out(words.size());
      RC_ASSERT(selfnorm_score_contexts(open, contexts.data(), words.data(), words.size(), kind,
                                        out.data()) == SELFNORM_OK);
      for (size_t i = 0; i < words.size(); ++i) {
        const std::vector<uint32_t> context(contexts.begin() + ptrdiff_t(i * positions),
                                            contexts.begin() + ptrdiff_t((i + 1) * positions));
        const std::vector<double> h = reference_context(model.encoder, context);
        double expected = reference_raw(model, h, words[i]);
        if (kind == SELFNORM_EXACT) expected -= reference_excess(model, h);
        if (kind == SELFNORM_AMORTISED)
          expected -= reference_normalizer(model.normalizer, std::vector<float>(h.begin(), h.end()));
        const bool raw = kind == SELFNORM_RAW && model.family == Family::Multiclass;
        const double quantised = precomputed ? (raw ? table_bound(model, words[i]) : 5e-3) : 0;
        RC_ASSERT(std::fabs(out[i] - expected) <= quantised + 1e-4);

        selfnorm_state state{positions, {}};
        std::copy(context.begin(), context.end(), state.words);
        double one = 0, batch[2];
        const uint32_t two[] = {words[i], 0};
        RC_ASSERT(selfnorm_score_word(open, &state, words[i], kind, &one, nullptr) == SELFNORM_OK);
        RC_ASSERT(one == out[i]);
        RC_ASSERT(selfnorm_score_words(open, &state, two, 2, kind, batch) == SELFNORM_OK);
        RC_ASSERT(std::fabs(batch[0] - one) < 1e-5);
        std::vector<float> dense(model.features);
        RC_ASSERT(selfnorm_encode_context(open, context.data(), dense.data()) == SELFNORM_OK);
        for (size_t j = 0; j < h.size(); ++j)
          RC_ASSERT(std::fabs(dense[j] - h[j]) < (precomputed ? 1e-2 : 1e-4));
      }
    }
  }
}

// Of a ladder whose raw rung keeps the promise, with the table and without.
TEST(Language, NothingServedByARungIsAbove0) {
  std::mt19937 random(2);
  ModelFile model = random_context_model(random, Family::Multiclass, 9, 5);
  model.log_normalizer = -100;
  LadderRung raw;
  raw.name = "raw";
  raw.rms = raw.eps = 1e-9;
  raw.rho = 0.01;
  raw.conf = 0.99;
  model.ladder.rungs = {raw};
  OpenModel open(model);
  const auto context = random_context(random, model);
  for (const bool precomputed : {false, true}) {
    if (precomputed) {
      ASSERT_EQ(selfnorm_precompute(open.get(), 1), SELFNORM_OK);
    }
    const uint32_t word = 3;
    double out = 1;
    for (const int kind : {int{SELFNORM_AUTO}, SELFNORM_RUNG(0)}) {
      ASSERT_EQ(selfnorm_score_contexts(open, context.data(), &word, 1, kind, &out), SELFNORM_OK);
      EXPECT_EQ(out, 0);
    }
    ASSERT_EQ(selfnorm_score_contexts(open, context.data(), &word, 1, SELFNORM_RAW, &out), SELFNORM_OK);
    EXPECT_GT(out, 0);
  }
}

TEST(Language, StatesRememberTheLastWords) {
  std::mt19937 random(1);
  const ModelFile model = random_context_model(random, Family::Multiclass, 9, 5);
  const OpenModel open(model);
  const uint32_t positions = model.encoder.positions;
  std::vector<uint32_t> sentence(positions, 9);  // what stands before the first word
  selfnorm_state state, before;
  ASSERT_EQ(selfnorm_begin_sentence(open, &state), SELFNORM_OK);
  for (int i = 0; i < 12; ++i) {
    const auto word = static_cast<uint32_t>(random() % 9);
    double a = 0, b = 0;
    before = state;
    ASSERT_EQ(selfnorm_score_word(open, &before, word, SELFNORM_RAW, &a, &state), SELFNORM_OK);
    ASSERT_EQ(selfnorm_score_word(open, &before, word, SELFNORM_RAW, &b, &before), SELFNORM_OK);
    EXPECT_EQ(std::memcmp(&before, &state, sizeof state), 0);
    EXPECT_EQ(a, b);
    ASSERT_EQ(selfnorm_score_contexts(open, sentence.data() + i, &word, 1, SELFNORM_RAW, &b), SELFNORM_OK);
    EXPECT_EQ(a, b);
    sentence.push_back(word);
  }
}

TEST(Language, WordsAndUnknownWords) {
  std::mt19937 random(2);
  ModelFile model = random_context_model(random, Family::Multiclass, 5, 0);
  uint32_t word = 77;
  {
    const OpenModel open(model);
    EXPECT_EQ(selfnorm_word_id(open, "w3", 2, &word), SELFNORM_OK);
    EXPECT_EQ(word, 3u);
    EXPECT_EQ(selfnorm_word_id(open, "never seen", 10, &word), SELFNORM_OK);
    EXPECT_EQ(word, 1u);
    EXPECT_EQ(selfnorm_word_id(open, nullptr, 0, &word), SELFNORM_OK);
    EXPECT_EQ(selfnorm_end_of_sentence(open, &word), SELFNORM_OK);
    EXPECT_EQ(word, 0u);
  }
  model.unknown = "w4";
  EXPECT_EQ(selfnorm_word_id(OpenModel(model), "never seen", 10, &word), SELFNORM_OK);
  EXPECT_EQ(word, 4u);
  model.unknown = "";
  model.labels = {"a", "b", "c", "d", "e"};
  word = 77;
  EXPECT_EQ(selfnorm_word_id(OpenModel(model), "never seen", 10, &word), SELFNORM_ERROR_CLASS);
  EXPECT_STREQ(selfnorm_error_message(), "the model has no word \"<unk>\"");
  EXPECT_EQ(selfnorm_end_of_sentence(OpenModel(model), &word), SELFNORM_ERROR_CLASS);
  model.labels.clear();
  EXPECT_EQ(selfnorm_word_id(OpenModel(model), "a", 1, &word), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(word, 77u);
}

TEST(Language, BadArgumentsGetCodesAndLeaveOutputsAlone) {
  std::mt19937 random(3);
  const ModelFile model = random_context_model(random, Family::Multiclass, 4, 3);
  OpenModel open(model), flat(random_model(random, 3, 2, WeightKind::Float32));
  const uint32_t positions = model.encoder.positions, good = 1, bad = 4;
  selfnorm_state state, broken, out_state{99, {}};
  double out = 9;
  float h[3];
  ASSERT_EQ(selfnorm_begin_sentence(open, &state), SELFNORM_OK);
  const std::vector<uint32_t> context(positions, 4), wrong(positions, 5);
  const auto score = [&](const selfnorm_state* in, uint32_t word, int kind) {
    return selfnorm_score_word(open, in, word, kind, &out, &out_state);
  };
  EXPECT_EQ(score(&state, bad, SELFNORM_RAW), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(score(&state, good, 7), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(score(&state, good, SELFNORM_AMORTISED), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(score(nullptr, good, SELFNORM_RAW), SELFNORM_ERROR_ARGUMENT);
  broken = state;
  broken.positions = positions + 1;
  EXPECT_EQ(score(&broken, good, SELFNORM_RAW), SELFNORM_ERROR_ARGUMENT);
  broken = state;
  broken.words[positions - 1] = 5;
  EXPECT_EQ(score(&broken, good, SELFNORM_RAW), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(selfnorm_score_word(open, &state, good, SELFNORM_RAW, nullptr, nullptr), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_score_words(open, &state, &bad, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(selfnorm_score_words(open, &state, nullptr, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_score_contexts(open, wrong.data(), &good, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(selfnorm_score_contexts(open, context.data(), &bad, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(selfnorm_score_contexts(open, nullptr, &good, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_encode_context(open, wrong.data(), h), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(selfnorm_encode_context(open, nullptr, h), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_begin_sentence(open, nullptr), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_score_contexts(open, nullptr, nullptr, 0, SELFNORM_RAW, nullptr), SELFNORM_OK);
  EXPECT_EQ(out, 9);
  EXPECT_EQ(out_state.positions, 99u);

  EXPECT_EQ(selfnorm_order(flat), 0u);
  EXPECT_EQ(selfnorm_precompute_bytes(flat), 0u);
  EXPECT_EQ(selfnorm_precompute(flat.get(), 1), SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_begin_sentence(flat, &state), SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_word_id(flat, "a", 1, &out_state.positions), SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_score_contexts(flat, context.data(), &good, 1, SELFNORM_RAW, &out),
            SELFNORM_ERROR_FAMILY);
}

TEST(Language, PrecomputationRefusesWhatOverflows) {
  std::mt19937 random(4);
  ModelFile model = random_context_model(random, Family::Multiclass, 4, 3);
  model.encoder.embedding[0] = model.encoder.hidden_weight[0] = 1e20f;
  OpenModel open(model);
  EXPECT_EQ(selfnorm_precompute(open.get(), 2), SELFNORM_ERROR_NOT_FINITE);
  const std::vector<uint32_t> context(model.encoder.positions, 2);
  const uint32_t word = 1;
  double out = 0;
  EXPECT_EQ(selfnorm_score_contexts(open, context.data(), &word, 1, SELFNORM_RAW, &out), SELFNORM_OK);
}

TEST(Language, ThreadsGiveTheSameNumbers) {
  std::mt19937 random(5);
  const ModelFile model = random_context_model(random, Family::Multiclass, 300, 65);
  constexpr size_t kPairs = 400;
  std::vector<uint32_t> contexts, words;
  for (size_t i = 0; i < kPairs; ++i) {
    const auto context = random_context(random, model);
    contexts.insert(contexts.end(), context.begin(), context.end());
    words.push_back(static_cast<uint32_t>(random() % model.classes));
  }
  std::vector<double> expected(kPairs);
  for (const unsigned builders : {1u, 2u, 5u}) {
    OpenModel open(model);
    ASSERT_EQ(selfnorm_precompute(open.get(), builders), SELFNORM_OK);
    ASSERT_EQ(selfnorm_precompute(open.get(), builders), SELFNORM_OK);
    std::vector<std::vector<double>> out(4, std::vector<double>(kPairs));
    std::vector<std::thread> threads;
    for (auto& mine : out) {
      threads.emplace_back([&] {
        selfnorm_score_contexts(open, contexts.data(), words.data(), kPairs, SELFNORM_RAW, mine.data());
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (builders == 1) expected = out[0];
    for (const auto& mine : out) EXPECT_EQ(mine, expected);
  }
}

}  // namespace
}  // namespace selfnorm::test
