#include "base/memory.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace selfnorm
