// A family and an objective that a program brings itself (die.cc) go through every command, without an edit
// elsewhere.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

const std::vector<std::string> kTrain{"train", "die",      "rolls.txt", "--objective", "quartic", "--alpha",
                                      "1",     "--epochs", "5000",      "--quiet",     "--out"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ToyFamily, GoesThroughEveryCommand) {
  const Folder folder;
  folder.write("rolls.txt", "1\n6\n6\n6\n2\n3\n4\n5\n");
  const Outcome whole = folder.run(with(kTrain, {"whole"}));
  ASSERT_EQ(whole.code, 0) << whole.err;

  // Interrupted and resumed: the same bytes.
  const Outcome cut = folder.run(with(kTrain, {"cut", "--checkpoint-seconds", "0"}), [&](pid_t child) {
    for (int i = 0; i < 5000 && !std::filesystem::exists(folder / "cut/checkpoint.safetensors"); ++i)
      usleep(1000);
    kill(child, SIGINT);
  });
  ASSERT_EQ(cut.code, 130) << cut.err;
  const Outcome resumed =
      folder.run({"train", "die", "--resume", "--out", "cut", "--checkpoint-seconds", "9"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(content(folder / "whole/model.safetensors"), content(folder / "cut/model.safetensors"));

  // Three sixes of eight rolls; the penalty has drawn log Z to 0.
  const nlohmann::json found = folder.run({"evaluate", "whole", "rolls.txt", "--json"}).json();
  EXPECT_NEAR(found["nll_exact"], -(3 * std::log(3.0 / 8) + 5 * std::log(1.0 / 8)) / 8, 1e-3);
  EXPECT_NEAR(found["log_z"], 0, 0.05);
  folder.write("one.txt", "1\n");
  const Outcome score = folder.run({"score", "whole", "one.txt"});
  EXPECT_EQ(score.code, 0) << score.err;
  EXPECT_NEAR(score.json()["log_prob"], std::log(1.0 / 8), 1e-2);
  const Outcome audit = folder.run({"audit", "whole", "rolls.txt", "--json"});
  ASSERT_EQ(audit.code, 0) << audit.err;
  EXPECT_EQ(audit.json()["n"], 8);
  const Outcome report = folder.run({"report", "whole", "cut", "--out", "both.html"});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "both.html"));
  EXPECT_NE(content(folder / "whole/report.json").find("log Z"), std::string::npos);
  EXPECT_EQ(folder.run({"info", "whole", "--json"}).json()["family"], "die");

  // And is refused where it has no answer.
  expect_user_error(folder.run({"tag", "whole", "rolls.txt"}), "whole/model.safetensors is not a CRF");
  EXPECT_NE(folder.run({"train", "die", "--help"}).out.find("quartic: -log p + alpha A^4"),
            std::string::npos);
}

// A model that cannot be judged is not lost; one that diverged as well is said to have.
TEST(ToyFamily, AModelThatCannotBeEvaluatedIsSaved) {
  const Folder folder;
  folder.write("one.txt", "6\n");
  const std::vector<std::string> train{"train",   "die",      "one.txt", "--objective",
                                       "quartic", "--epochs", "5",       "--out"};
  expect_user_error(
      folder.run(with(train, {"run", "--quiet"})),
      "the model is trained and saved in run/model.safetensors, but could not be evaluated: found one");
  EXPECT_EQ(folder.run({"evaluate", "run", "one.txt", "--json"}).json()["n"], 1);
  EXPECT_NE(folder.run({"train", "die", "--resume", "--out", "run"}).err.find("complete"), std::string::npos);
  const Outcome diverged = folder.run(with(train, {"far", "--alpha", "1e300"}));
  EXPECT_EQ(diverged.code, 3) << diverged.err;
  EXPECT_NE(diverged.err.find("training diverged"), std::string::npos) << diverged.err;
  EXPECT_NE(diverged.out.find("not evaluated"), std::string::npos) << diverged.out;
}

}  // namespace
}  // namespace selfnorm::cli
