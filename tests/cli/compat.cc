// Models of the first release open and give the log-probabilities they gave then: `score` by the runtime,
// `evaluate` by the library.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "source_dir.h"

namespace selfnorm::cli {
namespace {

const std::string kFolder = std::string(SELFNORM_SOURCE_DIR) + "/tests/compat/";

class Compat : public testing::TestWithParam<std::string> {
 protected:
  nlohmann::json then() const { return nlohmann::json::parse(content(kFolder + "scores.json"))[GetParam()]; }
  std::string model() const { return kFolder + GetParam() + ".safetensors"; }
  std::string data() const { return kFolder + then()["data"].get<std::string>(); }
};

std::vector<double> log_probabilities(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json found = outcome.json();
  std::vector<double> out;
  for (const auto& row : found[found.contains("rows") ? "rows" : "sentences"]) out.push_back(row["log_prob"]);
  return out;
}

void expect_near(const std::vector<double>& found, const nlohmann::json& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i].get<double>(), 1e-5) << i;
}

TEST_P(Compat, ScoresAreThoseOfTheFirstRelease) {
  const Folder folder;
  expect_near(log_probabilities(folder.run({"score", model(), data(), "--exact", "--json"})),
              then()["exact"]);
  expect_near(log_probabilities(folder.run({"score", model(), data(), then()["flag"], "--json"})),
              then()["fast"]);
}

// The mean of the exact scores, a row, a sentence or a token.
TEST_P(Compat, EvaluationAgrees) {
  const Folder folder;
  const Outcome outcome = folder.run({"evaluate", model(), data(), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json found = outcome.json();
  const nlohmann::json exact = then()["exact"];
  double sum = 0;
  for (const auto& log_prob : exact) sum -= log_prob.get<double>();
  const double nll = found.contains("nll_exact") ? found["nll_exact"] : found["nll"];
  const double n = GetParam() == "lm" ? found["tokens"].get<double>() : static_cast<double>(exact.size());
  EXPECT_NEAR(nll, sum / n, 2e-5);
}

INSTANTIATE_TEST_SUITE_P(All, Compat,
                         testing::Values("classifier", "classifier-int8", "classifier-amortised", "text-bag",
                                         "lm", "density", "regressor", "crf"),
                         [](const auto& p) {
                           std::string name = p.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace selfnorm::cli
