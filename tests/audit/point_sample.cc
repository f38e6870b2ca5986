#include <gtest/gtest.h>

#include "audit/stream.h"

namespace selfnorm {
namespace {

PointSample<uint64_t> sampled(uint64_t n) {
  PointSample<uint64_t> out;
  for (uint64_t i = 0; i < n; ++i) {
    if (out.takes_next())
      out.add(i);
    else if (i % 2 == 0)
      out.skip();
    else
      out.add(i);  // not kept, as promised
  }
  return out;
}

TEST(PointSample, KeepsEverythingThatFits) {
  for (const uint64_t n : {uint64_t{0}, uint64_t{1}, PointSample<uint64_t>::kMost}) {
    const PointSample<uint64_t> found = sampled(n);
    EXPECT_EQ(found.count(), n);
    EXPECT_EQ(found.stride(), 1u);
    ASSERT_EQ(found.points().size(), n);
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(found.points()[i], i);
  }
}

TEST(PointSample, BeyondThatEvenlySpread) {
  for (const uint64_t n : {uint64_t{65537}, uint64_t{65539}, uint64_t{131072}, uint64_t{131073},
                           uint64_t{200000}, uint64_t{1000003}}) {
    const PointSample<uint64_t> found = sampled(n);
    const uint64_t stride = found.stride();
    EXPECT_EQ(found.count(), n);
    EXPECT_LE(found.points().size(), PointSample<uint64_t>::kMost);
    EXPECT_GT(found.points().size(), PointSample<uint64_t>::kMost / 2);
    ASSERT_EQ(found.points().size(), (n + stride - 1) / stride);
    for (uint64_t i = 0; i < found.points().size(); ++i) ASSERT_EQ(found.points()[i], i * stride);
  }
}

}  // namespace
}  // namespace selfnorm
