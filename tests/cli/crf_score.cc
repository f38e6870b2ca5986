// Exact log-probabilities of labellings: what `tag` says of the best one, `score` says of the same labels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cli/sentence_data.h"
#include "math/random.h"

namespace selfnorm::cli {
namespace {

TEST(CrfScore, ExactIsAtMostZeroAndThatOfTag) {
  const Folder folder;
  folder.write("data.crfsuite", "A\ta:1\tc\nB\tb:1\tc\nA\ta\n\nB\tb:0.7\nA\ta:0.3\tc\n\n");
  const Outcome trained =
      folder.run(train_crf("data.crfsuite", "run", {"--steps", "20", "--format", "attributes"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  for (const std::string size : {"1e3", "12345.678", "1e5", "98765.4", "3e6"}) {
    const std::string large = ":" + size;
    const std::string words =
        "?\ta" + large + "\tb:0.37\tc:0.11\n?\tb" + large + "\ta:0.77\n?\tc" + large + "\ta:0.3\n";
    const auto tagged = folder.run_on(words, {"tag", "run", "--score", "exact", "--json"});
    ASSERT_EQ(tagged.code, 0) << tagged.err;
    const auto best = tagged.json()["sentences"][0]["labellings"][0];
    std::string labelled = words;
    for (const auto& label : best["labels"])
      labelled.replace(labelled.find('?'), 1, label.get<std::string>());
    const auto scored = folder.run_on(labelled, {"score", "run", "--exact", "--json"});
    ASSERT_EQ(scored.code, 0) << scored.err;
    const double log_prob = scored.json()["sentences"][0]["log_prob"].get<double>();
    EXPECT_LE(log_prob, 0) << size;
    EXPECT_EQ(log_prob, best["log_prob"].get<double>()) << size;
  }
}

// What is served is the cheapest rung that is certified for --within; its difference from exact is the log Z
// that the certificate is about.
TEST(CrfScore, WithinTakesACertifiedRung) {
  const Folder folder;
  folder.write("train.conll", sentences_text(100));
  folder.write("valid.conll", sentences_text(1500, 2));
  folder.write("test.conll", sentences_text(300, 3));
  const Outcome trained =
      folder.run({"train", "crf", "train.conll", "--valid", "valid.conll", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("certified: raw within "), std::string::npos) << trained.out;
  const auto rungs = folder.run({"info", "run", "--json"}).json()["audit"]["ladder"]["rungs"];
  ASSERT_EQ(rungs.size(), 2u);
  const double raw = rungs[0]["eps"].get<double>();
  const auto scored = [&folder](std::vector<std::string> more) {
    more.insert(more.begin(), {"score", "run", "test.conll", "--json", "--quiet"});
    return folder.run(more).json();
  };
  const auto exact = scored({});
  EXPECT_EQ(exact["kind"], "exact");
  EXPECT_FALSE(exact.contains("eps"));
  const auto served = scored({"--within", fmt::format("{}", 1.01 * raw)});
  EXPECT_EQ(served["kind"], "raw");
  EXPECT_EQ(served["eps"], raw);
  uint64_t exceed = 0;
  for (size_t i = 0; i < exact["sentences"].size(); ++i)
    exceed += std::abs(exact["sentences"][i]["log_prob"].get<double>() -
                       served["sentences"][i]["log_prob"].get<double>()) > raw;
  EXPECT_LE(exceed, 12u);  // of 300, where at most 1% are promised
  const auto level = scored({"--rung", "level"});
  EXPECT_EQ(level["kind"], "linear");
  EXPECT_EQ(level["rung"], "level");
  expect_user_error(folder.run({"score", "run", "test.conll", "--rung", "nearest"}),
                    "expected one of raw, level, exact");
  expect_user_error(folder.run({"score", "run", "test.conll", "--raw", "--exact"}), "only one of");
  expect_user_error(folder.run({"score", "run", "test.conll", "--amortised"}), "has no b(x)");
}

// A cycle of 120 labels with leaps, and words that three labels share.
std::string cyclic_sentences(int sentences, uint64_t seed) {
  constexpr int kCycle = 120;
  RandomStream random(seed);
  std::string out;
  for (int i = 0; i < sentences; ++i) {
    auto label = static_cast<int>(random.below(kCycle));
    for (int t = 0; t < 8; ++t) {
      out += fmt::format("w{}\tL{}\n", (label + 40 * static_cast<int>(random.below(2))) % kCycle, label);
      label = random.uniform() < 0.8 ? (label + 1) % kCycle : static_cast<int>(random.below(kCycle));
    }
    out += "\n";
  }
  return out;
}

// Without a word from the user: within what is certified of exact scores, and never above 0.
TEST(CrfScore, ManyLabelsAreServedByTheNearest) {
  const Folder folder;
  folder.write("train.txt", cyclic_sentences(400, 1));
  folder.write("valid.txt", cyclic_sentences(1300, 2));
  folder.write("test.txt", cyclic_sentences(300, 3));
  const Outcome trained = folder.run({"train", "crf", "train.txt", "--valid", "valid.txt", "--optimiser",
                                      "lbfgs", "--steps", "25", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("'score' gives those of nearest-"), std::string::npos) << trained.out;
  const auto scored = [&folder](std::vector<std::string> more) {
    more.insert(more.begin(), {"score", "run", "test.txt", "--json", "--quiet"});
    return folder.run(more).json();
  };
  const auto served = scored({}), exact = scored({"--exact"});
  EXPECT_EQ(served["kind"], "nearest");
  const double eps = served["eps"].get<double>();
  EXPECT_LE(eps, 0.1);
  uint64_t exceed = 0;
  for (size_t i = 0; i < exact["sentences"].size(); ++i) {
    const double a = served["sentences"][i]["log_prob"].get<double>();
    EXPECT_LE(a, 0);
    exceed += std::abs(exact["sentences"][i]["log_prob"].get<double>() - a) > eps ? 1 : 0;
  }
  EXPECT_LE(exceed, 12u);  // of 300, where at most 1% are promised
  const std::string rung = served["rung"];
  EXPECT_EQ(scored({"--rung", rung})["sentences"], served["sentences"]);
  // The certificates still hold on 200 such sentences, not where one word follows itself.
  const Outcome holds = folder.run({"audit", "run", "test.txt", "--sample", "200", "--json", "--no-report"});
  EXPECT_EQ(holds.code, 0) << holds.err;
  EXPECT_EQ(holds.json()["n"], 200);
  EXPECT_EQ(holds.json()["ladder"].size(),
            folder.run({"info", "run", "--json"}).json()["audit"]["ladder"]["rungs"].size());
  std::string other;
  for (int t = 0; t < 8 * 300; ++t)
    other += t % 8 == 7 ? "w0\tL0\n\n" : "w0\tL0\n";  // no label follows itself
  folder.write("other.txt", other);
  const Outcome drifted = folder.run({"audit", "run", "other.txt", "--sample", "200", "--no-report"});
  EXPECT_EQ(drifted.code, 3) << drifted.out;
  EXPECT_NE(drifted.out.find("NO LONGER HOLDS"), std::string::npos) << drifted.out;
  EXPECT_NE(folder.run({"evaluate", "run", "test.txt", "--timing"}).out.find("run " + rung),
            std::string::npos);
}

// Seven rungs are certified together, of which an undecided model does not keep the dear ones.
TEST(CrfScore, TooFewSentencesSayHowManyWouldDo) {
  const Folder folder;
  folder.write("train.txt", cyclic_sentences(400, 1));
  folder.write("valid.txt", cyclic_sentences(300, 2));
  const Outcome trained = folder.run({"train", "crf", "train.txt", "--valid", "valid.txt", "--optimiser",
                                      "lbfgs", "--steps", "1", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_LT(folder.run({"info", "run", "--json"}).json()["audit"]["ladder"]["rungs"].size(), 7u);
  EXPECT_NE(trained.out.find("too few held-out inputs; 752 in all would do"), std::string::npos)
      << trained.out;
}

// Neither by training with its own data as --valid, nor by normalising on them.
TEST(CrfScore, SentencesOfTrainingCertifyNothing) {
  const Folder folder;
  folder.write("train.conll", sentences_text(1500));
  const Outcome trained = folder.run(
      {"train", "crf", "train.conll", "--valid", "train.conll", "--iterations", "3", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("certified: nothing: the model was trained on these sentences"),
            std::string::npos)
      << trained.out;
  const Outcome normalized = folder.run({"normalize", "run", "-o", "out.safetensors"});
  ASSERT_EQ(normalized.code, 0) << normalized.err;
  EXPECT_NE(normalized.err.find("nothing is certified"), std::string::npos) << normalized.err;
  for (const char* model : {"run", "out.safetensors"}) {
    const auto rungs = folder.run({"info", model, "--json"}).json()["audit"]["ladder"]["rungs"];
    EXPECT_EQ(rungs.size(), 2u);
    for (const auto& rung : rungs) EXPECT_FALSE(rung.contains("eps")) << rung;
    EXPECT_EQ(
        folder.run({"score", model, "train.conll", "--within", "1000", "--json", "--quiet"}).json()["kind"],
        "exact");
  }
}

}  // namespace
}  // namespace selfnorm::cli
