#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

TEST(Evaluate, JsonHasThePromisedKeys) {
  const Folder folder;
  folder.generate();
  const Outcome outcome = folder.run({"evaluate", "data.svm.truth.safetensors", "data.svm", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(keys(json),
            (std::set<std::string>{"n", "classes", "nll_exact", "nll_raw", "accuracy", "top5", "log_z",
                                   "kl_uniform", "log_normalizer", "bad_rows", "model", "data", "device"}));
  EXPECT_EQ(keys(json["log_z"]),
            (std::set<std::string>{"mean", "std", "rms", "min", "max", "q01", "q50", "q99"}));
  EXPECT_EQ(json["n"], 300);
  EXPECT_EQ(json["classes"], 4);
  EXPECT_NEAR(json["nll_exact"].get<double>() - json["nll_raw"].get<double>(),
              json["log_z"]["mean"].get<double>(), 1e-9);
  EXPECT_LT(json["nll_exact"].get<double>(), std::log(4.0));
}

TEST(Evaluate, TableOfSeveralModels) {
  const Folder folder;
  folder.generate();
  ASSERT_EQ(folder.run({"train", "classifier", "data.svm", "--out", "run", "--quiet"}).code, 0);
  const Outcome outcome =
      folder.run({"evaluate", "run", "data.svm.truth.safetensors", "data.svm", "--timing"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("NLL exact"), std::string::npos);
  EXPECT_NE(outcome.out.find("exact ns"), std::string::npos);
  EXPECT_NE(outcome.out.find("\ndata.svm.truth.safetensors "), std::string::npos) << outcome.out;
  const auto json =
      folder.run({"evaluate", "run", "data.svm.truth.safetensors", "data.svm", "--json"}).json();
  EXPECT_EQ(json["models"].size(), 2u);
}

TEST(Evaluate, SkippedRowsAreCounted) {
  const Folder folder;
  folder.generate();
  folder.write("bad.svm", content(folder / "data.svm") + "0 3:x\n");
  const auto json =
      folder.run({"evaluate", "data.svm.truth.safetensors", "bad.svm", "--skip-bad", "1", "--json"}).json();
  EXPECT_EQ(json["bad_rows"], 1);
  EXPECT_EQ(json["n"], 300);
}

}  // namespace
}  // namespace selfnorm::cli
