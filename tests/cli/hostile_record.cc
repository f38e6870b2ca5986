// config.json, metrics.jsonl and config files that were damaged, edited, or made to do harm.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/program.h"

namespace selfnorm::cli {
namespace {

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

class HostileRecord : public testing::Test {
 protected:
  void SetUp() override {
    folder.generate();
    std::filesystem::create_directory(folder / "run");
  }
  void expect_refused(const std::string& record, const std::string& text) {
    folder.write("run/config.json", record);
    for (const char* command : {"classifier", "density", "crf"}) {
      const Outcome outcome = folder.run({"train", command, "--resume", "--out", "run"});
      expect_user_error(outcome, text);
      EXPECT_LT(outcome.err.size(), 500u);
    }
  }

  Folder folder;
};

TEST_F(HostileRecord, DeepNestingIsRefused) {
  for (const int depth : {65, 100'000}) {
    expect_refused(nested(depth), "config.json: not the record of a run");
    expect_refused(R"({"options":{"TRAIN":)" + nested(depth) + "}}", "config.json: not the record of a run");
    expect_refused(R"({"options":{},"data":)" + nested(depth) + "}", "config.json: not the record of a run");
  }
}

TEST_F(HostileRecord, OtherTypesNameTheKey) {
  for (const std::string value : {"5", "true", "[]", "[\"data.svm\"]", "{}", "null"}) {
    expect_refused(R"({"command":)" + value + R"(,"options":{}})", "\"command\" is not a text");
    expect_refused(R"({"options":{"TRAIN":)" + value + "}}", "\"TRAIN\" is not a text");
    expect_refused(R"({"options":{"DATA":)" + value + "}}", "\"DATA\" is not a text");
    expect_refused(R"({"options":{},"data":{"path":)" + value + "}}", "\"data.path\" is not");
    expect_refused(R"({"options":{},"valid":{"hash":)" + value + "}}", "\"valid.hash\" is not");
  }
  expect_refused(R"({"options":{"alpha":[1]}})", "\"alpha\" is not a word, a number");
  expect_refused(R"({"options":{"alpha":{"a":1}}})", "\"alpha\" is not");
  expect_refused(R"({"options":{},"data":7})", "\"data\" is not an object");
  expect_refused(R"({"options":5})", "expected JSON with \"options\"");
  expect_refused(R"({"options":{")" + std::string(100'000, 'a') + R"(":[]}})", "is not");
}

TEST_F(HostileRecord, MetricsOfAnotherKindAreDropped) {
  const Outcome stopped = folder.run({"train", "classifier", "data.svm", "--out", "run2", "--quiet"});
  ASSERT_EQ(stopped.code, 0) << stopped.err;
  std::filesystem::remove(folder / "run2/model.safetensors");
  for (const std::string& line : {std::string("{}"), std::string(R"({"step":[]})"), nested(100'000)}) {
    folder.write("run2/metrics.jsonl", line + "\n");
    const Outcome again = folder.run({"train", "classifier", "--resume", "--out", "run2", "--quiet"});
    EXPECT_EQ(again.code, 0) << again.err;
    std::filesystem::remove(folder / "run2/model.safetensors");
  }
}

TEST_F(HostileRecord, ReportsSayWhatIsWrong) {
  folder.write("run/config.json", R"({"options":{}})");
  folder.write("run/metrics.jsonl", nested(100'000) + "\n{}\n");
  expect_user_error(folder.run({"report", "run"}), "metrics.jsonl:1");
  std::filesystem::remove(folder / "run/metrics.jsonl");
  folder.write("run/report.json", nested(100'000));
  expect_user_error(folder.run({"report", "run"}), "report.json: not JSON");
  folder.write("deep.json", R"({"report":)" + nested(100'000) + "}");
  expect_user_error(folder.run({"report", "deep.json"}), "deep.json: not JSON");
}

TEST_F(HostileRecord, ConfigFilesAreSmall) {
  const auto error = [&](const std::string& toml, const std::string& text) {
    folder.write("c.toml", toml);
    const Outcome outcome = folder.run({"train", "classifier", "data.svm", "--config", "c.toml"});
    expect_user_error(outcome, text);
    EXPECT_LT(outcome.err.size(), 500u);
  };
  error(std::string(2'000'000, 'k') + " = 1\n",
        "c.toml: found 2000005 bytes, expected a TOML file of options");
  error(std::string(60'000, 'k') + " = 1\n", "unknown option 'kkk");
  error("\n[" + std::string(60'000, '.') + "]\n", "c.toml:2: found a section of 60002 bytes");
  error("alpha = " + std::string(60'000, '9') + "x\n", "--alpha");
}

}  // namespace
}  // namespace selfnorm::cli
