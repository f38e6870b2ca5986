#include "normalizer/crf/attribute_uses.h"

#include <gtest/gtest.h>

#include "normalizer/crf/small_crfs.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Against the sum row by row; attributes with thousands of uses, some with none, a range inside.
TEST(AttributeUses, GradientIsThatOfTheRows) {
  for (const bool has_values : {false, true}) {
    const SmallSequences kind{.unigrams = 9, .has_values = has_values, .sentences = 2000};
    const Sequences data = kind.make(2);
    const Range range{5, data.positions() - 7};
    constexpr size_t kWidth = 5;
    const auto d = random_vector<double>(range.size() * kWidth, 1, 3);
    std::vector<double> gradient(12 * kWidth, 2), truth = gradient;
    AttributeUses(data.unigram, range, 12).add_gradient(d, kWidth, gradient.data());
    for (uint64_t row = range.begin; row < range.end; ++row) {
      for (uint64_t i = data.unigram.begin[row]; i < data.unigram.begin[row + 1]; ++i) {
        const double value = has_values ? static_cast<double>(data.unigram.value[i]) : 1;
        for (size_t k = 0; k < kWidth; ++k)
          truth[data.unigram.attribute[i] * kWidth + k] += value * d[(row - range.begin) * kWidth + k];
      }
    }
    for (size_t i = 0; i < truth.size(); ++i) EXPECT_NEAR(gradient[i], truth[i], 1e-10);
  }
}

TEST(AttributeUses, NoUsesAndUnknownAttributes) {
  AttributeRows rows;
  rows.begin = {0, 0, 1};
  rows.attribute = {4};
  std::vector<float> gradient(5, 1);
  AttributeUses(rows, {0, 1}, 5).add_gradient(std::vector<float>(1, 7), 1, gradient.data());
  EXPECT_EQ(gradient, std::vector<float>(5, 1));
  EXPECT_THROW(AttributeUses(rows, {0, 2}, 4), Bug);
}

}  // namespace
}  // namespace selfnorm
