#include "gpu/device.h"

#include <gtest/gtest.h>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Leaves the process as it was found.
struct ChosenDevice : testing::Test {
  ~ChosenDevice() override { choose_device("auto"); }
};

TEST_F(ChosenDevice, TheCpuIsNoDevice) {
  choose_device("cpu");
  EXPECT_EQ(chosen_device().device, nullptr);
  EXPECT_EQ(used_device(), "cpu");
}

TEST_F(ChosenDevice, AutoIsNoErrorWithoutAGpu) {
  choose_device("auto");
  EXPECT_FALSE(chosen_device().is_required);
}

TEST_F(ChosenDevice, AGpuThatIsNotThereIsAnErrorThatSaysWhatToDo) {
  choose_device("cuda:99");
  try {
    chosen_device();
    FAIL() << "there are no hundred GPUs";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.find("make gpu") != std::string::npos || text.find("device cpu") != std::string::npos)
        << text;
  }
}

TEST_F(ChosenDevice, OtherWordsAreErrors) {
  for (const char* word : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "", "CPU"})
    EXPECT_THROW(choose_device(word), Error) << word;
}

}  // namespace
}  // namespace selfnorm
