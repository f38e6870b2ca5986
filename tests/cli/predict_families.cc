// Answers of the families beside regressors (predict.cc): labels, next words, tags, unusual rows.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cli/density_data.h"
#include "cli/trained_crf.h"

namespace selfnorm::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void train_weather(const Folder& folder) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "rain\twet wet grey day\nsun\tdry bright day\nsnow\twhite cold day\n";
  folder.write("weather.txt", text);
  const Outcome trained =
      folder.run({"train", "classifier", "weather.txt", "--format", "text", "--out", "run", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
}

TEST(PredictLabels, OfTextsThatAreTyped) {
  const Folder folder;
  train_weather(folder);
  const Outcome typed = folder.run_on("wet and grey\n\nbright\n", {"predict", "run"});
  EXPECT_EQ(typed.code, 0) << typed.err;
  const auto lines = lines_of(typed.out);
  ASSERT_EQ(lines.size(), 3u) << typed.out;
  EXPECT_EQ(lines[0], "row,label,probability,log_prob");
  EXPECT_EQ(lines[1].find("0,rain,0."), 0u);
  EXPECT_EQ(lines[2].find("2,sun,0."), 0u);  // the blank line has a number
  EXPECT_EQ(typed.out, folder.run_on("wet and grey\n\nbright", {"predict", "run", "-"}).out);
  const Outcome shown = folder.run_on("wet and grey\n", {"predict", "run", "--output-format", "table"});
  EXPECT_NE(shown.out.find("wet and grey"), std::string::npos) << shown.out;
}

TEST(PredictLabels, ProbabilitiesAreExactAndSumToOne) {
  const Folder folder;
  folder.generate();
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--out", "run", "--quiet"}).code, 0);
  const auto rows = folder.run({"predict", "run", "data.svm", "--top", "9", "--json"}).json()["rows"];
  ASSERT_EQ(rows.size(), 300u);
  for (const auto& row : rows) {
    double sum = 0;
    for (const auto& one : row["top"]) sum += one["probability"].get<double>();
    ASSERT_EQ(row["top"].size(), 4u);  // all there are
    ASSERT_NEAR(sum, 1, 1e-7);         // scores are float32
    ASSERT_EQ(row["label"], row["top"][0]["label"]);
  }
  const auto scored =
      folder.run({"score", "run", "data.svm", "--top", "1", "--exact", "--json"}).json()["rows"];
  for (size_t i = 0; i < scored.size(); ++i) ASSERT_EQ(rows[i]["log_prob"], scored[i]["log_prob"]);
  const Outcome wide = folder.run({"predict", "run", "data.svm", "--top", "2"});
  EXPECT_EQ(lines_of(wide.out)[0], "row,label,probability,log_prob,label_2,probability_2");
  EXPECT_EQ(lines_of(wide.out).size(), 301u);
  EXPECT_EQ(wide.out, folder.run_on(content(folder / "data.svm"), {"predict", "run", "--top", "2"}).out);
}

TEST(PredictLabels, OfTablesWithTheirColumns) {
  const Folder folder;
  std::string text = "id,a,b,label\n";
  std::minstd_rand random(1);
  for (int i = 0; i < 100; ++i) {
    const double x = normal(random);
    text += fmt::format("{},{:.3f},{:.3f},{}\n", i, x, normal(random), x > 0 ? "up" : "down");
  }
  folder.write("data.csv", text);
  folder.write("train.csv", [&] {
    std::string out;
    for (const std::string& line : lines_of(text)) out += line.substr(line.find(',') + 1) + "\n";
    return out;
  }());
  ASSERT_EQ(folder.run({"train", "classifier", "train.csv", "--out", "run", "--quiet"}).code, 0);
  const Outcome live = folder.run_on("a,b\n1.5,0\n-1.5,0\n", {"predict", "run"});
  EXPECT_EQ(live.code, 0) << live.err;
  ASSERT_EQ(lines_of(live.out).size(), 3u) << live.out;
  EXPECT_EQ(lines_of(live.out)[1].find("0,up,"), 0u);
  EXPECT_EQ(lines_of(live.out)[2].find("1,down,"), 0u);
  const Outcome bad = folder.run_on("a,b\n1,2\n3,x\n", {"predict", "run"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.err.find("standard input:3:"), std::string::npos) << bad.err;
  const Outcome kept = folder.run({"predict", "run", "train.csv", "--keep", "label,a"});
  EXPECT_EQ(lines_of(kept.out)[0], "row,label,a,label,probability,log_prob");
  expect_user_error(folder.run_on("", {"predict", "run"}), "empty");
}

// A table without the model's column of text is no list of texts, whatever its columns are called.
TEST(PredictLabels, OfTablesWithoutTheColumnOfText) {
  const Folder folder;
  std::string text = "text,label\n", other = "id,message\n";
  for (int i = 0; i < 60; ++i) {
    text += i % 2 == 0 ? "wet wet grey day,rain\n" : "dry bright day,sun\n";
    other += fmt::format("{},wet day\n", i);
  }
  folder.write("train.csv", text);
  folder.write("other.csv", other);
  folder.write("other.txt", other);
  ASSERT_EQ(
      folder.run({"train", "classifier", "train.csv", "--text", "text", "--out", "run", "--quiet"}).code, 0);
  expect_user_error(folder.run({"predict", "run", "other.csv"}), "found no column 'text'");
  expect_user_error(folder.run({"predict", "run", "other.csv", "--keep", "id"}), "found no column 'text'");
  expect_user_error(folder.run({"predict", "run", "other.txt", "--keep", "id", "--quiet"}),
                    "was read as lines of text, which have no columns");
}

TEST(PredictWords, NextWordsAndContinuations) {
  const Folder folder;
  folder.generate_text();
  ASSERT_EQ(folder
                .run({"train", "lm", "data.txt", "--dimension", "4", "--hidden", "4", "--epochs", "2",
                      "--batch", "64", "--out", "lm", "--quiet"})
                .code,
            0);
  const auto lines = lines_of(content(folder / "data.txt"));
  const std::string start = lines[0].substr(0, lines[0].find(' '));
  const Outcome next = folder.run_on(start + "\n", {"predict", "lm", "--top", "3", "--json"});
  ASSERT_EQ(next.code, 0) << next.err;
  const auto top = next.json()["rows"][0]["top"];
  ASSERT_EQ(top.size(), 3u);
  EXPECT_GE(top[0]["probability"], top[1]["probability"]);
  const std::string best = top[0]["word"];
  // The same word, scored in its place.
  if (best != "</s>" && best != "<unk>") {
    const auto words = folder.run_on(start + " " + best + "\n", {"score", "lm", "--exact", "--json"})
                           .json()["sentences"][0]["words"];
    EXPECT_NEAR(words[1]["log_prob"].get<double>(), top[0]["log_prob"].get<double>(), 1e-6);
  }
  const auto given = folder.run_on(start + "\n", {"predict", "lm", "--candidates", best, "--json"}).json();
  EXPECT_NEAR(given["rows"][0]["candidates"][0]["log_prob"].get<double>(), top[0]["log_prob"].get<double>(),
              1e-9);
  const auto text = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"predict", "lm", "--complete", "6"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = folder.run_on(start + "\n", words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(text({}), text({}));
  EXPECT_EQ(text({"--temperature", "1", "--seed", "3"}), text({"--temperature", "1", "--seed", "3"}));
  EXPECT_NE(text({}).find("0," + start), std::string::npos);
  expect_user_error(folder.run_on("a\n", {"predict", "lm", "--temperature", "1"}), "--complete");
  expect_user_error(folder.run_on("a\n", {"predict", "lm", "--candidates", "nosuchword"}), "nosuchword");
  const Outcome drawn = folder.run({"sample", "lm", "-n", "3", "--temperature", "0.5"});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_EQ(lines_of(drawn.out).size(), 3u);
}

TEST(PredictTags, RawSentencesAndColumns) {
  const Trained folder;
  const Outcome raw = folder.run_on("Ann Lee went to Rome.\n(Bob Roe saw Oslo)\n", {"predict", "run"});
  ASSERT_EQ(raw.code, 0) << raw.err;
  EXPECT_NE(raw.err.find("split at white space"), std::string::npos) << raw.err;
  const auto lines = lines_of(raw.out);
  ASSERT_EQ(lines.size(), 13u) << raw.out;
  EXPECT_EQ(lines[0], "sentence,token,word,label,probability");
  EXPECT_EQ(lines[1].find("0,0,Ann,B-PER,0."), 0u);
  EXPECT_EQ(lines[5].find("0,4,Rome,B-LOC,0."), 0u);
  EXPECT_EQ(lines[6].find("0,5,.,"), 0u);
  EXPECT_EQ(lines[7].find("1,0,(,"), 0u);
  // The labels are those of tag.
  const Outcome columns = folder.run({"predict", "run", "words.conll", "--json"});
  ASSERT_EQ(columns.code, 0) << columns.err;
  EXPECT_EQ(columns.err, "");
  const auto tagged = folder.run({"tag", "run", "words.conll", "--marginals", "--json"}).json()["sentences"];
  const auto sentences = columns.json()["sentences"];
  ASSERT_EQ(sentences.size(), tagged.size());
  for (size_t i = 0; i < tagged.size(); ++i)
    for (size_t t = 0; t < sentences[i]["tokens"].size(); ++t)
      ASSERT_EQ(sentences[i]["tokens"][t]["label"], tagged[i]["labellings"][0]["labels"][t]);
}

TEST(PredictPoints, UnusualRowsFirst) {
  const Folder folder;
  write_lumps(folder);
  ASSERT_EQ(
      folder.run({"train", "density", "data.csv", "--objective", "fit", "--out", "run", "--quiet"}).code, 0);
  folder.write("new.csv", "name,x,y\nnear,3,10\nfar,90,10\nother,-3,10\n");
  const Outcome all = folder.run({"predict", "run", "new.csv", "--keep", "name", "--quiet"});
  ASSERT_EQ(all.code, 0) << all.err;
  const auto lines = lines_of(all.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "row,name,log_density,rank,unusual");
  EXPECT_EQ(lines[2].find("1,far,"), 0u);
  const auto rows =
      folder.run({"predict", "run", "new.csv", "--keep", "name", "--top", "1", "--json"}).json()["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["name"], "far");
  EXPECT_EQ(rows[0]["rank"], 1);
  expect_user_error(folder.run({"predict", "run", "new.csv", "--complete", "3"}), "language models");
}

}  // namespace
}  // namespace selfnorm::cli
