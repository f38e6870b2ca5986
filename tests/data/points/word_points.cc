#include "data/points/word_points.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/array_bytes.h"
#include "data/write.h"

namespace selfnorm {
namespace {

using Words = std::vector<std::string>;

std::vector<float> rows_of(const PointSource& source) {
  std::vector<uint64_t> rows(source.rows());
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  std::vector<float> out(rows.size() * source.columns());
  source.read(rows, out);
  return out;
}

std::string word_error(const std::string& path, const PointOptions& options = {}) {
  try {
    open_points(path, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

constexpr const char* kTable = "size,kind,fuel\n1.5,van,gas\n2,car,\n3,car,oil\n";

TEST(WordPoints, WordsAreLevelsInTheirOrder) {
  const Scratch scratch;
  const auto points = open_points(scratch.file("a.csv", kTable));
  EXPECT_EQ(points->names(), (Words{"size", "kind", "fuel"}));
  EXPECT_EQ(points->categories(), (Categories{{}, {"car", "van"}, {"", "gas", "oil"}}));
  EXPECT_EQ(rows_of(*points), (std::vector<float>{1.5f, 1, 1, 2, 0, 0, 3, 0, 2}));
  // Numbers that are said to be words stand in the order of their values.
  PointOptions options;
  options.categorical = {"code"};
  const auto codes = open_points(scratch.file("b.csv", "code,x\n10,1\n9,2\n10,3\n"), options);
  EXPECT_EQ(codes->categories(), (Categories{{"9", "10"}, {}}));
  EXPECT_EQ(rows_of(*codes), (std::vector<float>{1, 1, 0, 2, 1, 3}));
  EXPECT_TRUE(open_points(scratch.file("c.csv", "a,b\n1,2\n3,4\n"))->categories().empty());
}

TEST(WordPoints, OtherTablesAreReadWithTheWordsOfTheModel) {
  const Scratch scratch;
  const auto first = open_points(scratch.file("a.csv", kTable));
  PointOptions options;
  options.names = first->names();
  options.known = first->categories();
  // Columns in another order, one more level unseen here.
  const auto other = open_points(scratch.file("b.csv", "kind,fuel,size\nvan,oil,7\n"), options);
  EXPECT_EQ(rows_of(*other), (std::vector<float>{7, 1, 2}));
  EXPECT_EQ(other->categories(), first->categories());
  const std::string unseen =
      word_error(scratch.file("c.csv", "size,kind,fuel\n1,car,gas\n2,bus,gas\n"), options);
  EXPECT_NE(unseen.find(":3"), std::string::npos) << unseen;
  EXPECT_NE(unseen.find("'bus'"), std::string::npos) << unseen;
  EXPECT_NE(unseen.find("'car', 'van'"), std::string::npos) << unseen;
  const std::string number = word_error(scratch.file("d.csv", "size,kind,fuel\nbig,car,gas\n"), options);
  EXPECT_NE(number.find("expected a number"), std::string::npos) << number;
}

TEST(WordPoints, WhatIsNeitherIsRefused) {
  const Scratch scratch;
  EXPECT_NE(word_error(scratch.file("a.csv", "x,w\n1,a\n,b\n3,a\n"))
                .find("a missing value, expected a number (or leave the column out: drop)"),
            std::string::npos);
  EXPECT_NE(word_error(scratch.file("b.csv", "x,w\n1,a\nq,b\n3,a\n")).find("found 'q', expected a number"),
            std::string::npos);
  std::string names = "x,w\n";
  for (int i = 0; i < 100; ++i) names += std::to_string(i) + ",n" + std::to_string(i) + "\n";
  EXPECT_NE(word_error(scratch.file("c.csv", names)).find("100 different words"), std::string::npos);
  PointOptions drop;
  drop.drop = {"w"};
  EXPECT_EQ(word_error(scratch.file("d.csv", names), drop), "accepted");
}

TEST(WordPoints, AnEmptyFieldAloneIsMissing) {
  const Scratch scratch;
  const auto points = open_points(scratch.file("a.csv", "x,w\n1,none\n2,NA\n3,\n4,null\n5,?\n6,b\n"));
  EXPECT_EQ(points->categories(), (Categories{{}, {"", "?", "NA", "b", "none", "null"}}));
  EXPECT_EQ(rows_of(*points), (std::vector<float>{1, 4, 2, 2, 3, 0, 4, 5, 5, 1, 6, 3}));
}

TEST(WordPoints, AreWrittenAsTheyWereRead) {
  const Scratch scratch;
  const auto points = open_points(scratch.file("a.csv", kTable));
  const std::vector<float> rows = rows_of(*points);
  write_points({rows.data(), 3, 3}, points->names(), scratch.path("b.csv"), points->categories());
  const auto again = open_points(scratch.path("b.csv"));
  EXPECT_EQ(rows_of(*again), rows);
  EXPECT_EQ(again->categories(), points->categories());
  EXPECT_EQ(again->fingerprint(), points->fingerprint());
}

}  // namespace
}  // namespace selfnorm
