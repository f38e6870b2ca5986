// What `train density` refuses, and that it leaves nothing behind.
#include <gtest/gtest.h>

#include "density_data.h"

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
  error({"--objective", "is", "--normalizer", "zero"}, "--normalizer belongs to --objective snl, nce");
  error({"--objective", "dsm", "--no-calibrate"}, "--no-calibrate belongs to");
  error({"--normalizer", "zero", "--normalizer-rate", "3"},
        "--normalizer-rate belongs to --normalizer learned");
  error({"--objective", "nce", "--drift", "3"}, "--drift belongs to --objective snl");
  error({"--energy", "gaussian", "--residual"},
        "--residual belongs to --energy mlp, found --energy gaussian");
  error({"--fourier", "0", "--fourier-scale", "9"}, "--fourier-scale belongs to Fourier features");
  error({"--lower", "0,0", "--upper", "9,9"}, "--lower belongs to --energy truncated-gaussian");
  error({"--proposal", "gaussian", "--defensive", "0.1"}, "--defensive belongs to --proposal mixture");
  error({"--objective", "fit"}, "--steps belongs to energies that are trained");
  error({"--hold-out", "0.2", "--valid", "data.csv"}, "--hold-out");
  EXPECT_EQ(folder.names(), before);
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
  error("good.csv", {"--batch", "0"}, "batch = 0");
  error("good.csv", {"--learning-rate", "-1"}, "learning-rate = -1");
  error("good.csv", {"--samples", "0"}, "samples = 0");
  error("good.csv", {"--fourier", "many"}, "many");
  error("good.csv", {"--hold-out", "0.7"}, "--hold-out is '0.7'");
  error("good.csv", {"--energy", "truncated-gaussian", "--lower", "0,a", "--upper", "1,1"}, "--lower '0,a'");
  error("good.csv", {"--energy", "truncated-gaussian", "--lower", "0", "--upper", "1,1"}, "lower");
  error("good.csv", {"--checkpoint-seconds", "-1"}, "--checkpoint-seconds is -1");
  error("good.csv", {"--objective", "exact"}, "exact");
  expect_user_error(folder.run({"train", "density"}), "train density needs DATA");
  EXPECT_EQ(folder.names(), before);
}

}  // namespace
}  // namespace selfnorm::cli
