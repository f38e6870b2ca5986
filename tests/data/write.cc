#include "data/write.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

float any_float() {
  float value = std::bit_cast<float>(*rc::gen::arbitrary<uint32_t>());
  return std::isfinite(value) ? value : 1.0f;
}

void append_random_row(Features& features) {
  for (uint32_t j = 0; j < 5; ++j)
    if (*rc::gen::arbitrary<bool>() || (j == 4 && features.rows() == 0)) {
      features.sparse.column.push_back(j);
      features.sparse.value.push_back(any_float());
    }
  features.sparse.columns = 5;
  features.sparse.begin.push_back(features.sparse.column.size());
}

RC_GTEST_PROP(Write, ReadingGivesTheSameBack, ()) {
  Dataset data;
  data.labels = {"-3", "2", "11"};
  auto rows = *rc::gen::inRange(3, 20);
  for (int i = 0; i < rows; ++i) {
    append_random_row(data.features);
    data.target.push_back(i < 3 ? static_cast<uint32_t>(i) : *rc::gen::inRange(0u, 3u));
  }
  Scratch scratch;
  write_svmlight(data, scratch.path("a.svm"));
  expect_equal(read_dataset(scratch.path("a.svm")).data, data);
}

RC_GTEST_PROP(Write, GroupsToo, ()) {
  Dataset data;
  data.group_begin = {0};
  auto groups = *rc::gen::inRange(1, 8);
  for (int g = 0; g < groups; ++g) {
    auto size = *rc::gen::inRange(1u, 5u);
    for (uint32_t i = 0; i < size; ++i) append_random_row(data.features);
    data.group_begin.push_back(data.features.rows());
    data.target.push_back(*rc::gen::inRange(0u, size));
  }
  Scratch scratch;
  write_svmlight(data, scratch.path("a.svm"));
  expect_equal(read_dataset(scratch.path("a.svm")).data, data);
}

TEST(Write, DenseRowsKeepTheirWidth) {
  Dataset data;
  data.labels = {"a", "b"};
  data.target = {0, 1};
  data.features.is_sparse = false;
  data.features.dense = {2, 3, {1, 0, 0, 0, 2, 0}};
  Scratch scratch;
  write_svmlight(data, scratch.path("a.svm"));
  std::string text;
  std::getline(std::ifstream(scratch.path("a.svm")), text, '\0');
  EXPECT_EQ(text, "a 1:1 3:0\nb 2:2 3:0\n");
}

TEST(Write, WhatTheFormatCannotHold) {
  Dataset data = read_bytes("a.csv", "label,f\nx y,1\n").data;
  Scratch scratch;
  EXPECT_THROW(write_svmlight(data, scratch.path("a.svm")), Error);
  data.labels = {"x"};
  data.weight = {2};
  EXPECT_THROW(write_svmlight(data, scratch.path("a.svm")), Error);
  EXPECT_FALSE(std::filesystem::exists(scratch.path("a.svm")));
}

TEST(Write, Points) {
  const Scratch scratch;
  const std::vector<float> values{1, 0.1f, -2, 3e-9f};
  const Points points{values.data(), 2, 2};
  const auto text = [&](const std::vector<std::string>& names) {
    write_points(points, names, scratch.path("a.csv"));
    std::string all;
    std::getline(std::ifstream(scratch.path("a.csv")), all, '\0');
    return all;
  };
  EXPECT_EQ(text({}), "x1,x2\n1,0.1\n-2,3e-09\n");
  EXPECT_EQ(text({"a\"b", "c,d"}), "\"a\"\"b\",\"c,d\"\n1,0.1\n-2,3e-09\n");
  EXPECT_THROW(text({"a"}), Error);
  EXPECT_THROW(write_points(points, {}, scratch.path("a.txt")), Error);
  const std::vector<float> bad{1, NAN};
  EXPECT_THROW(write_points({bad.data(), 1, 2}, {}, scratch.path("b.csv")), Error);
  EXPECT_FALSE(std::filesystem::exists(scratch.path("b.csv")));
}

}  // namespace
}  // namespace selfnorm
