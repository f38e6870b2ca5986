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
                            raw = model.raw_log_probabilities(test.rows()),
                            p = model.probabilities(test.rows());
  for (size_t row = 0; row < 300; ++row) {
    double sum = 0;
    for (size_t k = 0; k < 3; ++k) {
      sum += std::exp(exact[3 * row + k]);
      EXPECT_EQ(p[3 * row + k], std::exp(exact[3 * row + k]));
    }
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
  const Classifier model = Classifier::train(data.rows(), data.y, {{"objective", "penalty"}});
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

// Where nothing is said: maximum likelihood with l2 chosen on held-out rows, as on the command line.
TEST(ApiClassifier, WhatIsNotSaidIsChosen) {
  struct Notes final : TrainObserver {
    std::vector<std::string> texts;
    void on_note(const std::string& text) override { texts.push_back(text); }
  } notes;
  const Clouds data = clouds(600, 5);
  const Classifier chosen = Classifier::train(data.rows(), data.y, {{"seed", 3}}, notes);
  ASSERT_EQ(notes.texts.size(), 2u);
  EXPECT_NE(notes.texts[0].find("chosen for 3 classes: a linear model by maximum likelihood"),
            std::string::npos);
  EXPECT_EQ(chosen.log_probabilities(data.rows()),
            Classifier::train(data.rows(), data.y,
                              {{"objective", "exact"}, {"l2", 0}, {"l2_from", 100.0 / 600}, {"seed", 3}})
                .log_probabilities(data.rows()));
  const auto with = [&](const std::string& name, const OptionValue& value) {
    return Classifier::train(data.rows(), data.y, {{name, value}}).log_probabilities(data.rows());
  };
  EXPECT_EQ(with("alpha", 0.1), with("objective", "penalty"));        // said, though it is the default
  EXPECT_EQ(with("noise", "unigram"), with("objective", "penalty"));  // by a former name
  EXPECT_EQ(with("l2", 1e-6), with("objective", "exact"));
}

// However the numbers lie in memory, they are the same numbers.
TEST(ApiClassifier, RowsAreReadWhereTheyAre) {
  const Clouds data = clouds(60, 7);
  const Classifier model = Classifier::train(data.rows(), data.y);
  const std::vector<double> expected = model.log_probabilities(data.rows());
  std::vector<double> turned(120);  // column-major, backwards, doubles
  for (size_t i = 0; i < 60; ++i)
    for (size_t j = 0; j < 2; ++j) turned[j * 60 + (59 - i)] = data.x[2 * i + j];
  const Rows strided(Rows::Layout{.data = turned.data() + 59,
                                  .type = NumberType::float64,
                                  .rows = 60,
                                  .columns = 2,
                                  .row_step = -8,
                                  .column_step = 60 * 8});
  EXPECT_EQ(model.log_probabilities(strided), expected);
  std::vector<int64_t> begin{0};
  std::vector<int32_t> column;
  for (size_t i = 0; i < 60; ++i) {
    column.insert(column.end(), {0, 1});
    begin.push_back(static_cast<int64_t>(column.size()));
  }
  const SparseRows sparse{begin, column, data.x, 2};
  const std::vector<double> found = model.log_probabilities(sparse);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
  EXPECT_EQ(Classifier::train(sparse, data.y).labels(), model.labels());
  const std::vector<double> doubles(data.x.begin(), data.x.end());
  EXPECT_EQ(model.log_probabilities(SparseRows{begin, column, {}, 2, doubles}), found);
  std::swap(column[0], column[1]);
  EXPECT_THROW(model.predict(sparse), Error);
}

TEST(ApiClassifier, CandidatesAndTheBestAgreeWithAllClasses) {
  const Clouds data = clouds(60, 8);
  const Classifier model = Classifier::train(data.rows(), data.y);
  for (const ScoreKind kind : {ScoreKind::raw, ScoreKind::exact}) {
    const std::vector<double> all = model.log_probabilities(data.rows(), kind);
    const std::vector<uint32_t> shared{2, 0};
    const std::vector<double> some = model.score(data.rows(), {shared}, kind);
    ASSERT_EQ(some.size(), 120u);
    for (size_t i = 0; i < 60; ++i) EXPECT_NEAR(some[2 * i], all[3 * i + 2], 1e-5);
    std::vector<uint32_t> own;
    for (uint32_t i = 0; i < 60; ++i) own.push_back(i % 3);
    const std::vector<double> one = model.score(data.rows(), {own, false}, kind);
    for (size_t i = 0; i < 60; ++i) EXPECT_NEAR(one[i], all[3 * i + i % 3], 1e-5);
    const Ranking best = model.top(data.rows(), 2, kind);
    const std::vector<uint32_t> first = model.predict_index(data.rows());
    for (size_t i = 0; i < 60; ++i) {
      EXPECT_EQ(best.label[2 * i], first[i]);
      EXPECT_NEAR(best.log_probability[2 * i], all[3 * i + first[i]], 1e-5);
    }
  }
  const std::vector<uint32_t> shared{2, 0};  // without a ladder nothing cheaper is certified
  const ScoredWithin within = model.score_within(data.rows(), {shared}, 0.1);
  EXPECT_EQ(within.rung, "exact");
  EXPECT_EQ(within.log_probability, model.score(data.rows(), {shared}, ScoreKind::exact));
  EXPECT_THROW(model.top(data.rows(), 4), Error);
  EXPECT_THROW(model.score(data.rows(), {std::vector<uint32_t>{3}}, ScoreKind::raw), Error);
  EXPECT_THROW(model.log_probabilities(data.rows(), ScoreKind::amortised), Error);
}

TEST(ApiClassifier, TextsLinearAndWithABag) {
  std::vector<std::string_view> texts;
  std::vector<std::string> y;
  for (int i = 0; i < 60; ++i) {
    texts.push_back(i % 2 == 0 ? "a good\tfilm\nindeed" : "a bad film, sadly");
    y.push_back(i % 2 == 0 ? "+" : "-");
  }
  for (const char* encoder : {"sparse", "bag"}) {
    const Classifier model = Classifier::train(Texts(texts), y, {{"encoder", encoder}, {"ngrams", 1}});
    EXPECT_TRUE(model.is_of_texts());
    const std::vector<std::string_view> asked{"good", "sadly bad", "unheard of"};
    const std::vector<std::string> found = model.predict(Texts(asked));
    EXPECT_EQ(found[0], "+");
    EXPECT_EQ(found[1], "-");
    const std::string path = testing::TempDir() + "api_texts";
    model.save(path);
    EXPECT_EQ(Classifier::load(path).log_probabilities(Texts(asked)), model.log_probabilities(Texts(asked)));
    EXPECT_THROW(model.predict({std::vector<float>{1}, 1}), Error);
  }
}

TEST(ApiClassifier, FewTextsAreReadInPiecesOfWords) {
  struct Notes final : TrainObserver {
    std::string first;
    void on_note(const std::string& text) override {
      if (first.empty()) first = text;
    }
  };
  std::vector<std::string> stored, y;
  for (int i = 0; i < 60; ++i) {
    stored.push_back((i % 2 == 0 ? "payment number " : "travelling to ") + std::to_string(i));
    y.push_back(i % 2 == 0 ? "pay" : "go");
  }
  const std::vector<std::string_view> texts(stored.begin(), stored.end()), asked{"payments", "traveller"};
  Notes notes, others;
  const Classifier chosen = Classifier::train(Texts(texts), y, {}, notes);
  EXPECT_NE(notes.first.find("words and pieces of words"), std::string::npos) << notes.first;
  EXPECT_EQ(chosen.predict(Texts(asked)), (std::vector<std::string>{"pay", "go"}));  // of words that are new
  const Options same{{"objective", "exact"},
                     {"l2", 0},
                     {"l2_from", 100.0 / 60},
                     {"char_ngrams_min", 3},
                     {"char_ngrams_max", 5}};
  EXPECT_EQ(chosen.log_probabilities(Texts(asked)),
            Classifier::train(Texts(texts), y, same).log_probabilities(Texts(asked)));
  const Classifier of_words = Classifier::train(Texts(texts), y, {{"ngrams", 2}}, others);
  EXPECT_NE(others.first.find("a linear model by maximum likelihood"), std::string::npos) << others.first;
  EXPECT_LT(of_words.columns(), chosen.columns());
}

// Rows of weight 2 are rows that are there twice, to the trainer's own precision.
TEST(ApiClassifier, WeightsCount) {
  const Clouds data = clouds(12, 9);  // too few to hold any out
  const std::vector<float> weights{2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  selfnorm::Run run;
  run.weights = weights;
  const Options precise{{"tolerance", 1e-6}, {"l2", 0.1}, {"scale", "none"}};
  const Classifier weighted = Classifier::train(data.rows(), data.y, precise, run);
  Clouds twice = data;
  twice.x.insert(twice.x.begin(), data.x.begin(), data.x.begin() + 2);
  twice.y.insert(twice.y.begin(), data.y[0]);
  const std::vector<double> a = weighted.log_probabilities(data.rows()),
                            b = Classifier::train(twice.rows(), twice.y, precise)
                                    .log_probabilities(data.rows());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-3);
  run.weights = std::span(weights).first(3);
  EXPECT_THROW(Classifier::train(data.rows(), data.y, {}, run), Error);
}

// log Z does not become worse, and no probability changes.
TEST(ApiClassifier, NormalisingKeepsProbabilities) {
  const Clouds data = clouds(600, 10);
  const Classifier model = Classifier::train(data.rows(), data.y, {{"objective", "exact"}});
  const NormalizedClassifier found = model.normalized(data.rows());
  EXPECT_LT(found.after.rms, found.before.rms);
  const std::vector<double> before = model.log_probabilities(data.rows()),
                            after = found.model.log_probabilities(data.rows()),
                            log_z = found.model.log_normalizers(data.rows());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-4);
  const AuditReport audit = found.model.audit(data.rows(), nullptr, {{"eps", 2}});
  double squares = 0;
  for (const double a : log_z) squares += a * a / 600;
  EXPECT_NEAR(audit.rms, std::sqrt(squares), 1e-5);
  EXPECT_EQ(audit.eps, 2);
}

// Stopped after some steps and resumed, it is the model that was never stopped.
TEST(ApiClassifier, AStoppedTrainingResumesToTheSameBits) {
  struct Impatient : TrainObserver {
    int steps = 0;
    bool stop_requested() override { return ++steps > 3; }
  };
  const Clouds data = clouds(300, 11);
  const std::string path = testing::TempDir() + "api_checkpoint";
  Impatient impatient;
  selfnorm::Run run(impatient);
  run.checkpoint.path = path;
  EXPECT_THROW(Classifier::train(data.rows(), data.y, {}, run), Stopped);
  run.observer = nullptr;
  run.checkpoint.resume = true;
  EXPECT_EQ(Classifier::train(data.rows(), data.y, {}, run).log_probabilities(data.rows()),
            Classifier::train(data.rows(), data.y).log_probabilities(data.rows()));
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
