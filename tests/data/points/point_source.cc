#include "data/points/point_source.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "data/array_bytes.h"
#include "data/write.h"

namespace selfnorm {
namespace {

using Floats = std::vector<float>;
using Names = std::vector<std::string>;

Floats all_rows(const PointSource& source) {
  std::vector<uint64_t> rows(source.rows());
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  Floats out(rows.size() * source.columns());
  source.read(rows, out);
  return out;
}

std::string points_error(const std::string& path, const PointOptions& options = {}) {
  try {
    all_rows(*open_points(path, options));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PointSource, Tables) {
  const Scratch scratch;
  const auto named = open_points(scratch.file("a.csv", "label,\"x, 2\"\n1,2\n-3.5,4e1\n"));
  EXPECT_EQ(named->names(), (Names{"label", "x, 2"}));
  EXPECT_EQ(all_rows(*named), (Floats{1, 2, -3.5f, 40}));
  const auto bare = open_points(scratch.file("b.tsv", "1\t2\r\n3\t4\r\n"));
  EXPECT_TRUE(bare->names().empty());
  EXPECT_EQ(all_rows(*bare), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(all_rows(*open_points(scratch.file("c.csv.gz", gzip("\xEF\xBB\xBFx\n7\n")))), (Floats{7}));
  PointOptions options;
  options.header = Header::yes;
  EXPECT_EQ(all_rows(*open_points(scratch.file("d.csv", "1,2\n3,4\n"), options)), (Floats{3, 4}));
}

TEST(PointSource, RowsInTheOrderAskedFor) {
  const auto source = make_point_source(2, {0, 1, 10, 11, 20, 21}, {"a", "b"});
  Floats out(6);
  source->read(std::vector<uint64_t>{2, 0, 2}, out);
  EXPECT_EQ(out, (Floats{20, 21, 0, 1, 20, 21}));
  EXPECT_THROW(source->read(std::vector<uint64_t>{3}, std::span(out).first(2)), Bug);
  EXPECT_THROW(make_point_source(1, {0, NAN}), DataError);
}

TEST(PointSource, DroppedColumns) {
  const Scratch scratch;
  PointOptions options;
  options.drop = {"species", "0"};
  const std::string table = scratch.file("a.csv", "id,x,species\n1,2,cat\n2,3,dog\n");
  EXPECT_EQ(all_rows(*open_points(table, options)), (Floats{2, 3}));
  EXPECT_EQ(open_points(table, options)->names(), (Names{"x"}));
  options.drop = {"1"};
  const std::string array = scratch.file("a.npy", npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(all_rows(*open_points(array, options)), (Floats{1, 3, 4, 6}));
  EXPECT_EQ(all_rows(*open_points(scratch.file("a.svm", "0 1:1 2:2\n1 3:3\n"), options)),
            (Floats{1, 0, 0, 3}));
  options.drop = {"q"};
  EXPECT_EQ(points_error(table, options),
            table + ":1: found no column 'q' to leave out; the columns are 'id', 'x', 'species'");
  EXPECT_EQ(points_error(array, options),
            array + ": found no column 'q' to leave out; the columns have no names, expected 0 to 2");
  options.drop = {"0", "1", "2"};
  EXPECT_EQ(points_error(array, options), array + ": all 3 columns are left out");
  EXPECT_EQ(points_error(table, options),
            table + ":1: found no column that is not left out; the columns are 'id', 'x', 'species'");
}

TEST(PointSource, ArraysInPlace) {
  const Scratch scratch;
  const std::string halves = npy("<f2", "(2, 1, 2)", raw<uint16_t>({0x3C00, 0x4000, 0x4200, 0xC000}));
  EXPECT_EQ(all_rows(*open_points(scratch.file("a.npy", halves))), (Floats{1, 2, 3, -2}));
  const std::string columns = npy("<f8", "(2, 2)", raw<double>({1, 2, 3, 4}), true);
  EXPECT_EQ(all_rows(*open_points(scratch.file("b.npy", columns))), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(all_rows(*open_points(scratch.file("c.npy", npy("<i4", "(3,)", raw<int32_t>({5, 6, 7}))))),
            (Floats{5, 6, 7}));
  const std::string labelled = zip({{"X.npy", columns, true}, {"y.npy", npy("|S1", "(1,)", "a")}});
  EXPECT_EQ(all_rows(*open_points(scratch.file("d.npz", labelled))), (Floats{1, 3, 2, 4}));
  PointOptions options;
  options.array = "q";
  const std::string two = scratch.file(
      "e.safetensors",
      safetensors({{"p", "F32", "[1, 1]", raw<float>({1})}, {"q", "F32", "[1, 1]", raw<float>({2})}}));
  EXPECT_EQ(all_rows(*open_points(two, options)), (Floats{2}));
  EXPECT_EQ(all_rows(*open_points(scratch.file("f.npy.gz", gzip(columns)))), (Floats{1, 3, 2, 4}));
}

TEST(PointSource, ModelsColumns) {
  const Scratch scratch;
  PointOptions options;
  options.names = {"b", "a"};
  options.columns = 2;
  EXPECT_EQ(all_rows(*open_points(scratch.file("a.csv", "a,b\n1,2\n"), options)), (Floats{2, 1}));
  EXPECT_EQ(open_points(scratch.path("a.csv"), options)->names(), options.names);
  EXPECT_EQ(all_rows(*open_points(scratch.file("b.csv", "1,2\n3,4\n"), options)), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(all_rows(*open_points(scratch.file("c.svm", "1 1:5\n"), options)), (Floats{5, 0}));
  const std::string other = scratch.file("d.csv", "a,b,c\n1,2,3\n");
  EXPECT_EQ(points_error(other, options),
            other +
                ":1: found a column 'c', which the model does not have; leave it out (drop), or give data "
                "with the model's columns 'b', 'a'");
  options.drop = {"c"};
  EXPECT_EQ(points_error(other, options), "accepted");
  options.drop = {"c", "b"};
  EXPECT_EQ(points_error(other, options),
            other + ":1: found no column 'b', which the model has; the columns are 'a', 'b', 'c'");
  options.drop = {};
  const std::string three = scratch.file("e.csv", "1,2,3\n");
  EXPECT_EQ(points_error(three, options), three + ": found 3 columns, but the model has 2");
  const std::string wide = scratch.file("f.svm", "1 3:1\n");
  EXPECT_EQ(points_error(wide, options), wide + ": found 3 columns, but the model has 2");
  const std::string one = scratch.file("g.npy", npy("<f4", "(1, 1)", raw<float>({1})));
  EXPECT_EQ(points_error(one, options), one + ": found 1 columns, but the model has 2");
}

TEST(PointSource, Errors) {
  const Scratch scratch;
  const auto table = [&](const std::string& text) { return points_error(scratch.file("t.csv", text)); };
  const std::string t = scratch.path("t.csv");
  const std::string advice = " (a column that is no number is left out with drop)";
  EXPECT_EQ(table("a,b\n1,2\n3,cat\n"),
            t + ":3: in column 'b': found 'cat', expected a finite number" + advice);
  EXPECT_TRUE(
      table("1,2\n3,nan\n").starts_with(t + ":2: in column 1: found 'nan', expected a finite number"));
  EXPECT_TRUE(table("1,2\n3,\n").starts_with(t + ":2: in column 1: "));
  EXPECT_TRUE(table("1,2\n3,1e39\n").starts_with(t + ":2: in column 1: found '1e39'"));
  EXPECT_EQ(table("1,2\n3\n"), t + ":2: found 1 fields, expected 2 as in the first row; leave a missing "
                                   "field empty, but keep its ','");
  EXPECT_EQ(table("a,a\n1,2\n"), t + ":1: found the column name 'a' twice, expected every name once");
  EXPECT_EQ(table(""),
            t + ": the file is empty; expected rows of data: write it again, or give another file");
  EXPECT_EQ(table("\n\n"),
            t + ": the file is empty; expected rows of data: write it again, or give another file");
  EXPECT_EQ(table("a,b\n"),
            t + ": found no rows of data; expected at least one: add some, or give another file");
  const auto array = [&](const std::string& bytes) { return points_error(scratch.file("h", bytes)); };
  const std::string h = scratch.path("h");
  EXPECT_EQ(array(npy("<f4", "(2, 2)", raw<float>({1, 2, 3, INFINITY}))),
            h + ":2: row 2: found inf at position 1, expected finite numbers in the range of a 32-bit float");
  EXPECT_EQ(array(npy("|S1", "(1, 1)", "a")), h + ": found elements that are not numbers");
  EXPECT_EQ(array(npy("<f4", "(0, 2)", "")),
            h + ": found no rows of data; expected at least one: add some, or give another file");
  EXPECT_EQ(array(npy("<f4", "()", raw<float>({1}))),
            h + ": found a single number, expected points: rows x columns");
  EXPECT_EQ(array(npy("<f4", "(1, 2)", raw<float>({1}))),
            h + ": the header declares 8 bytes of elements, but 4 follow");
  EXPECT_TRUE(points_error(scratch.path("none")).starts_with("cannot read " + scratch.path("none")));
  const std::string words = scratch.file("w.tsv", "cat\tmeow meow\ndog\twoof\n");
  EXPECT_EQ(points_error(words), "accepted");  // one row of words (data/points/word_points.h)
  PointOptions options;
  options.array = "X";
  EXPECT_EQ(points_error(t, options), t + ": found no array file, but an array is named (X)");
  options = {};
  options.header = Header::no;
  EXPECT_EQ(points_error(scratch.file("h", npy("<f4", "(1, 1)", raw<float>({1}))), options),
            h + ": found an array file, but a header (header) is for csv and tsv");
  options = {};
  options.categorical = {"0"};
  const std::string sparse = scratch.file("s.svm", "0 1:1\n1 2:3\n");
  EXPECT_EQ(points_error(sparse, options),
            sparse + ": found no table, but categorical columns are for csv, tsv and JSON lines");
}

TEST(PointSource, FingerprintFollowsTheContents) {
  const Scratch scratch;
  const auto print = [&](const std::string& bytes) {
    return open_points(scratch.file("a", bytes))->fingerprint();
  };
  const std::string one = print("a,b\n1,2\n"), array = print(npy("<f4", "(1, 2)", raw<float>({1, 2})));
  EXPECT_EQ(one, print("a,b\n1.0,2e0\n"));
  EXPECT_NE(one, print("a,c\n1,2\n"));
  EXPECT_NE(one, print("a,b\n1,3\n"));
  EXPECT_NE(array, print(npy("<f4", "(2, 1)", raw<float>({1, 2}))));
  EXPECT_NE(array, print(npy("<f4", "(1, 2)", raw<float>({1, 3}))));
}

RC_GTEST_PROP(PointSource, WritingAndReadingGiveTheSameBack,
              (Floats values, uint8_t columns, bool is_table)) {
  const uint32_t d = columns % 5u + 1u;
  for (float& v : values) v = std::isfinite(v) ? v : 0.1f;
  RC_PRE(values.size() >= d);
  values.resize(values.size() / d * d);
  const Scratch scratch;
  const std::string path = scratch.path(is_table ? "a.csv" : "a.npy");
  write_points({values.data(), values.size() / d, d}, {}, path);
  const auto source = open_points(path);
  RC_ASSERT(all_rows(*source) == values);
  RC_ASSERT(source->names().size() == (is_table ? d : 0));
}

}  // namespace
}  // namespace selfnorm
