#include <gtest/gtest.h>

#include "data/toy/toys.h"
#include "family/density/train/density_problem.h"

namespace selfnorm {
namespace {

uint32_t chosen(const char* toy, uint32_t dimension, uint64_t rows) {
  const auto source = make_toy(toy, dimension);
  const std::vector<float> x = sample_toy(*source, rows, 3);
  return choose_components({x.data(), rows, source->dimension()}, {});
}

TEST(MixtureChoice, AsManyAsTheDataDeserve) {
  EXPECT_LE(chosen("gaussian", 12, 1000), 2u);
  EXPECT_GE(chosen("eight-gaussians", 0, 3000), 8u);
  EXPECT_GE(chosen("ring", 0, 3000), 8u);
}

TEST(MixtureChoice, FewRowsHaveFew) {
  EXPECT_EQ(chosen("ring", 0, 2), 1u);
  EXPECT_EQ(chosen("ring", 0, 25), 1u);
  EXPECT_LE(chosen("ring", 0, 100), 4u);
}

}  // namespace
}  // namespace selfnorm
