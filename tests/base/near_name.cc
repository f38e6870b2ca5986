#include "base/near_name.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "scratch.h"

namespace selfnorm {
namespace {

TEST(NearName, IsTheOneOfTheLeastEditDistance) {
  EXPECT_EQ(nearest("trian", {"score", "train", "brain"}), "train");
  EXPECT_EQ(nearest("--aplha", {"--alpha", "--delta"}), "--alpha");
  EXPECT_EQ(nearest("ab", {"ba", "abc"}), "abc");  // distance 1, where a swap is 2
  EXPECT_EQ(nearest("evaluate", {"score", "train"}), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(NearName, OfAFileThatIsNotThere) {
  const Scratch scratch;
  scratch.file("train.csv", "x\n");
  EXPECT_EQ(missing_text(scratch.path("trian.csv")),
            "there is no such file; did you mean " + scratch.path("train.csv") + "?");
  EXPECT_EQ(missing_text(scratch.path("evaluation.svm")),
            "there is no such file; give the path of one that exists");
  EXPECT_EQ(missing_text(scratch.path("none/x.csv")),
            "there is no folder " + scratch.path("none") + "; give the path of a file that exists");
  EXPECT_NE(
      missing_text("none/x.csv").find("; the current folder is " + std::filesystem::current_path().string()),
      std::string::npos);
}

}  // namespace
}  // namespace selfnorm
