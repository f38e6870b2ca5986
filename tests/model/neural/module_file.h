// TorchScript modules written by the tests, each to a file of its own.
#pragma once

#include <gtest/gtest.h>
#include <torch/script.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace selfnorm::test {

class ModuleFile : public testing::Test {
 protected:
  void SetUp() override {
    setenv("SELFNORM_TORCH_MODULE", SELFNORM_TORCH, 1);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  using Parameters = std::vector<std::pair<std::string, at::Tensor>>;

  static torch::jit::Module module(const Parameters& parameters, const std::string& source) {
    torch::jit::Module out("Energy");
    for (const auto& [name, value] : parameters)
      out.register_parameter(name, value.clone().requires_grad_(), false);
    out.define(source);
    return out;
  }

  std::string saved(const torch::jit::Module& module) const {
    module.save(path_);
    return path_;
  }

  const std::string folder_ =
      testing::TempDir() + "neural." + testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ + "/energy.pt";
};

}  // namespace selfnorm::test
