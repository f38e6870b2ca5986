#include "experiments/density/real_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

RealTable table_of(const std::string& text, uint64_t seed = 0) {
  const Scratch folder;
  std::ofstream(folder / "t") << text;
  return read_real_table("t", folder / "t", seed);
}

TEST(RealTable, BlanksCommasAndWords) {
  const RealTable table = table_of("T,1.5,2e1\n\n I\t3 , 4 \r\n");
  EXPECT_EQ(table.columns, 2u);
  EXPECT_EQ(table.values, (std::vector<float>{1.5f, 20, 3, 4}));
}

TEST(RealTable, RepeatedRowsAreLeftOut) {
  const RealTable table = table_of("1 2\n3 4\n1 2\n1 2\n");
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.duplicates, 2u);
}

// The first column has 2 values in 6 rows, multiples of 0.1; the second one 6.
TEST(RealTable, FewRepeatedValuesGetNoiseOfTheirUnit) {
  const std::string text = ".1 1\n.1 2\n.1 3\n.4 4\n.4 5\n.4 6\n";
  const RealTable table = table_of(text);
  EXPECT_EQ(table.dequantised, 1u);
  for (size_t i = 0; i < 6; ++i) {
    const double low = i < 3 ? 0.1 : 0.4;
    EXPECT_GE(table.values[2 * i], low - 1e-6);
    EXPECT_LT(table.values[2 * i], low + 0.1 + 1e-6);
    EXPECT_EQ(table.values[2 * i + 1], static_cast<float>(i + 1));
  }
  EXPECT_NE(table.values[0], table.values[2]);
  EXPECT_EQ(table.values, table_of(text).values);
  EXPECT_NE(table.values, table_of(text, 1).values);
}

TEST(RealTable, RefusesWhatIsNoTable) {
  EXPECT_THROW(read_real_table("t", "/no/such/file", 0), Error);
  EXPECT_THROW(table_of(""), Error);
  EXPECT_THROW(table_of("words alone\n"), Error);
  try {
    table_of("1 2\n3\n");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find(":2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace selfnorm
