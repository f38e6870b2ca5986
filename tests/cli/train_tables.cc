// Data as people have them: tables with texts, categories and missing values, JSON lines, several files; and
// what `train classifier` chooses by the data.
#include <gtest/gtest.h>

#include "cli/density_data.h"

namespace selfnorm::cli {
namespace {

// A ticket: its text, a colour and a number that is sometimes missing all tell about the label.
std::string tickets(int rows, unsigned seed) {
  const char* const words[] = {"card declined again", "transfer is late", "change my address"};
  const char* const labels[] = {"card", "transfer", "account"};
  std::minstd_rand random(seed);
  std::string text = "id,title,body,colour,amount,label\n";
  for (int i = 0; i < rows; ++i) {
    const auto k = random() % 3;
    text += fmt::format(
        "{},\"{}, please\",note {},{},{},{}\n", i, words[k], i % 5, i % 2 == 0 ? "red" : "blue",
        i % 7 == 0 ? std::string() : fmt::format("{:.2f}", 10 * double(k) + normal(random)), labels[k]);
  }
  return text;
}

void expect_good(const Outcome& outcome) { ASSERT_EQ(outcome.code, 0) << outcome.err; }

TEST(TrainTables, TextsBesideOtherColumns) {
  const Folder folder;
  folder.write("train.csv", tickets(200, 1));
  folder.write("test.csv", tickets(100, 2));
  const Outcome trained = folder.run(
      {"train", "classifier", "train.csv", "--text", "title,body", "--drop", "id", "--out", "run"});
  expect_good(trained);
  EXPECT_NE(trained.err.find("text in title, body"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("chosen for 3 classes: a linear model"), std::string::npos) << trained.err;
  const auto judged = folder.run({"evaluate", "run", "test.csv", "--json"}).json();
  EXPECT_GT(judged["accuracy"].get<double>(), 0.95);
  const Outcome answers = folder.run({"predict", "run", "test.csv", "--keep", "id"});
  expect_good(answers);
  EXPECT_EQ(answers.out.find("row,id,label,probability,log_prob\n0,0,"), 0u) << answers.out.substr(0, 80);
  EXPECT_EQ(answers.out,
            folder.run_on(content(folder / "test.csv"), {"predict", "run"}).out.empty() ? "" : answers.out);
  EXPECT_EQ(folder.run({"audit", "run", "test.csv", "--no-report"}).code, 0);
  EXPECT_EQ(folder.run({"score", "run", "test.csv", "--top", "2"}).code, 0);
  EXPECT_EQ(folder.run({"normalize", "run", "--states", "train.csv", "-o", "n.safetensors"}).code, 0);
  EXPECT_EQ(folder.run({"evaluate", "n.safetensors", "test.csv"}).code, 0);
  expect_user_error(folder.run({"train", "classifier", "train.csv", "--text", "titel", "--out", "r"}),
                    "found no text column 'titel'; did you mean 'title'? the columns are 'id', 'title'");
  folder.write("data.svm", "card 1:1\n");
  expect_user_error(
      folder.run({"predict", "run", "data.svm"}),
      "found svmlight data, but the model was trained on a table; expected one with its columns 'colour'");
}

TEST(TrainTables, TextsAloneTakeLinesToo) {
  const Folder folder;
  folder.write("train.csv", tickets(200, 1));
  expect_good(folder.run({"train", "classifier", "train.csv", "--text", "title", "--drop",
                          "id,body,colour,amount", "--out", "run"}));
  const Outcome typed = folder.run_on("my card declined\nlate transfer\n", {"predict", "run"});
  expect_good(typed);
  EXPECT_NE(typed.out.find("0,card,"), std::string::npos) << typed.out;
  EXPECT_NE(typed.out.find("1,transfer,"), std::string::npos) << typed.out;
  EXPECT_EQ(typed.err.find("no word"), std::string::npos) << typed.err;
  EXPECT_NE(folder.run_on("late transfer\nbonjour\n", {"predict", "run"})
                .err.find("standard input: 1 of 2 texts have no word that the model knows"),
            std::string::npos);
  const Outcome table = folder.run({"predict", "run", "train.csv"});
  expect_good(table);
  const Outcome lines = folder.run_on("{\"title\": \"my card declined\"}\n", {"predict", "run"});
  expect_good(lines);
  EXPECT_NE(lines.out.find("0,card,"), std::string::npos) << lines.out;
}

TEST(TrainTables, FewTextsAreReadInPiecesOfWords) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 60; ++i)
    text +=
        i % 2 == 0 ? fmt::format("pay\tpayment number {}\n", i) : fmt::format("go\ttravelling to {}\n", i);
  folder.write("train.tsv", text);
  const Outcome trained = folder.run({"train", "classifier", "train.tsv", "--out", "run"});
  expect_good(trained);
  EXPECT_NE(trained.err.find("words and pieces of words (--char-ngrams-min 3 --char-ngrams-max 5)"),
            std::string::npos)
      << trained.err;
  const auto options = nlohmann::json::parse(content(folder / "run/config.json"))["options"];
  EXPECT_EQ(options["char-ngrams-max"], 5);
  const Outcome answers = folder.run_on("payments\ntraveller\n", {"predict", "run"});  // words that are new
  EXPECT_NE(answers.out.find("0,pay,"), std::string::npos) << answers.out;
  EXPECT_NE(answers.out.find("1,go,"), std::string::npos) << answers.out;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", "classifier", "train.tsv", "--ngrams", "1", "--out", "words"},
        {"train", "classifier", "-", "--out", "piped"}}) {
    const Outcome other = folder.run_on(text, words);
    expect_good(other);
    EXPECT_EQ(other.err.find("pieces of words"), std::string::npos) << other.err;
  }
}

TEST(TrainTables, CategoriesAndMissingValuesNeedNoOption) {
  const Folder folder;
  std::string text = "city;size;kind\n";
  std::minstd_rand random(3);
  for (int i = 0; i < 300; ++i) {
    const bool is_far = random() % 2 == 0;
    text += fmt::format("{};{};{}\n", is_far ? "Oslo" : "Rome",
                        i % 3 == 0 ? std::string("NA") : fmt::format("{},5", is_far ? 3 : 1),
                        is_far ? "cold" : "warm");
  }
  folder.write("data.csv", text);
  expect_good(folder.run({"train", "classifier", "data.csv", "--target", "kind", "--out", "run"}));
  EXPECT_GT(folder.run({"evaluate", "run", "data.csv", "--json"}).json()["accuracy"].get<double>(), 0.99);
  const Outcome other =
      folder.run_on("city;size\nLima;?\nOslo;3,5\n", {"predict", "run"});  // an unknown city
  expect_good(other);
  EXPECT_NE(other.out.find("1,cold,"), std::string::npos) << other.out;
  // A word among numbers is a mistake that is named.
  folder.write("typo.csv", "a,label\n1,x\n2,y\nthree,x\n4,y\n5,x\n");
  expect_user_error(folder.run({"train", "classifier", "typo.csv", "--out", "r"}),
                    "typo.csv:4: in column 'a'");
  expect_user_error(folder.run({"train", "classifier", "typo.csv", "--out", "r"}), "--categorical a");
}

TEST(TrainTables, JsonLinesAndSeveralFiles) {
  const Folder folder;
  std::string lines, first = "x,label\n", second = "x,label\n";
  std::minstd_rand random(4);
  for (int i = 0; i < 200; ++i) {
    const double x = normal(random);
    lines += fmt::format("{{\"x\": {}, \"label\": \"{}\"}}\n", x, x > 0 ? "up" : "down");
    (i < 100 ? first : second) += fmt::format("{},{}\n", x, x > 0 ? "up" : "down");
  }
  folder.write("data.jsonl", lines);
  folder.write("part-1.csv", first);
  folder.write("part-2.csv", second);
  expect_good(folder.run({"train", "classifier", "data.jsonl", "--out", "j", "--quiet"}));
  expect_good(folder.run({"train", "classifier", "part-1.csv", "part-2.csv", "--out", "two", "--quiet"}));
  expect_good(folder.run({"train", "classifier", "part-*.csv", "--out", "glob", "--quiet"}));
  const std::string model = content(folder / "two/model.safetensors");
  EXPECT_TRUE(model == content(folder / "glob/model.safetensors"));
  EXPECT_NE(
      folder.run({"train", "classifier", "part-1.csv", "part-2.csv", "--out", "w"}).err.find("200 rows"),
      std::string::npos);
  EXPECT_EQ(folder.run({"evaluate", "j", "part-1.csv"}).code, 0);
  expect_user_error(folder.run({"train", "classifier", "none-*.csv", "--out", "r"}), "no file matches");
  folder.write("bad.jsonl", "{\"x\": 1, \"label\": \"a\"}\n{\"x\": [1], \"label\": \"b\"}\n");
  expect_user_error(folder.run({"train", "classifier", "bad.jsonl", "--out", "r"}), "bad.jsonl:2:");
  folder.write("x.parquet", "PAR1....");
  expect_user_error(folder.run({"train", "classifier", "x.parquet", "--out", "r"}), "read_parquet");
}

TEST(TrainTables, ManyClassesAreSummedOverWhereThatIsCheap) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += fmt::format("c{} {}:1 {}:1\n", i % 1200, 1 + i % 40, 50 + i % 30);
  folder.write("many.svm", text);
  const Outcome many = folder.run({"train", "classifier", "many.svm", "--epochs", "1"});
  expect_good(many);
  EXPECT_NE(many.err.find("chosen for 1,200 classes: --encoder bag --objective exact"), std::string::npos)
      << many.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "out/many-exact/model.safetensors"));
  const Outcome long_run =
      folder.run({"train", "classifier", "many.svm", "--epochs", "10000", "--patience", "1", "--no-report"});
  expect_good(long_run);
  EXPECT_NE(long_run.err.find("--encoder bag --objective nce, which does not sum"), std::string::npos)
      << long_run.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "out/many-nce/model.safetensors"));
  // An option of an objective has chosen.
  folder.generate();
  expect_good(folder.run({"train", "classifier", "data.svm", "--alpha", "0.2", "--quiet"}));
  EXPECT_TRUE(std::filesystem::exists(folder / "out/data-penalty/model.safetensors"));
  expect_good(
      folder.run({"train", "classifier", "data.svm", "--objective", "penalty", "--out", "p", "--quiet"}));
  EXPECT_EQ(folder.run({"info", "p", "--json"}).json()["objective"]["name"], "penalty");
}

}  // namespace
}  // namespace selfnorm::cli
