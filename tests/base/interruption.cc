#include "base/interruption.h"

#include <gtest/gtest.h>

namespace selfnorm {
namespace {

TEST(Interruption, IsThrownFromTheRequestUntilItIsWithdrawn) {
  EXPECT_NO_THROW(poll_interruption());
  request_interruption();
  EXPECT_THROW(poll_interruption(), Interrupted);
  EXPECT_THROW(poll_interruption(), Interrupted);
  withdraw_interruption();
  EXPECT_NO_THROW(poll_interruption());
}

}  // namespace
}  // namespace selfnorm
