// What a report holds, for tests.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "cli/program.h"

namespace selfnorm::cli {

inline nlohmann::json report_of(const std::string& run) {
  return nlohmann::json::parse(content(run + "/report.json"));
}

inline bool is_finite(const nlohmann::json& values) {
  for (const auto& value : values)
    if (!value.is_number()) return false;
  return true;
}

// The ids of all figures, each of which has a sentence and marks, and none a bar, heat or point that is no
// number; lines may be interrupted.
inline std::set<std::string> checked_figures(const nlohmann::json& report) {
  std::set<std::string> ids;
  for (const auto& section : report["sections"]) {
    for (const auto& figure : section.value("figures", nlohmann::json::array())) {
      const std::string id = figure["id"];
      ids.insert(id);
      EXPECT_FALSE(figure.value("look", "").empty()) << id;
      for (const auto& panel : figure["panels"]) {
        EXPECT_TRUE(panel.contains("series") || panel.contains("heat")) << id;
        EXPECT_TRUE(!panel.contains("heat") || is_finite(panel["heat"]["value"])) << id;
        for (const auto& series : panel.value("series", nlohmann::json::array())) {
          EXPECT_FALSE(series["x"].empty()) << id;
          if (series["stroke"] == "line" || series["stroke"] == "dashed") continue;
          EXPECT_TRUE(is_finite(series["x"])) << id << series;
          EXPECT_TRUE(!series.contains("y") || is_finite(series["y"])) << id << series;
        }
      }
    }
  }
  return ids;
}

inline std::set<std::string> card_ids(const nlohmann::json& report) {
  std::set<std::string> ids;
  for (const auto& card : report["cards"]) ids.insert(card["id"].get<std::string>());
  return ids;
}

// Without what names the run.
inline std::string shown_of(const std::string& run) {
  const nlohmann::json report = report_of(run);
  return report["cards"].dump() + report["sections"].dump();
}

}  // namespace selfnorm::cli
