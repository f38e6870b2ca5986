// Labellings that `tag` wrote, read again: reranking by a pipe.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/sentence_data.h"

namespace selfnorm::cli {
namespace {

struct Form {
  const char* name;
  std::string (*token)(int number, const std::string& word, const std::string& label);
  const char* unlabelled;  // three tokens in two sentences

  friend void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }
};

const Form kForms[] = {
    {"columns", [](int, const std::string& word, const std::string& label) { return word + " " + label; },
     "Ann\nMay\n\nRome\n"},
    {"conllu",
     [](int number, const std::string& word, const std::string& label) {
       return std::to_string(number) + "\t" + word + "\t_\t" + label + "\t_\t_\t_\t_\t_\t_";
     },
     "# text = Ann May\n1\tAnn\t_\t_\t_\t_\t_\t_\t_\tp=odd|Lang=en\n2\tMay\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
     "1\tRome\t_\t_\t_\t_\t_\t_\t_\t_\n"},
    {"attributes",
     [](int, const std::string& word, const std::string& label) { return label + "\tw=" + word; },
     "\tw=Ann\n\tw=May\n\n\tw=Rome\n"},
};

class TagNBest : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    std::istringstream lines(sentences_text(60));
    std::string text, word, label;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      const bool is_token = static_cast<bool>(fields >> word >> label);
      number = is_token ? number + 1 : 0;
      text += (is_token ? GetParam().token(number, word, label) : "") + "\n";
    }
    folder_.write("data", text);
    const Outcome trained = folder_.run(train_crf("data", "run", {"--steps", "20"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_EQ(folder_.run({"info", "run", "--json"}).json()["format"], GetParam().name);
  }
  std::string tag(const std::string& text, std::vector<std::string> more) const {
    more.insert(more.begin(), {"tag", "run"});
    const Outcome outcome = folder_.run_on(text, more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  const Folder folder_;
};

TEST_P(TagNBest, ScoresOfLabellingsAreThoseThatTagWrote) {
  const std::vector<std::string> options{"--n-best", "3", "--score", "exact"};
  const std::string best = tag(GetParam().unlabelled, options);
  std::vector<std::string> words = options;
  words.push_back("--json");
  const auto tagged = nlohmann::json::parse(tag(GetParam().unlabelled, words))["sentences"];
  for (const std::string& text : {best, tag(GetParam().unlabelled, {"--n-best", "3"})}) {
    const auto scored = folder_.run_on(text, {"score", "run", "--exact", "--json"}).json()["sentences"];
    ASSERT_EQ(scored.size(), 6u);
    for (size_t i = 0; i < scored.size(); ++i) {
      EXPECT_EQ(scored[i]["sentence"], i / 3);
      EXPECT_EQ(scored[i]["rank"], i % 3 + 1);
      EXPECT_NEAR(scored[i]["log_prob"].get<double>(),
                  tagged[i / 3]["labellings"][i % 3]["log_prob"].get<double>(), 1e-5);
    }
  }
  std::istringstream lines(folder_.run_on(best, {"score", "run", "--exact"}).out);
  std::string line;
  for (int i = 0; i < 3; ++i) std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("0\t") && line.ends_with("\texact\t2\t2")) << line;
  folder_.write("best", best);
  EXPECT_EQ(folder_.run({"evaluate", "run", "best", "--json"}).json()["sentences"], 6);
}

// Of columns that have labels the new ones come after them, so they are left out here.
TEST_P(TagNBest, TaggingAgainReplacesWhatWasWritten) {
  if (GetParam().name == std::string("columns")) {
    EXPECT_EQ(tag(tag("Rome\n", {"--score", "raw"}), {}), "Rome\tB-LOC\tB-LOC\n\n");
    return;
  }
  const std::string plain = tag(GetParam().unlabelled, {});
  const std::vector<std::string> options{"--score", "exact"};
  const std::string once = tag(GetParam().unlabelled, options);
  EXPECT_NE(once, plain);
  EXPECT_EQ(tag(once, options), once);
  EXPECT_EQ(tag(once, {}), plain);
  if (GetParam().name != std::string("conllu")) return;
  for (const char* marginals : {"--marginals", "--all-marginals"}) {
    const std::string sure = tag(GetParam().unlabelled, {marginals});
    EXPECT_NE(sure.find("\tp=odd|Lang=en|p"), std::string::npos) << sure;
    EXPECT_EQ(tag(sure, {marginals}), sure);
    EXPECT_EQ(tag(sure, {}), plain);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, TagNBest, testing::ValuesIn(kForms),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace selfnorm::cli
