#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cli/program.h"
#include "model/model_file.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

// A model of a few numbers, trained in a blink.
std::vector<std::string> small(const std::string& corpus, const std::string& out,
                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"train",    "lm", corpus,    "--dimension", "4",     "--hidden", "4",
                                 "--epochs", "2",  "--batch", "64",          "--out", out};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(TrainLm, TextAloneGivesAnAuditedRun) {
  const Folder folder;
  folder.generate_text();
  const Outcome trained = folder.run({"train", "lm", "data.txt", "--epochs", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("read data.txt: 380 sentences"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("held out: 20 sentences"), std::string::npos) << trained.err;
  EXPECT_NE(trained.out.find("ppl exact"), std::string::npos) << trained.out;
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"data.txt", "out"}));
  const std::string run = folder / "out/data-snl/";
  EXPECT_EQ(files_of(run), (std::vector<std::string>{"config.json", "metrics.jsonl", "model.safetensors",
                                                     "report.html", "report.json"}));
  const auto config = nlohmann::json::parse(content(run + "config.json"));
  EXPECT_EQ(config["command"], "train lm");
  EXPECT_EQ(config["options"]["order"], 5);
  EXPECT_EQ(config["data"]["sentences"], 380);
  const auto info = folder.run({"info", "out/data-snl", "--json"}).json();
  EXPECT_EQ(info["input"], "context");
  EXPECT_EQ(info["encoder"]["order"], 5);
  EXPECT_EQ(info["labels"][0], "<unk>");
  EXPECT_EQ(info["labels"][1], "</s>");
  EXPECT_EQ(info["audit"]["data"], "validation");
  EXPECT_TRUE(info["audit"]["perplexity_exact"].is_number());
  // Rare words are one class: the dozen words, <unk> and </s>.
  EXPECT_EQ(info["classes"], 14);
  EXPECT_GT(config["data"]["unknown"], 0);
}

// The result does not depend on threads, and is the same from a pipe and from a compressed file.
TEST(TrainLm, SameModelFromEverywhere) {
  const Folder folder;
  folder.generate_text();
  ASSERT_EQ(std::system(("gzip -k " + folder / "data.txt").c_str()), 0);
  ASSERT_EQ(folder.run(small("data.txt", "a", {"--threads", "1"})).code, 0);
  ASSERT_EQ(folder.run(small("data.txt.gz", "b", {"--threads", "2"})).code, 0);
  ASSERT_EQ(folder.run_on(content(folder / "data.txt"), small("-", "c")).code, 0);
  const std::string model = content(folder / "a/model.safetensors");
  EXPECT_TRUE(model == content(folder / "b/model.safetensors"));
  EXPECT_TRUE(model == content(folder / "c/model.safetensors"));
}

TEST(TrainLm, EveryObjectiveNormaliserAndNoise) {
  const Folder folder;
  folder.generate_text("data.txt", 100);
  const std::vector<std::vector<std::string>> plans{{"--objective", "exact"},
                                                    {"--objective", "penalty"},
                                                    {"--objective", "sampled"},
                                                    {"--objective", "nce", "--proposal-sharing", "example"},
                                                    {"--objective", "ranking-nce", "--proposal", "in-batch"},
                                                    {"--objective", "is"},
                                                    {"--objective", "snl", "--normalizer", "zero"},
                                                    {"--objective", "snl", "--normalizer", "linear"},
                                                    {"--objective", "snl", "--normalizer", "mlp"},
                                                    {"--objective", "hierarchical", "--hidden", "0"}};
  for (const auto& plan : plans) {
    std::vector<std::string> words = small("data.txt", "run", plan);
    words.insert(words.end(), {"--overwrite", "--json", "--quiet", "--samples", "5"});
    const Outcome trained = folder.run(words);
    ASSERT_EQ(trained.code, 0) << plan[1] << trained.err;
    const auto audit = trained.json()["audit"];
    EXPECT_LT(audit["perplexity_exact"], 14) << plan[1];  // better than uniform
    EXPECT_TRUE(std::isfinite(audit["nll_raw"].get<double>())) << plan[1];
    EXPECT_EQ(audit.contains("nll_amortised"), plan.back() == "linear" || plan.back() == "mlp");
  }
}

TEST(TrainLm, ValidationTextVocabularyAndStoredWeights) {
  const Folder folder;
  folder.generate_text();
  folder.write("valid.txt", "the cat sat\nzebra\n");
  const Outcome trained = folder.run(
      small("data.txt", "run",
            {"--valid", "valid.txt", "--max-vocabulary", "5", "--order", "2", "--weights", "int8"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("validation: valid.txt: 2 sentences, 6 tokens"), std::string::npos)
      << trained.err;
  const auto info = folder.run({"info", "run", "--json"}).json();
  EXPECT_EQ(info["classes"], 7);
  EXPECT_EQ(info["weights"], "int8");
  EXPECT_EQ(info["audit"]["tokens"], 6);
  const Outcome none = folder.run(small("data.txt", "all", {"--hold-out", "0"}));
  ASSERT_EQ(none.code, 0) << none.err;
  EXPECT_NE(none.out.find("on the training data"), std::string::npos) << none.out;
}

TEST(TrainLm, PretrainedEmbeddings) {
  const Folder folder;
  folder.generate_text();
  folder.write("a.vec", "3 4\nthe 1 2 3 4\ncat 0 0 0 1\nunheard 1 1 1 1\n");
  const Outcome trained =
      folder.run(small("data.txt", "run", {"--embeddings", "a.vec", "--learning-rate", "1e-9"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("a.vec: embeddings of 2 of 14 words"), std::string::npos) << trained.err;
  const ModelFile model = load_model(folder / "run/model.safetensors");
  const auto the = static_cast<size_t>(
      std::distance(model.labels.begin(), std::find(model.labels.begin(), model.labels.end(), "the")));
  for (size_t j = 0; j < 4; ++j)
    EXPECT_NEAR(model.encoder.embedding[the * 4 + j], static_cast<float>(j + 1), 1e-5f);
  expect_user_error(
      folder.run(small("data.txt", "bad", {"--quiet", "--embeddings", "a.vec", "--dimension", "7"})),
      "a.vec:1: found vectors of 4 numbers, expected 7");
}

// Text that is odd but text.
TEST(TrainLm, OddTextTrains) {
  const Folder folder;
  folder.write("one.txt", "a a a a\na a\n");
  folder.write("crlf.txt", "a b a\r\nb a b\r\n");
  folder.write("bytes.txt", "na\xEFve na\xEFve \xFF \xFF\nb b\n");
  folder.write("long.txt", "a a b b " + std::string(1 << 20, 'x') + "\n");
  const std::vector<std::pair<std::string, int>> classes{{"one", 3}, {"crlf", 4}, {"bytes", 5}, {"long", 4}};
  for (const auto& [name, words] : classes) {
    const Outcome trained = folder.run(small(name + ".txt", name));
    ASSERT_EQ(trained.code, 0) << name << trained.err;
    const auto info = folder.run({"info", name, "--json"}).json();
    EXPECT_EQ(info["classes"], words) << name;
    EXPECT_TRUE(std::isfinite(info["audit"]["nll_exact"].get<double>())) << name;
  }
}

TEST(TrainLm, BadInputSaysWhereAndLeavesNothing) {
  const Folder folder;
  folder.generate_text("good.txt", 50);
  folder.write("empty.txt", "");
  folder.write("blank.txt", "\n\n");
  folder.write("nul.txt", std::string("a\nb\0c\n", 6));
  folder.write("marked.txt", "<s> a b </s>\n");
  folder.write("rare.txt", "a b c d\n");
  const auto before = folder.names();
  const auto error = [&](const std::string& corpus, const std::vector<std::string>& more,
                         const std::string& text) {
    std::vector<std::string> words = small(corpus, "run", more);
    words.emplace_back("--quiet");
    expect_user_error(folder.run(words), text);
  };
  error("empty.txt", {}, "empty.txt: found no words");
  error("blank.txt", {}, "blank.txt: found no words");
  error("missing.txt", {}, "cannot read missing.txt");
  error(".", {}, "it is a directory");
  error("nul.txt", {}, "nul.txt:2: found a NUL byte");
  error("marked.txt", {}, "marked.txt:1: found the word <s>");
  error("rare.txt", {}, "no word occurs 2 times or more; lower --min-count");
  error("good.txt", {"--valid", "empty.txt"}, "empty.txt: found no text");
  error("good.txt", {"--order", "1"}, "order = 1");
  error("good.txt", {"--order", "17"}, "order = 17");
  error("good.txt", {"--min-count", "0"}, "min-count = 0");
  error("good.txt", {"--hold-out", "0.7"}, "--hold-out is '0.7'");
  error("good.txt", {"--dimension", "0"}, "dimension = 0");
  error("good.txt", {"--dropout", "1"}, "dropout = 1");
  error("good.txt", {"--objective", "constraint"}, "constraint");
  error("good.txt", {"--embeddings", "missing.vec"}, "missing.vec");
  expect_user_error(folder.run({"train", "lm"}), "train lm needs CORPUS");
  expect_user_error(folder.run_on("", {"train", "lm", "-"}), "standard input: found no words");
  EXPECT_EQ(folder.names(), before);
}

// More than the process may have: refused before anything is made.
TEST(TrainLm, RefusesWhatMemoryCannotHold) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers map more addresses than the limit of this test leaves";
#endif
#endif
  const Folder folder;
  folder.generate_text();
  const std::string command =
      "cd " + folder.path() + " && ulimit -v 1500000 && " + SELFNORM_PROGRAM +
      " train lm data.txt --quiet --order 16 --dimension 4096 --hidden 4096 --out run 2> err";
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_NE(content(folder / "err").find("not enough memory: 14 classes and 15 inputs"), std::string::npos)
      << content(folder / "err");
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// The last good parameters are kept, and the run says what to change.
TEST(TrainLm, DivergenceKeepsAGoodModel) {
  const Folder folder;
  folder.generate_text();
  const Outcome trained = folder.run(
      small("data.txt", "run", {"--learning-rate", "1e30", "--schedule", "constant", "--hidden", "0"}));
  ASSERT_EQ(trained.code, 3) << trained.err;
  EXPECT_NE(trained.err.find("training diverged"), std::string::npos) << trained.err;
  const auto json = folder.run({"evaluate", "run", "data.txt", "--json"}).json();
  EXPECT_TRUE(std::isfinite(json["nll_exact"].get<double>()));
}

TEST(TrainLm, RunsOfOneCommandAreNotResumedByTheOther) {
  const Folder folder;
  folder.generate_text();
  ASSERT_EQ(folder.run(small("data.txt", "run", {"--quiet"})).code, 0);
  expect_user_error(folder.run({"train", "classifier", "--resume", "--out", "run"}),
                    "run is a run of 'selfnorm train lm'");
}

}  // namespace
}  // namespace selfnorm::cli
