// Labels, log-probabilities and marginals of sentences, against each other by enumeration.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "cli/sentence_data.h"

namespace selfnorm::cli {
namespace {

class Tag : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("data.conll", sentences_text(100));
    const Outcome trained = folder_.run(train_crf("data.conll", "run", {"--steps", "30"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  const Folder folder_;
};

std::vector<std::vector<std::string>> lines_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    auto& words = lines.emplace_back();
    for (std::string word; fields >> word;) words.push_back(word);
  }
  return lines;
}

TEST_F(Tag, ColumnsAsReadWithTheLabelAppended) {
  folder_.write("test.conll", sentences_text(30, 5));
  folder_.write("words.conll", sentences_text(30, 5, false));
  const Outcome labelled = folder_.run({"tag", "run", "test.conll"});
  ASSERT_EQ(labelled.code, 0) << labelled.err;
  EXPECT_EQ(labelled.err, "");
  const auto given = lines_of(sentences_text(30, 5)), found = lines_of(labelled.out);
  ASSERT_EQ(found.size(), given.size());
  int right = 0, tokens = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].empty()) {
      EXPECT_TRUE(found[i].empty());
      continue;
    }
    ASSERT_EQ(found[i].size(), 3u);
    EXPECT_EQ(found[i][0], given[i][0]);
    EXPECT_EQ(found[i][1], given[i][1]);
    right += found[i][2] == given[i][1] ? 1 : 0;
    ++tokens;
  }
  const auto evaluation = folder_.run({"evaluate", "run", "test.conll", "--json"}).json();
  EXPECT_NEAR(evaluation["accuracy"].get<double>(), double(right) / tokens, 1e-12);
  // Labels are not looked at, and a pipe is a file.
  const Outcome words = folder_.run({"tag", "run", "words.conll", "--threads", "1"});
  const auto unlabelled = lines_of(words.out);
  ASSERT_EQ(unlabelled.size(), found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;
    EXPECT_EQ(unlabelled[i], (std::vector<std::string>{found[i][0], found[i][2]}));
  }
  EXPECT_EQ(folder_.run_on(sentences_text(30, 5, false), {"tag", "run"}).out, words.out);
  EXPECT_EQ(folder_.run_on("", {"tag", "run"}).out, "");
}

// All labellings of a sentence have probability 1 together, and give the marginals.
TEST_F(Tag, ScoresAndMarginalsByEnumeration) {
  const std::string sentence = "Ann\nMay\nRome\n";
  const auto tag = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"tag", "run", "--json"});
    const Outcome outcome = folder_.run_on(sentence, more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json();
  };
  const auto all = tag({"--n-best", "1000", "--score", "exact"})["sentences"][0]["labellings"];
  ASSERT_EQ(all.size(), 64u);
  double total = 0, before = 0;
  std::vector<std::map<std::string, double>> marginals(3);
  for (const auto& labelling : all) {
    const double log_prob = labelling["log_prob"];
    EXPECT_LE(log_prob, before);
    before = log_prob;
    total += std::exp(log_prob);
    for (size_t t = 0; t < 3; ++t) marginals[t][labelling["labels"][t]] += std::exp(log_prob);
  }
  EXPECT_NEAR(total, 1, 1e-5);
  const auto shown = tag({"--all-marginals"});
  for (size_t t = 0; t < 3; ++t)
    for (size_t k = 0; k < 4; ++k)
      EXPECT_NEAR(shown["sentences"][0]["all_marginals"][t][k].get<double>(),
                  marginals[t][shown["labels"][k]], 1e-5);
  const auto posterior = tag({"--decode", "posterior", "--marginals"})["sentences"][0]["labellings"][0];
  for (size_t t = 0; t < 3; ++t) {
    const std::string label = posterior["labels"][t];
    for (const auto& [other, p] : marginals[t]) EXPECT_LE(p, marginals[t][label] + 1e-6) << other;
    EXPECT_NEAR(posterior["marginals"][t].get<double>(), marginals[t][label], 1e-5);
  }
  // Raw ones differ by log Z, the same for all.
  const auto raw = tag({"--n-best", "1000", "--score", "raw"})["sentences"][0]["labellings"];
  const double level = raw[0]["log_prob"].get<double>() - all[0]["log_prob"].get<double>();
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_NEAR(raw[i]["log_prob"].get<double>() - all[i]["log_prob"].get<double>(), level, 1e-9);
}

TEST_F(Tag, DrawsFollowTheMarginals) {
  const auto tag = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"tag", "run", "--json"});
    return folder_.run_on("Ann\nMay\nRome\n\nLee\n", more).json();
  };
  const std::vector<std::string> draw{"--decode", "sample", "--n-best", "1000", "--score", "exact"};
  const auto drawn = tag(draw), marginals = tag({"--all-marginals"});
  const auto& labellings = drawn["sentences"][0]["labellings"];
  ASSERT_EQ(labellings.size(), 1000u);
  for (size_t t = 0; t < 3; ++t) {
    for (size_t k = 0; k < 4; ++k) {
      const double p = marginals["sentences"][0]["all_marginals"][t][k];
      double count = 0;
      for (const auto& y : labellings) count += y["labels"][t] == marginals["labels"][k] ? 1 : 0;
      EXPECT_NEAR(count / 1000, p, 5 * std::sqrt(p * (1 - p) / 1000) + 1e-3);
    }
  }
  EXPECT_EQ(tag(draw), drawn);
  std::vector<std::string> other = draw;
  other.insert(other.end(), {"--seed", "1"});
  EXPECT_NE(tag(other), drawn);
  expect_user_error(folder_.run_on("Ann\n", {"tag", "run", "--seed", "1"}), "--decode sample");
  expect_user_error(folder_.run_on("Ann\n", {"tag", "run", "--decode", "posterior", "--n-best", "2"}),
                    "--decode viterbi or sample");
}

TEST_F(Tag, CommentLinesAndFurtherColumns) {
  const auto lines = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"tag", "run"});
    return lines_of(folder_.run_on("Ann\nLee\n\nRome\n", more).out);
  };
  const auto scored = lines({"--score", "exact"});
  ASSERT_EQ(scored.size(), 7u);
  EXPECT_EQ(scored[0][1] + scored[0][2] + scored[0][4], "sentence=0rank=1kind=exact");
  EXPECT_TRUE(scored[0][3].starts_with("log_prob=-")) << scored[0][3];
  EXPECT_EQ(scored[4][1], "sentence=1");
  const auto best = lines({"--n-best", "2"});
  ASSERT_EQ(best.size(), 14u);
  EXPECT_EQ(best[4], (std::vector<std::string>{"#", "sentence=0", "rank=2"}));
  const auto sure = lines({"--marginals"});
  EXPECT_EQ(sure[0].size(), 3u);
  EXPECT_EQ(lines({"--all-marginals"})[0].size(), 2u + 4u);
}

TEST_F(Tag, ScoresOfGivenLabelsAreThoseOfTheEvaluation) {
  folder_.write("test.conll", sentences_text(30, 5));
  const auto evaluation = folder_.run({"evaluate", "run", "test.conll", "--json"}).json();
  for (const std::string kind : {"raw", "exact"}) {
    const auto scored = folder_.run({"score", "run", "test.conll", "--" + kind, "--json"}).json();
    EXPECT_EQ(scored["kind"], kind);
    double sum = 0;
    for (const auto& sentence : scored["sentences"]) sum += sentence["log_prob"].get<double>();
    EXPECT_NEAR(-sum / 30, evaluation["nll_" + kind].get<double>(), 1e-5);
  }
  const Outcome text = folder_.run_on(sentences_text(2, 5), {"score", "run"});
  EXPECT_EQ(text.out.rfind("# exact\n0\t", 0), 0u) << text.out;
}

TEST_F(Tag, TimesOfScores) {
  const auto timed = folder_.run({"evaluate", "run", "data.conll", "--timing", "--json"}).json();
  const double tokens = timed["tokens"].get<double>() / timed["sentences"].get<double>();
  for (const std::string kind : {"raw", "exact"}) {
    const double sentence = timed["score_ns_" + kind];
    EXPECT_GT(sentence, 0);
    EXPECT_NEAR(timed["score_ns_" + kind + "_per_token"].get<double>() * tokens, sentence, 1e-6 * sentence);
  }
  const Outcome text = folder_.run({"evaluate", "run", "data.conll", "--timing"});
  EXPECT_NE(text.out.find("run exact"), std::string::npos) << text.out;
}

TEST_F(Tag, RawScoresOfAnExactCrfAreWarnedOf) {
  ASSERT_EQ(folder_.run(train_crf("data.conll", "exact", {"--objective", "exact"})).code, 0);
  const Outcome tagged = folder_.run({"tag", "exact", "data.conll", "--score", "raw"});
  EXPECT_NE(tagged.err.find("use --score exact"), std::string::npos) << tagged.err;
}

TEST_F(Tag, LabelsInTheDataAreNotLookedAt) {
  const Outcome unseen = folder_.run_on("Ann NEW\nLee \tX\n", {"tag", "run", "-"});
  ASSERT_EQ(unseen.code, 0) << unseen.err;
  const Outcome known = folder_.run_on("Ann O\nLee O\n", {"tag", "run"});
  const auto a = lines_of(unseen.out), b = lines_of(known.out);
  ASSERT_EQ(a.size(), 3u);
  for (const size_t t : {0u, 1u}) EXPECT_EQ(a[t][2], b[t][2]);
}

}  // namespace
}  // namespace selfnorm::cli
