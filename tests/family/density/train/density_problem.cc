#include "family/density/train/density_problem.h"

#include <gtest/gtest.h>

#include <numeric>

namespace selfnorm {
namespace {

// A column of numbers and one of bits; the last rows are held out.
Support space_of_table(float last_bit, uint32_t held_out) {
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back(0.25f * static_cast<float>(i * i % 17));
    values.push_back(static_cast<float>(i % 2));
  }
  values.back() = last_bit;
  std::vector<uint64_t> rows(40);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  DensityOptions options;
  options.objective = "fit";
  options.proposal = "autoregressive:4";
  const auto data = make_point_source(2, values);
  const std::span<const uint64_t> all(rows);
  return DensityProblem(*data, all.first(40 - held_out), all.last(held_out), options).space();
}

TEST(DensityProblem, ABitIsOneInTheRowsHeldOutToo) {
  EXPECT_EQ(space_of_table(1, 4).levels, (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(space_of_table(2, 4).is_real());
  EXPECT_EQ(space_of_table(1, 0).levels, (std::vector<uint32_t>{0, 2}));
}

}  // namespace
}  // namespace selfnorm
