// Models with a TorchScript module inside: no command runs it unless the user says so, info never.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cli/density_data.h"
#include "cli/regressor_data.h"
#include "model/energy/density_file.h"
#include "model/energy/torchscript.h"
#include "model/regressor/regressor.h"
#include "proposal/density/make_density.h"
#include "small_regressors.h"

namespace selfnorm::cli {
namespace {

const std::string kProgram = "not really a program";

class EmbeddedCodeFile : public testing::Test {
 protected:
  void SetUp() override {
    setenv("SELFNORM_TORCH_MODULE", "/nowhere/libselfnorm_torch.so", 1);
    write_lumps(folder);
    const float points[] = {0, 0, 1, 2, 3, 1, 2, 2};
    DensityModel density;
    density.energy = make_torchscript(
        {.kind = "torchscript", .settings = R"({"dimension":2})", .tensors = {}, .module = kProgram},
        EmbeddedCode::seal);
    density.proposal = fit_density("gaussian", {points, 4, 2});
    density.normalizer_kind = "learned";
    save_density(density, folder / "density.safetensors");

    Regressor regressor = test::random_regressor({});
    Frame frame = test::small_frame(30);
    std::erase_if(frame.columns, [](const FrameColumn& column) { return !column.is_numeric; });
    std::vector<uint64_t> rows(frame.rows);
    for (uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
    std::vector<std::string> notes;
    regressor.encoder = FrameEncoder(frame, rows, {"y", "z"}, false, notes);
    regressor.members[0].features = make_sealed_features(
        {.kind = "torchscript", .settings = R"({"inputs":2})", .tensors = {}, .module = kProgram},
        regressor.members[0].features->width());
    save_regressor(regressor, folder / "regressor.safetensors");
    folder.write("table.csv", "a,b,y\n1,2,3\n2,3,1\n");
  }
  void TearDown() override {
    unsetenv("SELFNORM_TORCH_MODULE");
    unsetenv("SELFNORM_ALLOW_CODE");
  }

  // Refused with a word on what is inside; taken up, as far as there is a libtorch, with consent.
  void expect_consent_needed(std::vector<std::string> words) {
    const Outcome refused = folder.run(words);
    expect_user_error(refused, "--allow-code");
    EXPECT_NE(refused.err.find("TorchScript"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("a program of 20 bytes"), std::string::npos) << refused.err;
    setenv("SELFNORM_ALLOW_CODE", "0", 1);
    expect_user_error(folder.run(words), "--allow-code");
    setenv("SELFNORM_ALLOW_CODE", "1", 1);
    expect_user_error(folder.run(words), "/nowhere/libselfnorm_torch.so");
    unsetenv("SELFNORM_ALLOW_CODE");
    words.emplace_back("--allow-code");
    expect_user_error(folder.run(words), "/nowhere/libselfnorm_torch.so");
  }

  Folder folder;
};

TEST_F(EmbeddedCodeFile, NeedsConsentInEveryCommandThatComputes) {
  expect_consent_needed({"score", "density.safetensors", "data.csv"});
  expect_consent_needed({"evaluate", "density.safetensors", "data.csv"});
  expect_consent_needed({"sample", "density.safetensors", "-n", "3"});
  expect_consent_needed({"score", "regressor.safetensors", "table.csv"});
  expect_consent_needed({"evaluate", "regressor.safetensors", "table.csv"});
  expect_consent_needed({"audit", "regressor.safetensors", "table.csv"});
  expect_consent_needed({"predict", "regressor.safetensors", "table.csv"});
}

TEST_F(EmbeddedCodeFile, IsNotLoadedByInfo) {
  for (const char* consent : {"0", "1"}) {
    setenv("SELFNORM_ALLOW_CODE", consent, 1);
    for (const std::string model : {"density.safetensors", "regressor.safetensors"})
      for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--allow-code"}}) {
        std::vector<std::string> words{"info", model, "--json"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome info = folder.run(words);
        ASSERT_EQ(info.code, 0) << info.err;
        EXPECT_EQ(info.json()["module"]["bytes"], kProgram.size());
        EXPECT_EQ(info.json()["module"]["loaded"], false);
        EXPECT_TRUE(info.json()["parameters"].is_null());
      }
  }
}

TEST_F(EmbeddedCodeFile, AModuleOnTheCommandLineIsCodeToo) {
  folder.write("m.pt", kProgram);
  expect_consent_needed(small_density("data.csv", "run", {"--energy", "m.pt", "--quiet"}));
  expect_consent_needed({"train", "regressor", "table.csv", "--module", "m.pt", "--out", "run", "--quiet"});
}

// Files that come with a model cannot consent in the user's name.
TEST_F(EmbeddedCodeFile, ConsentIsNotTakenFromFiles) {
  folder.write("m.pt", kProgram);
  std::filesystem::create_directory(folder / "run");
  folder.write(
      "run/config.json",
      R"({"command":"train density","options":{"DATA":"data.csv","energy":"m.pt","allow-code":true}})");
  expect_user_error(folder.run({"train", "density", "--resume", "--out", "run", "--quiet"}),
                    "a program of 20 bytes");
  folder.write("c.toml", "allow-code = true\n");
  expect_user_error(folder.run({"score", "density.safetensors", "data.csv", "--config", "c.toml"}),
                    "allow-code is given on the command line, not in a file");
}

}  // namespace
}  // namespace selfnorm::cli
