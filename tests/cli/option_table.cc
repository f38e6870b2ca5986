// What is generated from the option table: help, completions, the manual page, config files.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/program.h"
#include "source_dir.h"

namespace selfnorm::cli {
namespace {

TEST(OptionTable, HelpListsEveryCommand) {
  const Folder folder;
  const Outcome help = folder.run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.out, folder.run({"help"}).out);
  for (const char* command :
       {"train classifier", "train density", "train regressor", "train crf", "tag", "predict", "evaluate",
        "score", "sample", "info", "data generate", "completions", "man"}) {
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
  }
  const Outcome train = folder.run({"help", "train", "classifier"});
  EXPECT_EQ(train.code, 0);
  EXPECT_NE(train.out.find("--learn-centre"), std::string::npos);
  EXPECT_EQ(train.out, folder.run({"train", "classifier", "--help"}).out);
  EXPECT_EQ(folder.run({"--version"}).out.rfind("selfnorm 0.", 0), 0u);
}

TEST(OptionTable, CompletionsAndManualKnowEveryOption) {
  const Folder folder;
  const std::string man = folder.run({"man"}).out;
  EXPECT_EQ(man.rfind(".TH SELFNORM 1", 0), 0u);
  EXPECT_NE(man.find("\\fB\\-\\-learn\\-centre\\fR"), std::string::npos);
  EXPECT_NE(man.find("CONFIGURATION FILE"), std::string::npos);
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = folder.run({"completions", shell}).out;
    for (const char* word : {"learn-centre", "skip-bad", "classifier", "inverse-sqrt"}) {
      EXPECT_NE(script.find(word), std::string::npos) << shell << " " << word;
    }
  }
}

// `selfnorm man --markdown > docs/reference.md` writes it anew.
TEST(OptionTable, TheReferencePageIsThatOfTheProgram) {
  const Folder folder;
  const std::string page = folder.run({"man", "--markdown"}).out;
  std::ifstream file(std::string(SELFNORM_SOURCE_DIR) + "/docs/reference.md");
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(stored == page) << "docs/reference.md is not what the program prints";
  EXPECT_NE(page.find("| `--learn-centre` |"), std::string::npos);
  EXPECT_NE(page.find("| `pseudo-likelihood` |"), std::string::npos);
}

TEST(OptionTable, BashCompletes) {
  const Folder folder;
  folder.write("complete.bash", folder.run({"completions", "bash"}).out);
  folder.write("ask.bash",
               "source ./complete.bash\n"
               "ask() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _selfnorm; echo \"${COMPREPLY[*]}\"; }\n"
               "ask selfnorm tr\nask selfnorm train ''\nask selfnorm train classifier --learn\n"
               "ask selfnorm train classifier x.svm --optimiser ada\nask selfnorm completions f\n");
  ASSERT_EQ(std::system(("cd " + folder.path() + " && bash ask.bash > out").c_str()), 0);
  EXPECT_EQ(
      content(folder / "out"),
      "train\nclassifier lm density regressor crf\n--learn-centre --learning-rate\nadagrad adam\nfish\n");
}

TEST(OptionTable, ConfigFileGivesDefaults) {
  const Folder folder;
  folder.generate("data.svm", 60, 3);
  folder.write(
      "a.toml",
      "quiet = true\nrows = 3\n[train.classifier]\nobjective = \"exact\"\nalpha = 0.25\nlearn-centre = true\n"
      "[evaluate]\njson = true\n");
  ASSERT_EQ(
      folder.run({"train", "classifier", "data.svm", "--config", "a.toml", "--alpha", "0.5", "--out", "run"})
          .code,
      0);
  const auto options = nlohmann::json::parse(content(folder / "run/config.json"))["options"];
  EXPECT_EQ(options["objective"], "exact");
  EXPECT_EQ(options["alpha"], 0.5);
  EXPECT_EQ(options["learn-centre"], true);
  EXPECT_EQ(folder.run({"evaluate", "run", "data.svm", "--config", "a.toml"}).json()["n"], 60);
}

TEST(OptionTable, InfoNamesTheModel) {
  const Folder folder;
  folder.generate("data.svm", 60, 12);
  const Outcome text = folder.run({"info", "data.svm.truth.safetensors"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("multiclass"), std::string::npos) << text.out;
  const auto json = folder.run({"info", "data.svm.truth.safetensors", "--json"}).json();
  EXPECT_EQ(json["classes"], 12);
  EXPECT_EQ(json["features"], 30);
  EXPECT_EQ(json["weights"], "float32");
  EXPECT_EQ(json["labels"].size(), 10u);
}

}  // namespace
}  // namespace selfnorm::cli
