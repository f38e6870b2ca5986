#include "model/energy/torchscript.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

class Torchscript : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_) << "not a module"; }
  void TearDown() override {
    unsetenv("SELFNORM_TORCH_MODULE");
    std::filesystem::remove(path_);
  }

  std::string error(EmbeddedCode code = EmbeddedCode::run) const {
    try {
      load_torchscript(path_, 2, code);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const std::string path_ = testing::TempDir() + "torchscript." +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".pt";
};

TEST_F(Torchscript, NothingIsLoadedWithoutConsent) {
  setenv("SELFNORM_TORCH_MODULE", "/nowhere/libselfnorm_torch.so", 1);
  for (const EmbeddedCode code : {EmbeddedCode::refuse, EmbeddedCode::seal}) {
    EXPECT_TRUE(error(code).starts_with(path_ + ": holds a TorchScript module, a program of 12 bytes"))
        << error(code);
    EXPECT_NE(error(code).find("allow-code"), std::string::npos) << error(code);
    EXPECT_EQ(error(code).find("/nowhere"), std::string::npos) << error(code);
  }
}

TEST_F(Torchscript, ASealedModuleIsItsRecord) {
  const EnergyRecord record{"torchscript", R"({"dimension":2})", {}, "bytes"};
  EXPECT_THROW(make_torchscript(record), Error);
  const auto sealed = make_torchscript(record, EmbeddedCode::seal);
  EXPECT_EQ(sealed->dimension(), 2u);
  EXPECT_EQ(sealed->record().module, "bytes");
  const std::vector<float> x(2);
  std::vector<double> s(1);
  EXPECT_THROW(sealed->score({x.data(), 1, 2}, s), Bug);
}

TEST_F(Torchscript, AMissingSharedModuleSaysWhatToInstall) {
  setenv("SELFNORM_TORCH_MODULE", "/nowhere/libselfnorm_torch.so", 1);
  EXPECT_TRUE(error().starts_with(path_)) << error();
  EXPECT_NE(error().find("/nowhere/libselfnorm_torch.so"), std::string::npos) << error();
  EXPECT_NE(error().find("libtorch-dev"), std::string::npos) << error();
  EnergyRecord record;
  record.settings = R"({"dimension":2})";
  EXPECT_THROW(make_torchscript(record, EmbeddedCode::run), Error);
}

TEST_F(Torchscript, ASharedModuleOfAnotherVersionIsRefused) {
  setenv("SELFNORM_TORCH_MODULE", "libc.so.6", 1);
  EXPECT_NE(error().find("another version"), std::string::npos) << error();
}

TEST_F(Torchscript, AMissingFileIsNamedBeforeAnythingIsLoaded) {
  setenv("SELFNORM_TORCH_MODULE", "/nowhere/libselfnorm_torch.so", 1);
  std::filesystem::remove(path_);
  EXPECT_TRUE(error().starts_with(path_)) << error();
  EXPECT_EQ(error().find("libtorch"), std::string::npos) << error();
}

TEST_F(Torchscript, TheSharedModuleOfTheBuildIsLoaded) {
  if (!has_torchscript()) GTEST_SKIP() << "built without libtorch";
  setenv("SELFNORM_TORCH_MODULE", SELFNORM_TORCH, 1);
  EXPECT_NE(error().find("not a TorchScript module"), std::string::npos) << error();
}

}  // namespace
}  // namespace selfnorm::test
