#include "normalizer/crf/crf_scorer.h"

#include <gtest/gtest.h>

#include "normalizer/crf/crf_pass.h"
#include "normalizer/crf/small_crfs.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// s(x,y) from the definition of the model, cell by cell.
double model_score(const Sequences& data, const CrfShape& shape, const std::vector<double>& theta,
                   uint64_t sentence, const std::vector<uint32_t>& y) {
  double sum = 0;
  const uint64_t labels = shape.labels;
  for (uint64_t t = 0; t < y.size(); ++t) {
    const uint64_t row = data.sentence_begin[sentence] + t;
    const auto each = [&](const AttributeRows& rows, const auto& body) {
      for (size_t i = 0; i < rows.attributes(row).size(); ++i)
        body(rows.attributes(row)[i], rows.value.empty() ? 1.0 : static_cast<double>(rows.values(row)[i]));
    };
    sum += theta[shape.bias() + y[t]];
    each(data.unigram, [&](uint64_t a, double value) { sum += value * theta[a * labels + y[t]]; });
    if (t == 0) continue;
    const uint64_t pair = y[t - 1] * labels + y[t];
    if (shape.has_transitions) sum += theta[shape.transition() + pair];
    if (shape.bigrams > 0)
      each(data.bigram, [&](uint64_t a, double value) {
        sum += value * theta[shape.pair() + a * labels * labels + pair];
      });
  }
  return sum;
}

TEST(CrfScorer, ScoresAreThoseOfTheModel) {
  for (const SmallSequences& kind : small_kinds()) {
    const Sequences data = kind.make(1);
    const CrfShape shape = kind.shape();
    const auto theta = random_vector<double>(shape.size(), 1, 2);
    BasicCrfScorer<double> scorer(shape, theta);
    for (uint64_t i = 0; i < data.sentences(); ++i) {
      const auto scores = scorer(data, i);
      for (const Labelling& y : all_labellings(scores))
        ASSERT_NEAR(y.score, model_score(data, shape, theta, i, y.labels), 1e-12);
      const std::vector<uint32_t> y(data.label.begin() + static_cast<int64_t>(data.sentence_begin[i]),
                                    data.label.begin() + static_cast<int64_t>(data.sentence_begin[i + 1]));
      EXPECT_NEAR(scorer.target_score(data, i), crf_score<double>(scores, y), 1e-12);
    }
  }
}

// Refused before anything of that size is allocated: 6 TB.
TEST(CrfScorer, PairsOfLongSentencesThatDoNotFitAreRefused) {
  const CrfShape shape{1000, 0, 1, false};
  const std::vector<float> theta(shape.size());
  constexpr uint64_t kLength = 1500000;
  Sequences data;
  data.sentence_begin = {0, kLength};
  data.unigram.begin.assign(kLength + 1, 0);
  data.bigram.begin.assign(kLength + 1, 0);
  data.label.assign(kLength, 0);
  const auto expect_refused = [](const auto& use) {
    try {
      use();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("1000 x 1000 scores"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("a sentence of 1500000"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("cut the sentence"), std::string::npos) << error.what();
    }
  };
  expect_refused([&] { CrfScorer(shape, theta)(data, 0); });
  expect_refused([&] { make_crf_pass<float>(data, shape); });
}

TEST(CrfScorer, ParametersOfAnotherSizeAreABug) {
  EXPECT_THROW(CrfScorer({2, 3, 0, true}, std::vector<float>(5)), Bug);
}

}  // namespace
}  // namespace selfnorm
