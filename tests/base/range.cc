#include <gtest/gtest.h>

#include <cmath>

#include "base/failure.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Range, NamesTheOptionTheValueAndTheRange) {
  EXPECT_NO_THROW(require_range(true, "alpha", 0.5, "a number"));
  EXPECT_THROW(require_range(true, "alpha", std::nan(""), "a number"), Error);
  try {
    require_range(false, "alpha", -1, "a number >= 0");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "alpha = -1 is out of range; expected a number >= 0");
  }
}

TEST(Range, WordsAreOneOfTheChoices) {
  require_one_of("noise", "unigram", {"uniform", "unigram"});
  try {
    require_one_of("noise", "zipf", {"uniform", "unigram"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "noise 'zipf' is not known; expected one of uniform, unigram");
  }
}

}  // namespace
}  // namespace selfnorm
