#include "base/memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Memory, MoreThanThereIsIsRefused) {
  EXPECT_GT(memory_limit(), 0u);
  EXPECT_NO_THROW(require_memory(1, "one byte", ""));
  try {
    require_memory(1e24, "all things", "ask for fewer");
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("not enough memory: all things need 1000000000000000.0 GB, but there are ", 0), 0u)
        << text;
    EXPECT_TRUE(text.ends_with("; ask for fewer")) << text;
  }
}

// In a file, in memory without a folder, and in memory where the folder cannot be written.
TEST(SetAside, GivesBackWhatWasPut) {
  std::string folder = (std::filesystem::temp_directory_path() / "selfnorm-aside-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const std::string& place : {folder, std::string(), folder + "/none"}) {
    SetAside aside(place);
    std::vector<float> values(3000);
    std::iota(values.begin(), values.end(), 1.0f);
    aside.put(values);
    aside.write(1, std::vector<float>{-1, -2});
    values[1] = -1;
    values[2] = -2;
    const auto seen = [&] { return std::vector<float>(aside.values().begin(), aside.values().end()); };
    EXPECT_EQ(seen(), values);
    aside.release(std::as_bytes(aside.values()));
    EXPECT_EQ(seen(), values);
    std::vector<float> back(values.size());
    aside.get(back);
    EXPECT_EQ(back, values);
    values.resize(7);
    aside.put(values);
    EXPECT_EQ(seen(), values);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace selfnorm
