// The reports of `train regressor` and of audits of regressors.
#include <gtest/gtest.h>

#include "regressor_data.h"
#include "report_data.h"

namespace selfnorm::cli {
namespace {

using Ids = std::set<std::string>;

const Ids kFigures{"fan", "heat", "profile", "pit", "coverage", "log_z_histogram", "normalizer"};

TEST(RegressorReport, TrainingLeavesIt) {
  const Folder folder;
  write_table(folder);
  train_tiny(folder);
  const auto report = report_of(folder / "run");
  EXPECT_EQ(checked_figures(report), kFigures);
  const Ids cards = card_ids(report);
  for (const char* id : {"model", "data", "inputs", "nll_exact", "nll_amortised", "rms_log_z", "crps", "rmse",
                         "coverage_90", "certificate"})
    EXPECT_TRUE(cards.contains(id)) << id;
  EXPECT_TRUE(std::filesystem::exists(folder / "run/report.html"));
  const std::string model = content(folder / "run/model.safetensors"), shown = shown_of(folder / "run");
  train_tiny(folder, {"--overwrite", "--no-report", "--threads", "1"});
  EXPECT_TRUE(model == content(folder / "run/model.safetensors"));
  EXPECT_TRUE(shown == shown_of(folder / "run"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run/report.html"));
}

TEST(RegressorReport, NoNumericColumnNoHeat) {
  const Folder folder;
  write_table(folder);
  train_tiny(folder, {"--ignore", "x"});
  EXPECT_EQ(checked_figures(report_of(folder / "run")),
            (Ids{"fan", "pit", "coverage", "log_z_histogram", "normalizer"}));
}

TEST(RegressorReport, AuditsWithAndWithoutTargets) {
  const Folder folder;
  train_tiny(folder);
  folder.write("inputs.csv", "x,colour\n0.5,red\n-1,blue\n1.5,\n");
  const auto with = folder.run({"audit", "run", "data.csv", "--json"}).json();
  EXPECT_EQ(checked_figures(with["report"]), kFigures);
  EXPECT_TRUE(card_ids(with["report"]).contains("nll_exact"));
  const auto without = folder.run({"audit", "run", "inputs.csv", "--json", "--no-report"}).json();
  EXPECT_EQ(checked_figures(without["report"]),
            (Ids{"fan", "heat", "profile", "log_z_histogram", "normalizer"}));
  EXPECT_FALSE(card_ids(without["report"]).contains("nll_exact"));
}

}  // namespace
}  // namespace selfnorm::cli
