// Formats of the sentences that are tagged, and what is written of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "cli/sentence_data.h"

namespace selfnorm::cli {
namespace {

// The words and labels of sentences_text in another format, a line a token.
template <class Token>
std::string rewritten(const std::string& columns, Token token) {
  std::string out, word, label;
  std::istringstream lines(columns);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    const bool is_token = static_cast<bool>(fields >> word >> label);
    number = is_token ? number + 1 : 0;
    out += (is_token ? token(number, word, label) : "") + "\n";
  }
  return out;
}

std::string conllu_token(int number, const std::string& word, const std::string& label) {
  return std::to_string(number) + "\t" + word + "\t_\t" + label + "\t_\t_\t_\t_\t_\t_";
}

std::string conllu_text(int sentences, unsigned seed = 1) {
  return rewritten(sentences_text(sentences, seed), conllu_token);
}

class TagConllu : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("data.conllu", "# newdoc\n" + conllu_text(60));
    const Outcome trained = folder_.run(train_crf("data.conllu", "run", {"--steps", "20"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_EQ(folder_.run({"info", "run", "--json"}).json()["format"], "conllu");
  }
  const Folder folder_;
};

constexpr const char* kRich =
    "# sent_id = 1\n"
    "# text = Ann Lee saw it\n"
    "1-2\tAnnLee\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "1\tAnn\tAnn\t_\tP\tCase=Nom\t3\tnsubj\t_\t_\n"
    "2\tLee\tLee\tUNSEEN\tP\t_\t1\tflat\t_\tLang=en\n"
    "2.1\twho\t_\tPRON\t_\t_\t_\t_\t_\t_\n"
    "3\tsaw\tsee\tO\tV\t_\t0\troot\t_\t_\n\n"
    "# sent_id = 2\n"
    "1\tRome\tRome\t_\tP\t_\t0\troot\t_\t_\n\n"
    "# the end\n";

TEST_F(TagConllu, IsWrittenAsItWasWithTheLabelsInTheirColumn) {
  const Outcome tagged = folder_.run_on(kRich, {"tag", "run"});
  ASSERT_EQ(tagged.code, 0) << tagged.err;
  std::string expected = kRich;
  const auto replace = [&expected](const std::string& from, const std::string& to) {
    expected.replace(expected.find(from), from.size(), to);
  };
  replace("\tAnn\t_\t", "\tAnn\tB-PER\t");
  replace("\tUNSEEN\t", "\tI-PER\t");
  replace("\tRome\t_\t", "\tRome\tB-LOC\t");
  EXPECT_EQ(tagged.out, expected);
  // So it can be read again.
  folder_.write("tagged.conllu", tagged.out);
  const auto evaluation = folder_.run({"evaluate", "run", "tagged.conllu", "--json"}).json();
  EXPECT_EQ(evaluation["tokens"], 4);
  EXPECT_EQ(evaluation["accuracy"], 1.0);
  EXPECT_EQ(folder_.run({"tag", "run", "tagged.conllu"}).out, tagged.out);
}

TEST_F(TagConllu, MarginalsScoresAndRanksAreCoNLLUToo) {
  const Outcome tagged =
      folder_.run_on(kRich, {"tag", "run", "--marginals", "--score", "exact", "--n-best", "2"});
  ASSERT_EQ(tagged.code, 0) << tagged.err;
  EXPECT_NE(tagged.out.find("# sentence=0 rank=1 log_prob=-"), std::string::npos) << tagged.out;
  EXPECT_NE(tagged.out.find("\tLang=en|p="), std::string::npos) << tagged.out;
  EXPECT_NE(tagged.out.find("\tnsubj\t_\tp="), std::string::npos) << tagged.out;
  folder_.write("tagged.conllu", tagged.out);
  const auto evaluation = folder_.run({"evaluate", "run", "tagged.conllu", "--json"}).json();
  EXPECT_EQ(evaluation["sentences"], 4);
  const Outcome all = folder_.run_on(kRich, {"tag", "run", "--all-marginals"});
  EXPECT_NE(all.out.find("p[B-PER]="), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("|p[O]="), std::string::npos) << all.out;
}

TEST_F(TagConllu, WordsOfOtherFormats) {
  const Outcome words = folder_.run_on("Ann\nLee\n\nRome\n", {"tag", "run", "--format", "columns"});
  EXPECT_EQ(words.out, "Ann\tB-PER\nLee\tI-PER\n\nRome\tB-LOC\n\n") << words.err;
  folder_.write("test.conll", sentences_text(20, 5));
  folder_.write("test.conllu", conllu_text(20, 5));
  for (const std::string command : {"evaluate", "score", "audit"}) {
    const auto result = [&](std::vector<std::string> more) {
      more.insert(more.begin(), {command, "run"});
      more.insert(more.end(), {"--json", "--quiet"});
      if (command == "audit") more.push_back("--no-report");
      const Outcome outcome = folder_.run(more);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      auto json = outcome.json();
      for (const char* of_the_file : {"data", "report"}) json.erase(of_the_file);
      return json;
    };
    EXPECT_EQ(result({"test.conll", "--format", "columns"}), result({"test.conllu"})) << command;
  }
  expect_user_error(folder_.run({"tag", "run", "test.conll"}),
                    "test.conll:1: found 1 column, separated by tabs");
  expect_user_error(folder_.run({"tag", "run", "test.conll", "--format", "csv"}), "--format");
}

TEST(TagFormats, Attributes) {
  const Folder folder;
  folder.write("data.crfsuite",
               rewritten(sentences_text(60), [](int, const std::string& word, const std::string& label) {
                 return label + "\tw=" + word + "\tlong:0.5\tescaped\\:name\tbias:1\tbias:1";
               }));
  const Outcome trained =
      folder.run(train_crf("data.crfsuite", "run", {"--steps", "20", "--format", "attributes"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(folder.run({"info", "run", "--json"}).json()["format"], "attributes");
  for (const std::string label : {"", "?", "O"})
    EXPECT_EQ(folder.run_on(label + "\tw=Rome\tunseen\n", {"tag", "run"}).out, "B-LOC\tw=Rome\tunseen\n\n");
  expect_user_error(folder.run_on("\tw=Ann\nw=Rome\tunseen\n", {"tag", "run"}),
                    "standard input:2: found 'w=Rome' where the label stands");
  expect_user_error(folder.run_on("\tw=Rome:3e38\n", {"tag", "run"}),
                    "standard input:1: found the value 3e+38");
  expect_user_error(folder.run_on("?\tw=Rome:inf\n", {"tag", "run"}), "standard input:1: found 'inf'");
  expect_user_error(folder.run({"tag", "run", "data.crfsuite", "--format", "conllu"}), "has no templates");
}

// Labels where the model's own data have them, so that what was tagged can be read again.
TEST(TagFormats, LabelsInTheirColumn) {
  const Folder folder;
  folder.write("data.conll",
               rewritten(sentences_text(60), [](int, const std::string& word, const std::string& label) {
                 return word + " " + label + " x";
               }));
  ASSERT_EQ(folder.run(train_crf("data.conll", "run", {"--steps", "20", "--target", "1"})).code, 0);
  EXPECT_EQ(folder.run_on("Ann x\nLee x\n", {"tag", "run"}).out, "Ann\tB-PER\tx\nLee\tI-PER\tx\n\n");
  EXPECT_EQ(folder.run_on("Rome O x\n", {"tag", "run"}).out, "Rome\tO\tx\tB-LOC\n\n");
  EXPECT_EQ(folder.run_on("R\xFFme x\r\n", {"tag", "run"}).out.find("R\xFFme\t"), 0u);
}

TEST(TagFormats, GzippedDataAndPipes) {
  const Folder folder;
  const std::string text = sentences_text(60);
  folder.write("data.conll", text);
  ASSERT_EQ(std::system(("gzip -k " + folder / "data.conll").c_str()), 0);
  const std::string zipped = content(folder / "data.conll.gz");
  ASSERT_EQ(folder.run(train_crf("data.conll", "plain", {"--steps", "5"})).code, 0);
  ASSERT_EQ(folder.run(train_crf("data.conll.gz", "gz", {"--steps", "5"})).code, 0);
  std::vector<std::string> piped = train_crf("-", "piped", {"--steps", "5"});
  ASSERT_EQ(folder.run_on(zipped, piped).code, 0);
  const std::string model = content(folder / "plain/model.safetensors");
  EXPECT_TRUE(model == content(folder / "gz/model.safetensors"));
  EXPECT_TRUE(model == content(folder / "piped/model.safetensors"));
  for (const std::string command : {"tag", "evaluate", "score"}) {
    const std::string out = folder.run({command, "plain", "data.conll", "--quiet"}).out;
    EXPECT_NE(out, "") << command;
    EXPECT_EQ(folder.run({command, "plain", "data.conll.gz", "--quiet"}).out, out) << command;
    EXPECT_EQ(folder.run_on(text, {command, "plain", "-", "--quiet"}).out, out) << command;
    EXPECT_EQ(folder.run_on(zipped, {command, "plain", "-", "--quiet"}).out, out) << command;
  }
}

}  // namespace
}  // namespace selfnorm::cli
