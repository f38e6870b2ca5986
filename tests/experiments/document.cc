#include "experiments/document.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "experiments/experiment.h"
#include "source_dir.h"

namespace selfnorm {
namespace {

std::string committed_document() {
  std::ifstream in(std::string(SELFNORM_SOURCE_DIR) + "/docs/reproduction.md", std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(Document, EscapesBarsInTables) {
  Record record;
  record.name = "x";
  record.tables = {{.caption = "c", .columns = {"|A|"}, .rows = {{0.5}}}};
  EXPECT_NE(document_section(record, "figures").find("| \\|A\\| |\n|---|\n| 0.5 |\n"), std::string::npos);
  EXPECT_EQ(document_section(record, "figures").find("(figures/x.svg)"), std::string::npos);
  record.figure.panels.resize(1);
  record.more_figures = {{"y", record.figure}};
  const std::string drawn = document_section(record, "figures");
  EXPECT_NE(drawn.find("(figures/x.svg)"), std::string::npos);
  EXPECT_NE(drawn.find("(figures/x-y.svg)"), std::string::npos);
}

TEST(Document, GroupsHaveTheirOwnIntroductionAndWords) {
  Record record;
  record.name = "x";
  const std::string papers = document_text("papers", {record}, "f"),
                    density = document_text("density", {record}, "f"),
                    regression = document_text("regression", {record}, "f"),
                    sequences = document_text("sequences", {record}, "f");
  EXPECT_TRUE(papers.starts_with("# Reproduction"));
  EXPECT_NE(papers.find("**The paper says.**"), std::string::npos);
  EXPECT_TRUE(density.starts_with("# Energy-based densities"));
  EXPECT_NE(density.find("**Asked.**"), std::string::npos);
  EXPECT_TRUE(regression.starts_with("# Energy-based regression"));
  EXPECT_NE(regression.find("**Asked.**"), std::string::npos);
  EXPECT_TRUE(sequences.starts_with("# Sequences"));
  EXPECT_NE(sequences.find("**Asked.**"), std::string::npos);
}

// docs/reproduction.md is what the command writes: `make reproduce` when this fails.
TEST(Document, CommittedSectionsOfTheCheapExperimentsAreFresh) {
  const std::string committed = committed_document();
  for (const char* name : {"fig1a", "fig1b", "theorem4"}) {
    const std::string section = document_section(find_experiment(name).run({}), "reproduction");
    EXPECT_NE(committed.find(section), std::string::npos)
        << name << " in docs/reproduction.md is not what `selfnorm reproduce` writes now:\n"
        << section;
  }
}

TEST(Document, CommittedDocumentHasEveryExperiment) {
  const std::string committed = committed_document();
  for (const Experiment& experiment : experiments()) {
    if (experiment.group != "papers") continue;
    EXPECT_NE(committed.find("\n## " + experiment.name + ": "), std::string::npos) << experiment.name;
  }
}

}  // namespace
}  // namespace selfnorm
