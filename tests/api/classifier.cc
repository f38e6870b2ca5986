#include "selfnorm/classifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <locale>
#include <random>

#include "family/classifier/trainer.h"

namespace selfnorm {
namespace {

struct Clouds {
  std::vector<float> x;
  std::vector<std::string> y;

  Rows rows() const { return {x, 2}; }
};

// Three clouds in the plane.
Clouds clouds(uint64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> noise(0, 0.5f);
  Clouds out;
  for (uint64_t i = 0; i < n; ++i) {
    const float angle = 2.0944f * static_cast<float>(i % 3);
    out.x.insert(out.x.end(), {std::cos(angle) + noise(random), std::sin(angle) + noise(random)});
    out.y.push_back(std::string(1, static_cast<char>('a' + i % 3)));
  }
  return out;
}

TEST(ApiClassifier, ExactProbabilitiesSumToOneAndRawOnesAreNearThem) {
  const Clouds train = clouds(600, 1), test = clouds(300, 2);
  const Classifier model = Classifier::train(train.rows(), train.y, {{"objective", "penalty"}, {"alpha", 1}});
  EXPECT_EQ(model.labels(), (std::vector<std::string>{"a", "b", "c"}));
  const std::vector<double> exact = model.log_probabilities(test.rows()),
                            raw = model.raw_log_probabilities(test.rows());
  for (size_t row = 0; row < 300; ++row) {
    double sum = 0;
    for (size_t k = 0; k < 3; ++k) sum += std::exp(exact[3 * row + k]);
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(raw[3 * row] - exact[3 * row], raw[3 * row + 2] - exact[3 * row + 2], 1e-5);
  }
  const ClassifierQuality found = model.evaluate(test.rows(), test.y);
  EXPECT_EQ(found.rows, 300u);
  EXPECT_GT(found.accuracy, 0.85);
  double nll = 0;
  for (size_t row = 0; row < 300; ++row)
    nll -= exact[3 * row + static_cast<size_t>(test.y[row][0] - 'a')] / 300;
  EXPECT_NEAR(found.nll_exact, nll, 1e-6);
  double squares = 0;
  for (size_t row = 0; row < 300; ++row) squares += std::pow(raw[3 * row] - exact[3 * row], 2) / 300;
  EXPECT_NEAR(found.log_z_rms, std::sqrt(squares), 1e-5);
  EXPECT_LT(found.log_z_rms, 0.5);
  const std::vector<std::string> best = model.predict(test.rows());
  size_t correct = 0;
  for (size_t row = 0; row < 300; ++row) correct += best[row] == test.y[row];
  EXPECT_NEAR(found.accuracy, static_cast<double>(correct) / 300, 1e-12);
}

TEST(ApiClassifier, AFileGivesTheSameNumbers) {
  const Clouds data = clouds(100, 3);
  const std::string path = testing::TempDir() + "api_classifier.safetensors";
  const Classifier model = Classifier::train(data.rows(), data.y, {{"seed", 5}, {"l2", 0.1}});
  model.save(path);
  EXPECT_EQ(Classifier::load(path).log_probabilities(data.rows()), model.log_probabilities(data.rows()));
}

TEST(ApiClassifier, TheModelIsThatOfTheTrainer) {
  const Clouds data = clouds(10, 4);  // too few to hold any out
  const Classifier model = Classifier::train(data.rows(), data.y);
  Dataset same;
  same.features.is_sparse = false;
  same.features.dense = {10, 2, data.x};
  same.labels = {"a", "b", "c"};
  for (const std::string& y : data.y) same.target.push_back(static_cast<uint32_t>(y[0] - 'a'));
  TrainObserver silent;
  const std::string mine = testing::TempDir() + "api_mine", theirs = testing::TempDir() + "api_theirs";
  model.save(mine);
  save_model(train_classifier(same, std::nullopt, {}, {}, silent).model, theirs);
  EXPECT_EQ(load_model(mine), load_model(theirs));
}

TEST(ApiClassifier, MistakesSayWhatWasExpected) {
  const Clouds data = clouds(30, 5);
  const auto error = [&](const Rows& x, const std::vector<std::string>& y,
                         const Options& options) -> std::string {
    try {
      Classifier::train(x, y, options);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(error({data.x, 7}, data.y, {}).find("whole rows"), std::string::npos);
  EXPECT_NE(error({data.x, 3}, data.y, {}).find("30 labels for 20 rows"), std::string::npos);
  EXPECT_NE(error(data.rows(), std::vector<std::string>(30, "a"), {}).find("at least two"),
            std::string::npos);
  EXPECT_NE(error(data.rows(), data.y, {{"alpha", "much"}}).find("alpha is 'much'; expected a number"),
            std::string::npos);
  EXPECT_NE(error(data.rows(), data.y, {{"alpah", 1}}).find("found the option 'alpah'"), std::string::npos);
  EXPECT_NE(error(data.rows(), data.y, {{"alpha", -1}}), "");
  std::vector<float> bad = data.x;
  bad[9] = NAN;
  EXPECT_NE(error({bad, 2}, data.y, {}).find("row 4"), std::string::npos);
  const Classifier model = Classifier::train(data.rows(), data.y);
  EXPECT_THROW(model.predict({data.x, 1}), Error);
  EXPECT_THROW(Classifier::load("no such file"), Error);
}

TEST(ApiOptions, NumbersAreWrittenInNoLocaleAndOnce) {
  struct Grouped : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouped));
  EXPECT_EQ(OptionValue(1000).text(), "1000");
  EXPECT_EQ(OptionValue(0.1).text(), "0.1");
  std::locale::global(before);
  EXPECT_EQ(OptionValue(uint8_t{5}).text(), "5");
  EXPECT_EQ(OptionValue(true).text(), "true");
  const Clouds data = clouds(30, 6);
  EXPECT_THROW(Classifier::train(data.rows(), data.y, {{"learning-rate", 1}, {"learning_rate", 2}}), Error);
  EXPECT_THROW(Classifier::train(data.rows(), data.y, {{"hidden", 8}}), Error);
}

}  // namespace
}  // namespace selfnorm
