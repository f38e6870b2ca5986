#include <gtest/gtest.h>

#include "data/text/text_encoder.h"

namespace selfnorm {
namespace {

TEST(UsedColumns, AreThoseOfSomeRow) {
  SparseMatrix x;
  x.columns = 5;
  x.begin = {0, 2, 2, 3};
  x.column = {1, 4, 1};
  x.value = {1, 2, 3};
  EXPECT_EQ(used_columns(x), (std::vector<uint32_t>{1, 4}));
  EXPECT_TRUE(used_columns(SparseMatrix{}).empty());
}

TEST(UsedColumns, KeepingRenumbersAndDropsTheOthers) {
  Dataset data;
  data.features.sparse.columns = 4;
  data.features.sparse.begin = {0, 3, 4, 4, 6};
  data.features.sparse.column = {0, 1, 3, 0, 1, 2};
  data.features.sparse.value = {1, 2, 3, 4, 5, 6};
  data.feature_names = {"a", "b", "c", "d"};
  keep_columns(std::vector<uint32_t>{1, 3}, data);
  EXPECT_EQ(data.features.sparse.columns, 2u);
  EXPECT_EQ(data.features.sparse.begin, (std::vector<uint64_t>{0, 2, 2, 2, 3}));
  EXPECT_EQ(data.features.sparse.column, (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_EQ(data.features.sparse.value, (std::vector<float>{2, 3, 5}));
  EXPECT_EQ(data.feature_names, (std::vector<std::string>{"b", "d"}));
}

TEST(UsedColumns, AnEncoderWithFewerWordsGivesTheSameRowsAsKeepingThem) {
  const TextEncoder all({.tf_idf = true}, {"cat", "dog", "sat"}, {1.5f, 2.0f, 1.0f});
  const TextEncoder some = with_words(all, std::vector<uint32_t>{0, 2});
  EXPECT_EQ(some.vocabulary(), (std::vector<std::string>{"cat", "sat"}));
  EXPECT_EQ(some.idf(), (std::vector<float>{1.5f, 1.0f}));
  EXPECT_EQ(some.encode("the cat sat").column, (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(some.encode("dog").column.empty());
}

}  // namespace
}  // namespace selfnorm
