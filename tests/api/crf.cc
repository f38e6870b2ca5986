#include "selfnorm/crf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "source_dir.h"

namespace selfnorm {
namespace {

struct Tagged {
  std::vector<AttributeSentence> x;
  std::vector<LabelSequence> y;
};

// Letters whose case is the label; now and then the attribute is missing and the neighbour tells.
Tagged letters(uint64_t sentences, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tagged out;
  for (uint64_t i = 0; i < sentences; ++i) {
    AttributeSentence x;
    LabelSequence y;
    bool is_upper = random() % 2 == 0;
    for (int t = 0; t < 6; ++t) {
      if (random() % 4 == 0) is_upper = !is_upper;
      x.push_back(random() % 5 == 0 ? Attributes{"?"} : Attributes{is_upper ? "A" : "a", "letter"});
      y.push_back(is_upper ? "upper" : "lower");
    }
    out.x.push_back(x);
    out.y.push_back(y);
  }
  return out;
}

TEST(ApiCrf, TagsAndProbabilitiesAgree) {
  const Tagged train = letters(200, 1), test = letters(50, 2);
  const Crf model = Crf::train(train.x, train.y, {{"objective", "penalty"}, {"alpha", 0.1}});
  ASSERT_EQ(model.labels().size(), 2u);
  const CrfQuality found = model.evaluate(test.x, test.y);
  EXPECT_EQ(found.sentences, 50u);
  EXPECT_EQ(found.tokens, 300u);
  EXPECT_GT(found.accuracy, 0.9);
  const std::vector<TaggedSequence> tags = model.tag(test.x);
  const std::vector<std::vector<double>> marginals = model.marginals(test.x);
  size_t correct = 0;
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_LE(tags[i].log_probability, 0);
    for (size_t t = 0; t < 6; ++t) {
      correct += tags[i].labels[t] == test.y[i][t];
      EXPECT_NEAR(marginals[i][2 * t] + marginals[i][2 * t + 1], 1, 1e-5);
    }
  }
  EXPECT_NEAR(found.accuracy, static_cast<double>(correct) / 300, 1e-12);

  const std::string path = testing::TempDir() + "api_crf.safetensors";
  model.save(path);
  EXPECT_EQ(Crf::load(path).marginals(test.x), marginals);
}

TEST(ApiCrf, TheBestLabellingsAreAllOfThem) {
  const Tagged train = letters(60, 4);
  const Crf model = Crf::train(train.x, train.y);
  const AttributeSentence two{{"A", {"letter", 0.5f}}, {"?"}};
  const auto found = model.tag(std::vector<AttributeSentence>{two}, 9)[0];
  ASSERT_EQ(found.size(), 4u);
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    sum += std::exp(found[i].log_probability);
    EXPECT_TRUE(i == 0 || found[i].log_probability <= found[i - 1].log_probability);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(ApiCrf, TokensAndTemplates) {
  std::vector<TokenSentence> x;
  std::vector<LabelSequence> y;
  for (int i = 0; i < 30; ++i) {
    x.push_back({{"the"}, {i % 2 ? "cat" : "dog"}, {"sat"}});
    y.push_back({"D", "N", "V"});
  }
  const Crf model = Crf::train(x, y, {{"templates", "U00:%x[0,0]\nB\n"}});
  EXPECT_TRUE(model.has_templates());
  const std::vector<TokenSentence> asked{{{"the"}, {"cat"}}};
  EXPECT_EQ(model.tag(asked, 1)[0][0].labels, (LabelSequence{"D", "N"}));
  const auto attributes = model.tag(std::vector<AttributeSentence>{{{"U00:the"}, {"U00:cat"}}}, 1);
  EXPECT_EQ(attributes[0][0].log_probability, model.tag(asked, 1)[0][0].log_probability);
  EXPECT_EQ(model.evaluate(x, y).accuracy, 1);
  EXPECT_THROW(model.tag(std::vector<TokenSentence>{{{"two words"}}}, 1), Error);
}

TEST(ApiCrf, MistakesSayWhatWasExpected) {
  const Tagged data = letters(10, 3);
  EXPECT_THROW(Crf::train(std::vector<AttributeSentence>{}, {}), Error);
  EXPECT_THROW(Crf::train(data.x, {data.y[0]}), Error);
  std::vector<LabelSequence> short_one = data.y;
  short_one[4].pop_back();
  EXPECT_THROW(Crf::train(data.x, short_one), Error);
  EXPECT_THROW(Crf::train(data.x, std::vector<LabelSequence>(10, LabelSequence(6, "same"))), Error);
  EXPECT_THROW(Crf::train(data.x, data.y, {{"objective", "snl"}}), Error);
  EXPECT_THROW(Crf::train(data.x, data.y, {{"epochs", 3}}), Error);  // lbfgs has none
  const Crf model = Crf::train(data.x, data.y);
  EXPECT_THROW(model.tag({{}}), Error);
  EXPECT_THROW(model.evaluate(data.x, std::vector<LabelSequence>(10, LabelSequence(6, "unseen"))), Error);
  try {
    const Crf pairs = Crf::load(SELFNORM_SOURCE_DIR "/fuzz/corpus/fuzz_crf/bigrams-normalizer.safetensors");
    pairs.tag(std::vector<AttributeSentence>{{{"x"}}});
    FAIL() << "attributes of pairs were left out";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("pairs of labels"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace selfnorm
