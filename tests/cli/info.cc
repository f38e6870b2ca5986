// 'info --verify', and what the other commands do with damaged models and checkpoints.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/head.h"
#include "cli/program.h"
#include "cli/trained_crf.h"
#include "damage.h"

namespace selfnorm::cli {
namespace {

constexpr const char* kDiffers = "the checksum does not match";

void expect_verified(const Folder& folder, const std::string& model) {
  const Outcome good = folder.run({"info", model, "--verify", "--json"});
  ASSERT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.json()["checksum"], "matches");
  EXPECT_NE(folder.run({"info", model, "--verify"}).out.find("matches"), std::string::npos);
}

// With one bit of the last tensors flipped.
void damage(const std::string& path) {
  const std::string bytes = content(path);
  std::ofstream(path, std::ios::binary) << test::flipped(bytes, 8 * bytes.size() - 9);
}

TEST(Verify, AClassifier) {
  const Folder folder;
  folder.generate();
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run"}).code, 0);
  expect_verified(folder, "run");
  EXPECT_FALSE(folder.run({"info", "run", "--json"}).json().contains("checksum"));
  damage(folder / "run/model.safetensors");
  expect_user_error(folder.run({"info", "run", "--verify"}), kDiffers);
  for (const char* command : {"score", "evaluate", "audit"})
    expect_user_error(folder.run({command, "run", "data.svm", "--quiet"}), kDiffers);
}

TEST(Verify, ACrf) {
  const Trained folder;
  expect_verified(folder, "run");
  damage(folder / "run/model.safetensors");
  expect_user_error(folder.run({"info", "run", "--verify"}), kDiffers);
  for (const char* command : {"score", "evaluate", "tag"})
    expect_user_error(folder.run({command, "run", "test.conll", "--quiet"}), "run/model.safetensors: ");
}

TEST(Verify, AHeadOfSomebodyElseAndTheSameNormalised) {
  const Folder folder;
  std::string others(
      R"({"__metadata__":{"format":"pt"},"weight":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]}})");
  others =
      std::string({static_cast<char>(others.size()), 0, 0, 0, 0, 0, 0, 0}) + others + std::string(12, '\0');
  folder.write("others.safetensors", others);
  const Outcome outcome = folder.run({"info", "others.safetensors", "--verify", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["checksum"], "none");

  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 200, false);
  ASSERT_EQ(
      folder.run({"normalize", "head.safetensors", "--states", "h.safetensors", "--out", "n.safetensors"})
          .code,
      0);
  expect_verified(folder, "n.safetensors");
  damage(folder / "n.safetensors");
  expect_user_error(folder.run({"info", "n.safetensors", "--verify"}), kDiffers);
  expect_user_error(folder.run({"audit", "n.safetensors", "h.safetensors", "--quiet"}), kDiffers);
}

TEST(Verify, ACheckpoint) {
  const Folder folder;
  folder.generate();
  const auto resumed = [&folder] {
    return folder.run({"train", "classifier", "--resume", "--out", "run", "--quiet"});
  };
  const std::string checkpoint = folder / "run/checkpoint.safetensors";
  folder.run({"train", "classifier", "data.svm", "--quiet", "--out", "run", "--checkpoint-seconds", "0",
              "--optimiser", "adam", "--epochs", "100000", "--patience", "0"},
             [&](pid_t child) {
               for (int i = 0; i < 20000 && !std::filesystem::exists(checkpoint); ++i) usleep(1000);
               kill(child, SIGKILL);
             });
  damage(checkpoint);
  expect_user_error(resumed(), "start again without --resume");
  expect_user_error(resumed(), kDiffers);
}

}  // namespace
}  // namespace selfnorm::cli
