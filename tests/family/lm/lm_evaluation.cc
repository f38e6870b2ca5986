#include "family/lm/lm_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/huffman.h"
#include "random_head.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"
#include "small_corpus.h"

namespace selfnorm {
namespace {

constexpr uint32_t kWords = 5, kWidth = 2, kPositions = 2, kHidden = 3;

ModelFile random_language_model(uint64_t seed) {
  ModelFile model = random_head(kWords, kHidden, seed);
  model.input = ModelInput::Context;
  model.log_normalizer = 0.25;
  model.encoder.kind = EncoderKind::Context;
  model.encoder.inputs = kWords + 1;
  model.encoder.width = kWidth;
  model.encoder.positions = kPositions;
  model.encoder.embedding = random_vector<float>(model.encoder.inputs * kWidth, seed + 2, 1);
  model.encoder.hidden_weight = random_vector<float>(kHidden * kWidth * kPositions, seed + 3, 1);
  model.encoder.hidden_bias = random_vector<float>(kHidden, seed + 4, 1);
  return model;
}

// h of a context, by the formula of model/encoder.h in double.
std::vector<double> state_of(const Encoder& encoder, const std::vector<uint32_t>& context) {
  std::vector<double> h;
  for (uint32_t j = 0; j < encoder.hidden(); ++j) {
    double sum = static_cast<double>(encoder.hidden_bias[j]);
    for (uint32_t i = 0; i < encoder.pooled(); ++i) {
      const uint32_t word = context[i / kWidth];
      sum += static_cast<double>(encoder.hidden_weight[j * encoder.pooled() + i]) *
             static_cast<double>(encoder.embedding[word * kWidth + i % kWidth]);
    }
    h.push_back(std::max(0.0, sum));
  }
  return h;
}

std::vector<double> scores_of(const ModelFile& model, const std::vector<double>& h) {
  std::vector<double> scores;
  for (size_t k = 0; k < model.bias.size(); ++k) {
    double s = static_cast<double>(model.bias[k]);
    for (size_t j = 0; j < h.size(); ++j) s += h[j] * static_cast<double>(model.weight[k * h.size() + j]);
    scores.push_back(s);
  }
  return scores;
}

TokenCorpus some_corpus() { return small_corpus("a b c\n\nb b unheard of c a\nc\n", {"a", "b", "c"}); }

TEST(LmEvaluation, AgreesWithEnumeration) {
  const ModelFile model = random_language_model(5);
  const TokenCorpus corpus = some_corpus();
  const LanguageEvaluation found = evaluate_language(model, corpus);
  double exact = 0, raw = 0, known = 0;
  std::vector<double> log_z;
  for (uint64_t i = 0; i < corpus.examples(); ++i) {
    std::vector<uint32_t> context(kPositions);
    corpus.context(i, context);
    const std::vector<double> scores = scores_of(model, state_of(model.encoder, context));
    LogSumExp total;
    for (const double s : scores) total.add(s);
    const double s = scores[corpus.target(i)];
    exact += total.value() - s;
    raw += model.log_normalizer - s;
    if (corpus.target(i) != WordVocabulary::kUnknown) known += total.value() - s;
    log_z.push_back(total.value() - model.log_normalizer);
  }
  EXPECT_EQ(found.tokens, 14u);
  EXPECT_EQ(found.of_tokens, 14u);
  EXPECT_EQ(found.unknown, 2u);
  EXPECT_EQ(found.words, kWords);
  EXPECT_NEAR(found.nll_exact, exact / 14, 1e-5);
  EXPECT_NEAR(found.nll_raw, raw / 14, 1e-5);
  EXPECT_NEAR(found.nll_known, known / 12, 1e-5);
  const LogZStatistics expected = describe(log_z);
  EXPECT_NEAR(found.log_z.mean, expected.mean, 1e-5);
  EXPECT_NEAR(found.log_z.rms, expected.rms, 1e-5);
  EXPECT_NEAR(found.log_z.q99, expected.q99, 1e-5);
  EXPECT_FALSE(found.amortised.has_value());
}

// b = v . h + a takes the mean of b off the raw NLL's error.
TEST(LmEvaluation, AmortisedNormalizer) {
  ModelFile model = random_language_model(6);
  const TokenCorpus corpus = some_corpus();
  const LanguageEvaluation plain = evaluate_language(model, corpus);
  model.normalizer.intercept = 0.5;
  model.normalizer.slope.assign(kHidden, 0.0f);
  const LanguageEvaluation found = evaluate_language(model, corpus);
  ASSERT_TRUE(found.amortised.has_value());
  EXPECT_NEAR(found.amortised->nll, plain.nll_raw + 0.5, 1e-6);
  EXPECT_NEAR(found.amortised->log_z.mean, plain.log_z.mean - 0.5, 1e-6);
  EXPECT_EQ(found.nll_raw, plain.nll_raw);
}

TEST(LmEvaluation, HierarchicalPathsAreExact) {
  ModelFile model = random_language_model(7);
  model.family = Family::Hierarchical;
  model.log_normalizer = 0;
  model.tree = huffman_tree(std::vector<uint64_t>{1, 5, 4, 3, 2});
  model.weight.resize((kWords - 1) * kHidden);
  model.bias.resize(kWords - 1);
  const TokenCorpus corpus = some_corpus();
  double exact = 0;
  for (uint64_t i = 0; i < corpus.examples(); ++i) {
    std::vector<uint32_t> context(kPositions);
    corpus.context(i, context);
    const std::vector<double> scores = scores_of(model, state_of(model.encoder, context));
    double p = 1;
    for_each_ancestor(model.tree, corpus.target(i), [&](uint32_t row, uint32_t side) {
      p /= 1 + std::exp(side == 1 ? -scores[row] : scores[row]);
    });
    exact -= std::log(p);
  }
  const LanguageEvaluation found = evaluate_language(model, corpus);
  EXPECT_NEAR(found.nll_exact, exact / static_cast<double>(corpus.examples()), 1e-5);
  EXPECT_EQ(found.nll_raw, found.nll_exact);
  EXPECT_EQ(found.log_z.rms, 0);
}

TEST(LmEvaluation, LimitTakesASample) {
  const ModelFile model = random_language_model(8);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i % 7 == 0 ? "a\n" : i % 3 == 0 ? "b " : "x ";
  const TokenCorpus corpus = small_corpus(text, {"a", "b", "c"});
  const LanguageEvaluation all = evaluate_language(model, corpus);
  const LanguageEvaluation some = evaluate_language(model, corpus, {.limit = 2000});
  EXPECT_EQ(some.tokens, 2000u);
  EXPECT_EQ(some.of_tokens, corpus.examples());
  EXPECT_NEAR(some.nll_exact, all.nll_exact, 0.1);
  EXPECT_NE(some.nll_exact, all.nll_exact);
  EXPECT_EQ(evaluate_language(model, corpus, {.limit = 1'000'000}).nll_exact, all.nll_exact);
  const LanguageEvaluation threads = evaluate_language(model, corpus, {.limit = 2000, .threads = 1});
  EXPECT_EQ(threads.nll_exact, some.nll_exact);
}

TEST(LmEvaluation, OnlyUnknownWords) {
  const LanguageEvaluation found =
      evaluate_language(random_language_model(9), small_corpus("x", {"a", "b", "c"}), {.limit = 1});
  EXPECT_EQ(found.tokens, 1u);
  EXPECT_TRUE(std::isfinite(found.nll_known));
}

TEST(LmEvaluation, RefusesOtherModels) {
  EXPECT_THROW(evaluate_language(random_head(kWords, 3, 1), some_corpus()), Error);
  EXPECT_THROW(evaluate_language(random_language_model(1), small_corpus("a", {"a"})), Error);
}

}  // namespace
}  // namespace selfnorm
