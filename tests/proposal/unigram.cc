#include <gtest/gtest.h>

#include <cmath>

#include "proposal/proposal.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Unigram, PowersOfTheSmoothedCounts) {
  const std::vector<uint64_t> counts{0, 3, 15};
  const auto q = make_proposal("unigram", counts, 0.5);
  EXPECT_NEAR(std::exp(q->log_prob(0)), 1.0 / 7, 1e-15);
  EXPECT_NEAR(std::exp(q->log_prob(1)), 2.0 / 7, 1e-15);
  EXPECT_NEAR(std::exp(q->log_prob(2)), 4.0 / 7, 1e-15);
  const auto uniform = make_proposal("unigram", counts, 0);
  for (uint32_t k = 0; k < 3; ++k) EXPECT_NEAR(uniform->log_prob(k), -std::log(3.0), 1e-15);
}

TEST(Unigram, PowerOutOfRangeIsAUserError) {
  const std::vector<uint64_t> counts{1, 2};
  for (const double beta : {-0.1, 1.1, std::nan("")})
    EXPECT_THROW(make_proposal("unigram", counts, beta), Error);
}

}  // namespace
}  // namespace selfnorm
