// The reports of `train classifier` and `train lm`.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "cli/report_data.h"

namespace selfnorm::cli {
namespace {

nlohmann::json trained_report(const Folder& folder, std::vector<std::string> words, int code = 0) {
  words.insert(words.end(), {"--out", "run", "--overwrite", "--quiet", "--no-report"});
  const Outcome trained = folder.run(words);
  EXPECT_EQ(trained.code, code) << trained.err;
  return report_of(folder / "run");
}

std::vector<std::string> small_lm(const std::vector<std::string>& more) {
  std::vector<std::string> words{"train", "lm",       "data.txt", "--dimension", "4", "--hidden",
                                 "4",     "--epochs", "1",        "--batch",     "64"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> small_bag(const std::vector<std::string>& more) {
  std::vector<std::string> words{"train",       "classifier", "data.svm", "--encoder", "bag",
                                 "--dimension", "4",          "--epochs", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool has_note(const nlohmann::json& report, const std::string& text) {
  return report.value("notes", nlohmann::json::array()).dump().find(text) != std::string::npos;
}

nlohmann::json worst_of(const nlohmann::json& report) {
  for (const auto& section : report["sections"])
    for (const auto& table : section.value("tables", nlohmann::json::array()))
      if (table["id"] == "worst") return table;
  return nullptr;
}

// Label and norm of every line "label i:v ..." of svmlight.
std::vector<std::pair<std::string, double>> labelled_norms(const std::string& text) {
  std::vector<std::pair<std::string, double>> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string label, word;
    words >> label;
    double squares = 0;
    while (words >> word) squares += std::pow(std::stod(word.substr(word.find(':') + 1)), 2);
    out.emplace_back(label, std::sqrt(squares));
  }
  return out;
}

TEST(ModelDocument, InputsHaveTheirNumbersInTheFile) {
  const Folder folder;
  folder.generate("data.svm", 300, 6);
  const auto rows = labelled_norms(content(folder / "data.svm"));
  for (const std::vector<std::string>& plan :
       {std::vector<std::string>{}, {"--hold-out", "0"}, {"--valid", "other.svm"}}) {
    folder.write("other.svm", content(folder / "data.svm") + "0 1:1\n");
    std::vector<std::string> words{"train", "classifier", "--objective", "penalty", "data.svm"};
    words.insert(words.end(), plan.begin(), plan.end());
    const auto worst = worst_of(trained_report(folder, words));
    ASSERT_EQ(worst["columns"][5], "true output");
    uint64_t largest = 0;
    for (const auto& row : worst["rows"]) {
      const auto input = row[0].get<uint64_t>();
      if (input == rows.size()) continue;  // the last line of other.svm
      largest = std::max(largest, input);
      EXPECT_EQ(row[5], rows.at(input).first) << row;
      EXPECT_NEAR(row[6].get<double>(), rows.at(input).second, 1e-5) << row;
    }
    EXPECT_GE(largest, 30u);  // more than are held out
  }
}

TEST(ModelDocument, InputsOfTextsArePositions) {
  const Folder folder;
  folder.generate_text("data.txt", 100);
  const auto held_out = worst_of(trained_report(folder, small_lm({})));
  EXPECT_NE(held_out["look"].get<std::string>().find("by position in the held-out text"), std::string::npos);
  const auto trained = worst_of(trained_report(folder, small_lm({"--hold-out", "0"})));
  EXPECT_NE(trained["look"].get<std::string>().find("by position in the training text"), std::string::npos);
}

TEST(ModelDocument, SaysThatTrainingDiverged) {
  const Folder folder;
  folder.generate();
  folder.generate_text("data.txt", 100);
  const std::string note = "Training diverged";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", "classifier", "--objective", "penalty", "data.svm", "--optimiser",
                                 "adagrad", "--epochs", "3"},
        small_lm({})}) {
    EXPECT_FALSE(has_note(trained_report(folder, words), note)) << words[1];
    std::vector<std::string> far = words;
    far.insert(far.end(), {"--learning-rate", "1e300"});
    EXPECT_TRUE(has_note(trained_report(folder, far, 3), note)) << words[1];
  }
}

TEST(ModelDocument, SaysWhyThereIsNoTradeOff) {
  const Folder folder;
  folder.generate();
  const std::vector<std::string> words{"train", "classifier", "--objective", "penalty", "data.svm"};
  const auto with = trained_report(folder, words);
  EXPECT_TRUE(checked_figures(with).contains("trade_off"));
  EXPECT_FALSE(has_note(with, "No trade-off curve"));
  std::vector<std::string> flat = words;  // the good model before the first step, whose weights are 0
  flat.insert(flat.end(), {"--optimiser", "adagrad", "--learning-rate", "1e300"});
  const auto without = trained_report(folder, flat, 3);
  EXPECT_FALSE(checked_figures(without).contains("trade_off"));
  EXPECT_TRUE(has_note(without, "No trade-off curve: log Z is the same for all inputs"));
}

TEST(ModelDocument, TreesHaveTheirLikelihoodAndNoLogZ) {
  const Folder folder;
  folder.generate();
  folder.generate_text("data.txt", 100);
  const std::vector<std::pair<std::vector<std::string>, std::string>> plans{
      {small_bag({"--objective", "hierarchical"}), "accuracy"},
      {small_lm({"--objective", "hierarchical", "--hidden", "0"}), "perplexity"}};
  for (const auto& [words, quality] : plans) {
    const auto report = trained_report(folder, words);
    EXPECT_EQ(card_ids(report), (std::set<std::string>{"model", "data", "inputs", "nll_exact", quality}));
    EXPECT_TRUE(has_note(report, "sum to 1 as they are: there is no log Z to show"));
    EXPECT_TRUE(has_note(report, "a little optimistic"));
    const auto audit = folder.run({"info", "run", "--json"}).json()["audit"];
    const std::map<std::string, std::string> keys{
        {"nll_exact", "nll_exact"}, {"accuracy", "accuracy"}, {"perplexity", "perplexity_exact"}};
    for (const auto& card : report["cards"])
      EXPECT_TRUE(!keys.contains(card["id"]) || card["number"] == audit[keys.at(card["id"])]) << card;
  }
}

TEST(ModelDocument, ValidationByTheTrainingFileIsTraining) {
  const Folder folder;
  folder.generate();
  folder.generate_text("data.txt", 100);
  folder.write("copy.svm", content(folder / "data.svm"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", "classifier", "--objective", "penalty", "data.svm", "--valid",
                                 "copy.svm"},
        small_bag({"--objective", "hierarchical", "--valid", "./data.svm"}),
        small_lm({"--valid", "./data.txt"})}) {
    const auto report = trained_report(folder, words);
    EXPECT_TRUE(has_note(report, "The model was trained on the inputs shown"));
    EXPECT_FALSE(has_note(report, "a little optimistic"));
    for (const auto& card : report["cards"])
      EXPECT_TRUE(card["id"] != "data" ||
                  card["value"].get<std::string>().find("the training data") != std::string::npos)
          << card;
  }
}

}  // namespace
}  // namespace selfnorm::cli
