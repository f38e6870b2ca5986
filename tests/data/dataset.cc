#include "data/dataset.h"

#include <gtest/gtest.h>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

using Indices = std::vector<uint64_t>;

TEST(Subset, DenseRowsWithWeights) {
  ReadOptions options;
  options.weight_column = "w";
  Dataset d = read_bytes("a.csv", "label,f,w\nx,1,10\ny,2,20\nz,3,30\n", options).data;
  Dataset s = subset(d, Indices{2, 0, 2});
  EXPECT_EQ(s.features.dense.values, (std::vector<float>{3, 1, 3}));
  EXPECT_EQ(s.features.rows(), 3u);
  EXPECT_EQ(s.weight, (std::vector<float>{30, 10, 30}));
  EXPECT_EQ(s.target, (std::vector<uint32_t>{2, 0, 2}));
  EXPECT_EQ(s.labels, d.labels);
  EXPECT_EQ(s.feature_names, d.feature_names);
  EXPECT_THROW(subset(d, Indices{3}), Bug);
  s.labels.clear();
  s.feature_names.clear();
  expect_equal(unnamed_subset(d, Indices{2, 0, 2}), s);
}

TEST(Subset, AllInOrderIsTheWhole) {
  for (const char* text : {"a 1:1 2:2\nb\nc 3:1\n", "1 qid:1 1:1\n0 qid:1 2:1\n1 qid:2 3:1\n"}) {
    Dataset d = read_bytes("a.svm", text).data;
    Indices all(d.examples());
    for (uint64_t i = 0; i < all.size(); ++i) all[i] = i;
    expect_equal(subset(d, all), d);
  }
}

TEST(Subset, Groups) {
  Dataset d = read_bytes("a.svm", "1 qid:1 1:1\n0 qid:1 2:1\n1 qid:2 3:7\n").data;
  Dataset s = subset(d, Indices{1});
  EXPECT_EQ(s.group_begin, (Indices{0, 1}));
  EXPECT_EQ(s.features.sparse.value, std::vector<float>{7});
  EXPECT_EQ(subset(d, Indices{}).examples(), 0u);
}

}  // namespace
}  // namespace selfnorm
