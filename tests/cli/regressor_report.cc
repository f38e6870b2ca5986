// The reports of `train regressor` and of audits of regressors.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "cli/regressor_data.h"
#include "cli/report_data.h"

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

// Points (A, b) of the figure by their labels.
std::map<std::string, std::pair<double, double>> normalizer_points(const nlohmann::json& report) {
  std::map<std::string, std::pair<double, double>> out;
  for (const auto& section : report["sections"])
    for (const auto& figure : section.value("figures", nlohmann::json::array())) {
      if (figure["id"] != "normalizer") continue;
      const auto& points = figure["panels"][0]["series"][1];
      for (size_t i = 0; i < points["x"].size(); ++i)
        out[points["labels"][i]] = {points["x"][i], points["y"][i]};
    }
  return out;
}

TEST(RegressorReport, RowsHaveTheirNumbersInTheFile) {
  const Folder folder;
  train_tiny(folder);
  const auto all =
      normalizer_points(folder.run({"audit", "run", "data.csv", "--json", "--no-report"}).json()["report"]);
  ASSERT_EQ(all.size(), 200u);
  const auto report = report_of(folder / "run");
  const auto held_out = normalizer_points(report);
  EXPECT_EQ(held_out.size(), 20u);
  for (const auto& [row, point] : held_out) {
    ASSERT_TRUE(all.contains(row)) << row;
    EXPECT_NEAR(point.first, all.at(row).first, 1e-6) << row;
    EXPECT_NEAR(point.second, all.at(row).second, 1e-6) << row;
  }
  for (const auto& section : report["sections"])
    for (const auto& table : section.value("tables", nlohmann::json::array()))
      for (const auto& row : table["rows"])
        if (table["id"] == "worst") {
          const auto& [a, b] = held_out.at("row " + std::to_string(row[0].get<uint64_t>()));
          EXPECT_NEAR(std::abs(row[1].get<double>()), std::abs(b - a), 1e-6);
        }
}

TEST(RegressorReport, NamesTheRowsAndTheirPart) {
  const Folder folder;
  write_table(folder);
  write_table(folder, "other.csv", 60, 2);
  const auto shown = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    train_tiny(folder, words);
    const auto report = report_of(folder / "run");
    std::string text = report.value("notes", nlohmann::json::array()).dump();
    for (const auto& card : report["cards"])
      if (card["id"] == "data") text += card["value"].get<std::string>();
    return text;
  };
  const std::string other = shown({"--valid", "other.csv"});
  EXPECT_NE(other.find("other.csv, validation rows"), std::string::npos) << other;
  EXPECT_NE(other.find("was kept"), std::string::npos) << other;
  const std::string same = shown({"--valid", "./data.csv"});
  EXPECT_NE(same.find("trained on the rows shown"), std::string::npos) << same;
}

TEST(RegressorReport, NoNumericColumnNoHeat) {
  const Folder folder;
  write_table(folder);
  train_tiny(folder, {"--drop", "x"});
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

TEST(RegressorReport, AuditsOfTrainingDataCertifyNothing) {
  const Folder folder;
  write_table(folder, "valid.csv", 100, 2);
  write_table(folder, "other.csv", 100, 3);
  train_tiny(folder, {"--valid", "valid.csv"});
  const auto audited = [&](const std::string& data) {
    return folder.run({"audit", "run", data, "--json", "--no-report"}).json();
  };
  const auto trained = audited("data.csv"), chosen = audited("valid.csv"), free = audited("other.csv");
  EXPECT_TRUE(trained["trained"]);
  EXPECT_NE(trained["report"].dump().find("none: the model was trained on these rows"), std::string::npos);
  EXPECT_TRUE(chosen["chose_step"]);
  EXPECT_NE(chosen["report"]["notes"].dump().find("a little optimistic"), std::string::npos);
  EXPECT_FALSE(free.contains("trained") || free.contains("chose_step"));
  EXPECT_NE(free["report"].dump().find("holds if the inputs are independent and had no part in the model"),
            std::string::npos);
  const Outcome text = folder.run({"audit", "run", "data.csv", "--no-report", "--require", "eps=100"});
  EXPECT_NE(text.out.find("certificate  none: the model was trained on these inputs"), std::string::npos)
      << text.out;
  EXPECT_NE(text.err.find("warning: --require"), std::string::npos) << text.err;
}

}  // namespace
}  // namespace selfnorm::cli
