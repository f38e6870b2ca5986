#include <gtest/gtest.h>

#include <cmath>

#include "cli/trained_crf.h"

namespace selfnorm::cli {
namespace {

// Raw and amortised numbers have names of their own.
TEST(CrfEvaluate, RawAndAmortised) {
  const Trained folder;
  ASSERT_EQ(
      folder.normalize({"--states", "test.conll", "-o", "n.safetensors", "--amortise", "linear", "--quiet"})
          .code,
      0);
  const auto before = folder.run({"evaluate", "run", "test.conll", "--json"}).json();
  const auto after = folder.run({"evaluate", "n.safetensors", "test.conll", "--json"}).json();
  for (const char* key : {"nll_raw", "nll_raw_per_token", "nll_exact", "log_z", "log_z_per_token"})
    EXPECT_EQ(after[key], before[key]) << key;
  EXPECT_FALSE(before.contains("nll_amortised"));
  EXPECT_FALSE(before["by_length"][0].contains("rms_amortised"));
  EXPECT_EQ(after["by_length"][0]["rms"], before["by_length"][0]["rms"]);
  EXPECT_LT(after["log_z_amortised"]["rms"].get<double>(), 0.2 * after["log_z"]["rms"].get<double>());
  EXPECT_LT(after["by_length"][1]["rms_amortised"].get<double>(), after["by_length"][1]["rms"].get<double>());
  EXPECT_NEAR(after["nll_exact"].get<double>() - after["nll_amortised"].get<double>(),
              after["log_z_amortised"]["mean"].get<double>(), 1e-9);
  EXPECT_NEAR(after["nll_amortised_per_token"].get<double>() * after["tokens"].get<double>(),
              after["nll_amortised"].get<double>() * 400, 1e-6);
  const std::vector<std::string> audit{"audit",  "n.safetensors", "test.conll",
                                       "--json", "--no-report",   "--quiet"};
  std::vector<std::string> raw_audit = audit;
  raw_audit.push_back("--raw");
  for (const auto& words : {audit, raw_audit}) {
    const auto evaluation = folder.run(words).json()["evaluation"];
    for (const char* key : {"nll_raw", "nll_amortised", "log_z", "log_z_amortised", "by_length"})
      EXPECT_EQ(evaluation[key], after[key]) << key;
  }
  const Outcome table = folder.run({"evaluate", "run", "n.safetensors", "test.conll"});
  for (const char* words : {"NLL amortised", "rms log Z - b a token", " -"})
    EXPECT_NE(table.out.find(words), std::string::npos) << words << "\n" << table.out;
  const Outcome details = folder.run({"evaluate", "n.safetensors", "test.conll"});
  EXPECT_NE(details.out.find("log Z - b of a sentence"), std::string::npos) << details.out;
  EXPECT_EQ(folder.run({"evaluate", "run", "test.conll"}).out.find("- b"), std::string::npos);
  // Raw scores of it are no log-probabilities, and those less b are.
  EXPECT_NE(folder.run({"score", "n.safetensors", "test.conll", "--raw"}).err.find("leaves log Z free"),
            std::string::npos);
  EXPECT_EQ(folder.run({"score", "n.safetensors", "test.conll"}).err, "");
  EXPECT_EQ(folder.run({"tag", "n.safetensors", "test.conll", "--score", "raw"}).err, "");
}

TEST(CrfAuditCommand, SaysATokenByLengthAndVStar) {
  const Trained folder;
  const auto json = folder.run({"audit", "run", "words.conll", "--json", "--no-report", "--quiet"}).json();
  const auto evaluation = folder.run({"evaluate", "run", "test.conll", "--json"}).json();
  EXPECT_EQ(json["log_z_per_token"], evaluation["log_z_per_token"]);
  EXPECT_EQ(json["by_length"], evaluation["by_length"]);
  EXPECT_NEAR(json["variance"].get<double>(), std::pow(json["log_z"]["std"].get<double>(), 2), 1e-6);
  EXPECT_LT(json["v_star"].get<double>(), json["variance"].get<double>());
  const Outcome text = folder.run({"audit", "run", "words.conll", "--no-report", "--quiet"});
  for (const char* words : {"a token", "rms log Z a token", "variance     of log Z", "certificate"})
    EXPECT_NE(text.out.find(words), std::string::npos) << words << "\n" << text.out;
}

}  // namespace
}  // namespace selfnorm::cli
