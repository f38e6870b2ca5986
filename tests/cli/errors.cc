// Mistakes a user can make: each is exit 1 with one line on stderr, and nothing new in the folder.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>

#include "cli/program.h"
#include "source_dir.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

struct Mistake {
  std::string name;
  std::vector<std::string> words;
  std::string text;  // expected on stderr

  friend void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }
};

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, OneLineAndNothingLeftBehind) {
  const Folder folder;
  folder.generate("data.svm", 60, 3);
  folder.write("empty.svm", "");
  folder.write("comments.svm", "# nothing here\n\n");
  folder.write("bad.svm", "a 1:1\nb 2:1\na 2:1 1:1\n");
  folder.write("nan.svm", "a 1:1\nb 2:nan\n");
  folder.write("zero.svm", "a 1:1\nb 0:1\n");
  folder.write("one.svm", "a 1:1\na 2:1\na 1:2\n");
  folder.write("unseen.svm", "0 1:1\n9 1:1\n");
  folder.write("groups.svm", "1 qid:1 1:1\n0 qid:1 2:1\n0 qid:2 1:1\n1 qid:2 2:1\n");
  folder.write("wide.svm", "0 1:1\n1 31:1\n");
  folder.write("ragged.csv", "x,y,label\n1,2,a\n1,b\n");
  folder.write("broken.gz", std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b", 11));
  folder.write("model.safetensors", "not a model");
  folder.write("a-file", "");
  folder.write("huge.svm", "a 4000000000:1\nb 1:1\n");
  const std::string kept = SELFNORM_SOURCE_DIR "/fuzz/corpus/fuzz_model/";
  folder.write("hashed.safetensors", content(kept + "hashed-text-features.safetensors"));
  folder.write("nested.safetensors", content(kept + "nested-metadata.safetensors"));
  folder.write("typo.toml", "[train.classifier]\nalpa = 3\n");
  const auto before = folder.names();
  const Outcome outcome = folder.run(GetParam().words);
  expect_user_error(outcome, GetParam().text);
  EXPECT_EQ(folder.names(), before);
}

std::vector<std::string> train(const std::string& data, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"train", "classifier", data, "--quiet", "--out", "run/deep"});
  return more;
}

INSTANTIATE_TEST_SUITE_P(
    All, Mistakes,
    testing::Values(
        Mistake{"NoCommand", {}, "no command"}, Mistake{"UnknownCommand", {"trian"}, "did you mean 'train'"},
        Mistake{"HalfACommand", {"train"}, "classifier"},
        Mistake{"UnknownOption", train("data.svm", {"--aplha", "1"}), "did you mean '--alpha'"},
        Mistake{"NotANumber", train("data.svm", {"--alpha", "x"}), "--alpha"},
        Mistake{"NotFinite", train("data.svm", {"--alpha", "nan"}), "--alpha"},
        Mistake{"AlphaRange", train("data.svm", {"--alpha", "-1"}), "alpha"},
        Mistake{"DeltaRange", train("data.svm", {"--objective", "constraint", "--delta", "0"}), "delta"},
        Mistake{"GammaRange", train("data.svm", {"--objective", "sampled", "--gamma", "2"}), "gamma"},
        Mistake{"NoSamples", train("data.svm", {"--objective", "snl", "--samples", "0"}), "samples = 0"},
        Mistake{"NegativeSamples", train("data.svm", {"--objective", "nce", "--samples", "-1"}), "--samples"},
        Mistake{"UnknownNoise", train("data.svm", {"--objective", "nce", "--proposal", "zipf"}),
                "log-uniform"},
        Mistake{"NoisePowerRange", train("data.svm", {"--objective", "is", "--proposal-power", "2"}),
                "proposal-power = 2"},
        Mistake{"UnknownNormalizer", train("data.svm", {"--objective", "snl", "--normalizer", "one"}),
                "zero|constant"},
        Mistake{"NoiseWithFullPasses", train("data.svm", {"--objective", "snl", "--optimiser", "lbfgs"}),
                "--optimiser adagrad"},
        Mistake{"NoiseFromGroups", train("groups.svm", {"--objective", "snl", "--hold-out", "0"}),
                "groups of alternatives"},
        Mistake{"HoldOutRange", train("data.svm", {"--hold-out", "0.9"}), "--hold-out"},
        Mistake{"NegativeCount", train("data.svm", {"--epochs", "-3"}), "--epochs"},
        Mistake{"ZeroSteps", train("data.svm", {"--steps", "0"}), "--steps = 0"},
        Mistake{"ThreadsRange", train("data.svm", {"--threads", "-2"}), "--threads"},
        Mistake{"UnknownChoice", train("data.svm", {"--objective", "likelihood"}), "--objective"},
        Mistake{"UnknownConfigKey", train("data.svm", {"--config", "typo.toml"}), "did you mean 'alpha'"},
        Mistake{"NoConfigFile", train("data.svm", {"--config", "no.toml"}), "no.toml"},
        Mistake{"ConfigIsADirectory", train("data.svm", {"--config", "."}), "config file ."},
        Mistake{"SeedRange", train("data.svm", {"--seed", "99999999999999999999"}), "18446744073709551615"},
        Mistake{"HistoryRange", train("data.svm", {"--history", "-99999999999"}), "--history"},
        Mistake{"TargetOfSvmlight", train("data.svm", {"--target", "1"}), "--target"},
        Mistake{"LabelsOfSvmlight", train("data.svm", {"--labels", "a-file"}), "--labels"},
        Mistake{"ValidLabelsAlone", train("data.svm", {"--valid-labels", "a-file"}), "--valid"},
        Mistake{"MoreWeightsThanMemory", train("huge.svm"), "not enough memory: 2 classes x 4,000,000,000"},
        Mistake{"MoreRowsThanMemory",
                {"data", "generate", "--rows", "99999999999999", "--out", "x.svm"},
                "not enough memory"},
        Mistake{"GenerateGzip", {"data", "generate", "--out", "x.gz"}, ".gz"},
        Mistake{"GenerateToStandardOutput", {"data", "generate", "--out", "-"}, "standard output"},
        Mistake{"StandardInputTwice", {"evaluate", kTruth, kTruth, "-"}, "only once"},
        Mistake{
            "NestedMetadata", {"info", "nested.safetensors"}, "nested.safetensors: metadata \"training\""},
        Mistake{"NestedMetadataAsJson", {"info", "nested.safetensors", "--json"}, "nested more than 64"},
        Mistake{"TextOptions", {"evaluate", "hashed.safetensors", "data.svm"}, "the model has 64"},
        Mistake{"TextOptionsOfScore", {"score", "hashed.safetensors", "data.svm"}, "the model has 64"},
        Mistake{"TextOptionsOfInfo", {"info", "hashed.safetensors"}, "the model has 64"},
        Mistake{"NoTrainingFile", train("no.svm"), "no.svm"},
        Mistake{"NoTrain", {"train", "classifier"}, "TRAIN"},
        Mistake{"NoValidationFile", train("data.svm", {"--valid", "no.svm"}), "no.svm"},
        Mistake{"Unsorted", train("bad.svm"), "bad.svm:3:"},
        Mistake{"TooManyBad", train("nan.svm", {"--skip-bad", "0"}), "nan.svm:2:"},
        Mistake{"ZeroIndex", train("zero.svm"), "zero.svm:2:"},
        Mistake{"Empty", train("empty.svm"), "empty.svm"},
        Mistake{"ZeroRows", train("comments.svm"), "comments.svm"},
        Mistake{"OneClass", train("one.svm"), "class"},
        Mistake{"Ragged", train("ragged.csv"), "ragged.csv:3:"},
        Mistake{"TruncatedGzip", train("broken.gz"), "broken.gz"},
        Mistake{"OutIsAFile", {"train", "classifier", "data.svm", "--quiet", "--out", "a-file"}, "a-file"},
        Mistake{
            "OutBelowAFile", {"train", "classifier", "data.svm", "--quiet", "--out", "a-file/run"}, "a-file"},
        Mistake{"OutReadOnly",
                {"train", "classifier", "data.svm", "--quiet", "--out", "/proc/selfnorm"},
                "/proc"},
        Mistake{"ResumeNothing", {"train", "classifier", "--resume", "--out", "nowhere"}, "nowhere"},
        Mistake{"NoModel", {"evaluate", "none.safetensors", "data.svm"}, "none.safetensors"},
        Mistake{"NotAModel", {"evaluate", "model.safetensors", "data.svm", "--json"}, "model.safetensors"},
        Mistake{"InfoNotAModel", {"info", "model.safetensors"}, "model.safetensors"},
        Mistake{"MissingData", {"evaluate", kTruth}, "required"},
        Mistake{"UnseenLabel", {"score", kTruth, "unseen.svm"}, "unseen.svm:2:"},
        Mistake{"FeatureBeyondModel", {"evaluate", kTruth, "wide.svm"}, "wide.svm:2:"},
        Mistake{"ScoreFeatureBeyondModel", {"score", kTruth, "wide.svm", "--top", "1"}, "wide.svm:2:"},
        Mistake{
            "TwoSelections", {"score", kTruth, "data.svm", "--top", "1", "--candidates", "0"}, "only one"},
        Mistake{"OpenQuote", {"score", kTruth, "data.svm", "--candidates", "\"a"}, "quote"},
        Mistake{"GenerateNowhere", {"data", "generate"}, "--out"},
        Mistake{"GenerateRange", {"data", "generate", "--density", "2", "--out", "x.svm"}, "density"},
        Mistake{"GenerateBadFolder", {"data", "generate", "--out", "none/x.svm"}, "none/x.svm"},
        Mistake{"GenerateBadTruth", {"data", "generate", "--out", "x.svm", "--truth", "none/t"}, "none/t"},
        Mistake{"UnknownShell", {"completions", "csh"}, "csh"}),
    [](const auto& test) { return test.param.name; });

TEST(Errors, NoControlBytesReachTheTerminal) {
  const Folder folder;
  folder.write("c.toml", "objective = \"\x1b[2J\"\n");
  folder.write("data.svm", "a 1:1\nb 2:1\n");
  const Outcome outcome = folder.run({"train", "classifier", "data.svm", "--config", "c.toml"});
  expect_user_error(outcome, "?[2J");
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
}

TEST(Errors, DivergenceToFiniteNumbersIsDivergence) {
  const Folder folder;
  folder.generate("data.svm", 600);
  const Outcome outcome = folder.run({"train", "classifier", "data.svm", "--optimiser", "adagrad",
                                      "--learning-rate", "1e8", "--out", "run"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("training diverged: on held-out data"), std::string::npos) << outcome.err;
}

TEST(Errors, BadRowsAreSkippedOnRequest) {
  const Folder folder;
  folder.write("bad.svm", "a 1:1\nb 2:1\na 2:1 1:1\nb 2:2\na 1:2\n");
  const Outcome outcome = folder.run({"train", "classifier", "bad.svm", "--skip-bad", "1", "--out", "run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("1 bad rows skipped"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("bad.svm:3: skipped"), std::string::npos) << outcome.err;
}

TEST(Errors, AFinishedRunIsNotOverwrittenUnasked) {
  const Folder folder;
  folder.generate("data.svm", 60, 3);
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run"}).code, 0);
  const std::string model = content(folder / "run/model.safetensors");
  expect_user_error(
      folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run", "--objective", "exact"}),
      "--overwrite");
  EXPECT_EQ(content(folder / "run/model.safetensors"), model);
  expect_user_error(folder.run({"train", "classifier", "no.svm", "--quiet", "--out", "run", "--overwrite"}),
                    "no.svm");
  EXPECT_EQ(content(folder / "run/model.safetensors"), model);
  folder.write("one.svm", "a 1:1\na 2:1\na 1:2\n");
  expect_user_error(folder.run({"train", "classifier", "one.svm", "--quiet", "--out", "run", "--overwrite"}),
                    "class");
  EXPECT_EQ(content(folder / "run/model.safetensors"), model);
  EXPECT_EQ(folder
                .run({"train", "classifier", "data.svm", "--quiet", "--out", "run", "--objective", "exact",
                      "--overwrite"})
                .code,
            0);
  EXPECT_NE(content(folder / "run/model.safetensors"), model);
}

TEST(Errors, FullDisk) {
  const Folder folder;
  folder.generate("data.svm", 400, 40);
  fs::create_directory(folder / "small");
  if (mount("none", (folder / "small").c_str(), "tmpfs", 0, "size=4k") != 0) {
    GTEST_SKIP() << "cannot mount a small file system here";
  }
  const Outcome outcome = folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "small/run"});
  const bool is_empty = fs::is_empty(folder / "small");
  const Outcome forced =
      folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "small/run", "--force"});
  umount((folder / "small").c_str());
  expect_user_error(outcome, "not enough disk space for small/run");
  EXPECT_TRUE(is_empty);
  EXPECT_EQ(forced.code, 1);  // after warnings
  EXPECT_NE(forced.err.find("selfnorm: error: cannot write small/run/"), std::string::npos) << forced.err;
}

}  // namespace
}  // namespace selfnorm::cli
