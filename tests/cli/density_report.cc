// The reports of `train density`.
#include <gtest/gtest.h>

#include "cli/density_data.h"
#include "cli/report_data.h"

namespace selfnorm::cli {
namespace {

using Ids = std::set<std::string>;

Ids trained_figures(const Folder& folder, const std::vector<std::string>& words) {
  const Outcome trained = folder.run(words);
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.err.find("warning: no report"), std::string::npos) << trained.err;
  return checked_figures(report_of(folder / "run"));
}

TEST(DensityReport, EveryKindOfDataHasItsFigures) {
  const Folder folder;
  write_lumps(folder);
  write_bits(folder);
  write_counts(folder);
  EXPECT_EQ(trained_figures(folder, tiny_density("data.csv", "run")),
            (Ids{"density", "normalizer_estimates"}));
  const Ids cards = card_ids(report_of(folder / "run"));
  for (const char* id : {"model", "data", "inputs", "nll_exact", "nll_raw", "b_minus_log_z", "snl_bound",
                         "outside", "samples"})
    EXPECT_TRUE(cards.contains(id)) << id;
  EXPECT_EQ(trained_figures(folder, tiny_density("data.csv", "run", {"--drop", "x", "--overwrite"})),
            (Ids{"density", "normalizer_estimates"}));
  EXPECT_EQ(trained_figures(
                folder, {"train", "density", "bits.csv", "--energy", "ising", "--out", "run", "--overwrite"}),
            (Ids{"samples", "normalizer_estimates"}));
  EXPECT_EQ(trained_figures(folder, {"train", "density", "counts.csv", "--energy", "poisson", "--out", "run",
                                     "--overwrite"}),
            (Ids{"samples", "normalizer_estimates"}));
}

TEST(DensityReport, IsThatOfTheSeedForAnyThreads) {
  const Folder folder;
  write_lumps(folder);
  ASSERT_EQ(folder.run(tiny_density("data.csv", "a", {"--threads", "1"})).code, 0);
  ASSERT_EQ(folder.run(tiny_density("data.csv", "b", {"--threads", "2"})).code, 0);
  EXPECT_TRUE(shown_of(folder / "a") == shown_of(folder / "b"));
  ASSERT_EQ(folder.run(tiny_density("data.csv", "c", {"--no-report"})).code, 0);
  EXPECT_TRUE(shown_of(folder / "a") == shown_of(folder / "c"));
  EXPECT_TRUE(content(folder / "a/model.safetensors") == content(folder / "c/model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder / "a/report.html"));
  EXPECT_FALSE(std::filesystem::exists(folder / "c/report.html"));
}

// A network that tilts nothing need not have an integral.
TEST(DensityReport, SaysWhatIsNotKnown) {
  const Folder folder;
  write_lumps(folder, "data.csv", 100);
  EXPECT_TRUE(
      trained_figures(folder, tiny_density("data.csv", "run", {"--base", "none"})).contains("density"));
  const auto report = report_of(folder / "run");
  EXPECT_NE(report["notes"].dump().find("No likelihood"), std::string::npos) << report["notes"];
  for (const auto& card : report["cards"])
    EXPECT_TRUE(card["id"] != "nll_exact" || card["value"] == "not known") << card;
}

TEST(DensityReport, SaysWhatPartTheRowsHad) {
  const Folder folder;
  write_lumps(folder);
  write_lumps(folder, "other.csv", 100, 2);
  write_bits(folder);
  struct Plan {
    std::vector<std::string> words;
    std::string data, name, note;
  };
  const std::string optimistic = "a little optimistic", trained = "was trained on the rows shown";
  const std::vector<std::string> ising{"train", "density", "bits.csv", "--energy", "ising", "--out", "run"};
  const auto tiny = [](const std::vector<std::string>& more) {
    return tiny_density("data.csv", "run", more);
  };
  for (auto [words, data, name, note] :
       {Plan{tiny({}), "data.csv, validation rows", "held-out data", optimistic},
        Plan{tiny({"--valid", "other.csv"}), "other.csv, validation rows", "held-out data", optimistic},
        Plan{tiny({"--valid", "./data.csv"}), "data.csv, training rows", "training data", trained},
        Plan{tiny({"--hold-out", "0"}), "data.csv, training rows", "training data", trained},
        Plan{ising, "bits.csv, validation rows", "held-out data", ""}}) {
    words.push_back("--overwrite");
    trained_figures(folder, words);
    const auto report = report_of(folder / "run");
    EXPECT_NE(report["sections"][0].dump().find("\"" + name + "\""), std::string::npos) << name;
    for (const auto& card : report["cards"])
      EXPECT_TRUE(card["id"] != "data" || card["value"] == data) << card;
    const std::string notes = report.value("notes", nlohmann::json::array()).dump();
    for (const std::string& text : {optimistic, trained})
      EXPECT_EQ(notes.find(text) != std::string::npos, text == note) << notes;
  }
}

}  // namespace
}  // namespace selfnorm::cli
