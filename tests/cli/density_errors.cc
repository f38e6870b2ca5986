// What `train density` refuses, and that it leaves nothing behind.
#include <gtest/gtest.h>

#include "cli/density_data.h"

namespace selfnorm::cli {
namespace {

TEST(DensityErrors, OptionsThatDoNothingAreRefused) {
  const Folder folder;
  write_lumps(folder);
  const auto before = folder.names();
  const auto error = [&](const std::vector<std::string>& more, const std::string& text) {
    std::vector<std::string> words = small_density("data.csv", "run", more);
    words.emplace_back("--quiet");
    expect_user_error(folder.run(words), text);
  };
  error({"--noise", "0.2"}, "--noise belongs to --objective dsm, found --objective snl");
  error({"--slices", "2", "--objective", "sm"}, "--slices belongs to --objective ssm");
  error({"--langevin-steps", "3"}, "--langevin-steps belongs to --objective cd, pcd");
  error({"--objective", "dsm", "--samples", "7"}, "--samples belongs to");
  error({"--objective", "cd", "--samples", "7"}, "--samples belongs to --objective snl, is, nce");
  error({"--objective", "pcd", "--langevin-step", "0.2", "--space", "binary"},
        "--langevin-step belongs to real data, found --space binary");
  error({"--objective", "pcd", "--langevin-step", "0.2", "--energy", "ising"},
        "--langevin-step belongs to real data, found --energy ising");
  error({"--no-standardise", "--space", "counts"}, "--no-standardise belongs to real data");
  error({"--no-standardise", "--energy", "gamma"}, "found --energy gamma");
  error({"--fourier-scale", "9", "--space", "categorical"}, "--fourier-scale belongs to Fourier features");
  error({"--objective", "is", "--normalizer", "zero"}, "--normalizer belongs to --objective snl, nce");
  error({"--objective", "dsm", "--no-calibrate"}, "--no-calibrate belongs to");
  error({"--normalizer", "zero", "--normalizer-rate", "3"},
        "--normalizer-rate belongs to --normalizer constant");
  error({"--objective", "nce", "--drift", "3"}, "--drift belongs to --objective snl");
  error({"--energy", "gaussian", "--residual"},
        "--residual belongs to --energy mlp, found --energy gaussian");
  error({"--fourier", "0", "--fourier-scale", "9"}, "--fourier-scale belongs to Fourier features");
  error({"--energy", "exponential", "--lower", "0,0", "--upper", "9,9"}, "--lower belongs to --energy mlp");
  error({"--proposal", "gaussian", "--defensive", "0.1"}, "--defensive belongs to --proposal mixture");
  error({"--objective", "fit"}, "--steps belongs to energies that are trained");
  error({"--hold-out", "0.2", "--valid", "data.csv"}, "--hold-out");
  EXPECT_EQ(folder.names(), before);
}

// Nothing that belongs to minibatches applies to a family that is fitted at once.
TEST(DensityErrors, FamiliesFittedAtOnceTakeNoSteps) {
  const Folder folder;
  write_lumps(folder, "data.csv", 50);
  const auto before = folder.names();
  const auto words = [](const std::vector<std::string>& more) {
    std::vector<std::string> all{"train",    "density", "data.csv", "--energy",
                                 "gaussian", "--quiet", "--out",    "run"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::vector<std::vector<std::string>> options{{"--steps", "9"},
                                                      {"--batch", "9"},
                                                      {"--learning-rate", "0.5"},
                                                      {"--schedule", "linear"},
                                                      {"--clip", "3"},
                                                      {"--patience", "3"},
                                                      {"--samples", "99"},
                                                      {"--normalizer-rate", "2"},
                                                      {"--normalizer-steps", "2"},
                                                      {"--drift", "2"},
                                                      {"--no-calibrate"},
                                                      {"--checkpoint-seconds", "2"}};
  for (const auto& option : options)
    expect_user_error(folder.run(words(option)),
                      option[0] + " belongs to --optimiser adam, found --optimiser auto");
  EXPECT_EQ(folder.names(), before);
  // Minibatches are asked for in so many words, or by what has no such fit.
  EXPECT_EQ(folder.run(words({"--steps", "9", "--optimiser", "adam"})).code, 0);
  EXPECT_EQ(folder.run(words({"--steps", "9", "--objective", "nce", "--overwrite"})).code, 0);
}

TEST(DensityErrors, OptionsThatTheDataLeaveIdleAreNamed) {
  const Folder folder;
  write_bits(folder);
  const auto expect_warning = [&](const std::vector<std::string>& more, const std::string& text) {
    std::vector<std::string> words = small_density("bits.csv", "run", {"--overwrite", "--energy", "mlp:8"});
    words.insert(words.end(), more.begin(), more.end());
    const Outcome trained = folder.run(words);
    EXPECT_EQ(trained.code, 0) << trained.err;
    EXPECT_NE(trained.err.find("warning: " + text), std::string::npos) << trained.err;
  };
  expect_warning({"--objective", "pcd", "--langevin-steps", "1", "--langevin-step", "0.2"},
                 "--langevin-step did nothing");
  expect_warning({"--no-standardise"}, "--no-standardise did nothing");
  expect_warning({"--fourier-scale", "2.5"}, "--fourier-scale did nothing");
  expect_warning({"--fourier-scale", "2.5", "--space", "real"},
                 "--fourier-scale did nothing");  // four columns
}

TEST(DensityErrors, BadInputSaysWhereAndLeavesNothing) {
  const Folder folder;
  write_lumps(folder, "good.csv", 50);
  folder.write("empty.csv", "");
  folder.write("words.csv", "x,y\n1,2\n3,four\n");
  folder.write("ragged.csv", "x,y\n1,2\n3\n");
  folder.write("nan.csv", "x,y\n1,2\n3,nan\n");
  folder.write("one.csv", "x,y\n1,2\n");
  folder.write("narrow.csv", "x\n1\n2\n");
  const auto before = folder.names();
  const auto error = [&](const std::string& data, const std::vector<std::string>& more,
                         const std::string& text) {
    std::vector<std::string> words = small_density(data, "run", more);
    words.emplace_back("--quiet");
    expect_user_error(folder.run(words), text);
  };
  error("missing.csv", {}, "missing.csv");
  error("empty.csv", {}, "empty.csv");
  error(".", {}, "directory");
  error("words.csv", {}, "words.csv:3");
  error("ragged.csv", {}, "ragged.csv:3");
  error("nan.csv", {}, "nan.csv:3");
  error("one.csv", {}, "at least 2");
  error("good.csv", {"--valid", "narrow.csv"}, "narrow.csv");
  error("good.csv", {"--drop", "q"}, "q");
  error("good.csv", {"--drop", "x,y"}, "good.csv");
  error("good.csv", {"--energy", "mpl"}, "mpl");
  error("good.csv", {"--energy", "mlp:0"}, "0");
  error("good.csv", {"--energy", "missing.pt"}, "missing.pt");
  error("good.csv", {"--proposal", "mixtur"}, "mixtur");
  error("good.csv", {"--proposal", "mixture:0"}, "0");
  error("good.csv", {"--objective", "pseudo-likelihood"}, "binary");
  error("good.csv", {"--space", "binary"}, "--space binary");
  error("good.csv", {"--steps", "0"}, "steps = 0");
  error("good.csv", {"--learning-rate", "-1"}, "learning-rate = -1");
  error("good.csv", {"--samples", "0"}, "samples = 0");
  error("good.csv", {"--fourier", "many"}, "many");
  error("good.csv", {"--hold-out", "0.7"}, "--hold-out is '0.7'");
  error("good.csv", {"--energy", "truncated-gaussian", "--lower", "0,a", "--upper", "1,1"}, "--lower '0,a'");
  error("good.csv", {"--energy", "truncated-gaussian", "--lower", "0,nan", "--upper", "1,1"}, "found 'nan'");
  error("good.csv", {"--energy", "family:x,x2", "--lower", "0,inf", "--upper", "1,inf"}, "below upper");
  error("good.csv", {"--energy", "truncated-gaussian", "--lower", "0", "--upper", "1,1"}, "lower");
  error("good.csv", {"--checkpoint-seconds", "-1"}, "--checkpoint-seconds is -1");
  error("good.csv", {"--objective", "exact"}, "exact");
  expect_user_error(folder.run({"train", "density"}), "train density needs DATA");
  EXPECT_EQ(folder.names(), before);
}

TEST(DensityErrors, OtherColumnsThanThoseOfTheModelAreNamed) {
  const Folder folder;
  write_lumps(folder, "data.csv", 60);
  ASSERT_EQ(folder
                .run({"train", "density", "data.csv", "--objective", "fit", "--proposal", "gaussian", "--out",
                      "run", "--no-report"})
                .code,
            0);
  folder.write("comma.tsv", "x\ty\n1,5\t10\n2,5\t11\n");
  folder.write("missing.csv", "x\n1\n2\n");
  folder.write("swapped.csv", "y,x\n10,3\n9,-3\n");
  folder.write("right.csv", "x,y\n3,10\n-3,9\n");
  for (const char* command : {"score", "predict", "evaluate"}) {
    const Outcome comma = folder.run({command, "run", "comma.tsv"});
    expect_user_error(comma,
                      "column 'x' has numbers with decimal commas, such as '1,5': they are read by "
                      "--decimal-comma");
    EXPECT_EQ(comma.err.find("--categorical"), std::string::npos) << comma.err;
    expect_user_error(folder.run({command, "run", "missing.csv"}),
                      "found no column 'y', which the model has");
  }
  EXPECT_EQ(folder.run({"score", "run", "swapped.csv"}).out, folder.run({"score", "run", "right.csv"}).out);
  EXPECT_EQ(folder.run({"score", "run", "comma.tsv", "--decimal-comma"}).code, 0);
}

}  // namespace
}  // namespace selfnorm::cli
