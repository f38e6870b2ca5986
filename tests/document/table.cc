#include "document/table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

Table small_table() {
  Table table{.caption = "a caption", .columns = {"a,b", "c"}};
  table.add({1.5, "say \"so\""});
  table.add({NAN, "plain"});
  return table;
}

TEST(Table, NumbersHaveFourDigits) {
  EXPECT_EQ(written(0.0), "0");
  EXPECT_EQ(written(0.123456), "0.1235");
  EXPECT_EQ(written(5062.21), "5062");
  EXPECT_EQ(written(1337560.0), "1337560");
  EXPECT_EQ(written(-0.0), "0");
  EXPECT_EQ(written(INFINITY), "inf");
  EXPECT_EQ(written("as it is"), "as it is");
}

TEST(Table, CsvIsQuotedAndExact) {
  EXPECT_EQ(csv_text(small_table()), "\"a,b\",c\n1.5,\"say \"\"so\"\"\"\nnan,plain\n");
  EXPECT_EQ(csv_text({.columns = {"x"}, .rows = {{1.0 / 3}, {"two\nlines"}}}),
            "x\n0.3333333333333333\n\"two\nlines\"\n");
}

TEST(Table, RowsHaveAsManyCellsAsColumns) {
  Table table = small_table();
  EXPECT_THROW(table.add({1.0}), Bug);
  EXPECT_THROW(table.add({1.0, 2.0, 3.0}), Bug);
  EXPECT_EQ(table.rows.size(), 2u);
}

}  // namespace
}  // namespace selfnorm
