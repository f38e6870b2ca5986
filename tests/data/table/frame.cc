#include "data/table/frame.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "data/array_bytes.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

using Texts = std::vector<std::string>;
using Levels = std::vector<uint32_t>;
using Doubles = std::vector<double>;
constexpr uint32_t kNoLevel = kMissingLevel;

Frame frame_of(const std::string& name, const std::string& bytes, const FrameOptions& options = {}) {
  const Scratch scratch;
  return read_frame(scratch.file(name, bytes), options);
}

std::string frame_error(const std::string& name, const std::string& bytes, const FrameOptions& options = {}) {
  const Scratch scratch;
  const std::string path = scratch.file(name, bytes);
  try {
    read_frame(path, options);
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.starts_with(path) ? message.substr(path.size()) : message;
  }
  return "accepted";
}

Texts names_of(const Frame& frame) {
  Texts names;
  for (const FrameColumn& column : frame.columns) names.push_back(column.name);
  return names;
}

TEST(Frame, KindsOfColumns) {
  const Frame frame =
      frame_of("a.csv", "size,\"the, colour\",code\n1,red,7\r\n-2.5e3,,x7\n,\"r\"\"ed\",?\n\n4,red,+1\n");
  EXPECT_EQ(frame.rows, 4u);
  EXPECT_EQ(frame.line, (std::vector<uint64_t>{2, 3, 4, 6}));
  EXPECT_EQ(names_of(frame), (Texts{"size", "the, colour", "code"}));
  EXPECT_TRUE(frame.columns[0].is_numeric);
  EXPECT_EQ(frame.columns[0].number[1], -2500);
  EXPECT_TRUE(std::isnan(frame.columns[0].number[2]));
  EXPECT_FALSE(frame.columns[1].is_numeric);
  EXPECT_TRUE(frame.columns[1].number.empty());
  EXPECT_EQ(frame.columns[1].level, (Levels{0, kNoLevel, 1, 0}));
  EXPECT_EQ(frame.columns[1].levels, (Texts{"red", "r\"ed"}));
  EXPECT_EQ(frame.columns[2].levels, (Texts{"7", "x7", "+1"}));
  EXPECT_EQ(frame.find("code"), &frame.columns[2]);
  EXPECT_EQ(frame.find("size "), nullptr);
}

TEST(Frame, MissingValues) {
  const Frame frame =
      frame_of("a.tsv", "a\tb\n1\tu\nNA\tn/a\nnan\tNULL\n NaN \tNone\n\t?\nnone\tnothing\n-nan\tu\n");
  for (size_t r = 0; r < 7; ++r) EXPECT_EQ(std::isnan(frame.columns[0].number[r]), r > 0) << r;
  EXPECT_EQ(frame.columns[1].level, (Levels{0, kNoLevel, kNoLevel, kNoLevel, kNoLevel, 1, 0}));
  const Frame nothing = frame_of("a.csv", "a,b\n1,\n2,NA\n");
  EXPECT_TRUE(nothing.columns[1].is_numeric);
  EXPECT_TRUE(std::isnan(nothing.columns[1].number[0]));
}

TEST(Frame, Doubles) {
  const Frame frame = frame_of("a.csv", "a\n0.1\n1e300\n-1e-310\n123456789.123456789\n1e-999\n");
  EXPECT_EQ(frame.columns[0].number, (Doubles{0.1, 1e300, -1e-310, 123456789.123456789, 0}));
}

TEST(Frame, Headers) {
  EXPECT_EQ(names_of(frame_of("a.csv", "1,2\n3,4\n")), (Texts{"0", "1"}));
  FrameOptions options;
  options.header = "yes";
  EXPECT_EQ(names_of(frame_of("a.csv", "1,2\n3,4\n", options)), (Texts{"1", "2"}));
  options.header = "no";
  const Frame frame = frame_of("a.csv", "a,b\nc,b\n", options);
  EXPECT_EQ(frame.columns[0].levels, (Texts{"a", "c"}));
  EXPECT_EQ(frame.columns[1].level, (Levels{0, 0}));
  options.header = "maybe";
  EXPECT_NE(frame_error("a.csv", "1\n", options).find("header 'maybe' is not known"), std::string::npos);
  EXPECT_EQ(names_of(frame_of("a.csv.gz", gzip("\xEF\xBB\xBFx,y\n1,2\n"))), (Texts{"x", "y"}));
}

TEST(Frame, DeclaredColumns) {
  const std::string text = "a,b,c\n01,2,3\n1,2,3\n";
  FrameOptions options;
  options.categorical = {"a"};
  options.numeric = {"b"};
  options.ignored = {"2"};
  const Frame frame = frame_of("a.csv", text, options);
  EXPECT_EQ(names_of(frame), (Texts{"a", "b"}));
  EXPECT_EQ(frame.columns[0].levels, (Texts{"01", "1"}));
  options.ignored = {"c", "d"};
  EXPECT_EQ(frame_error("a.csv", text, options), ":1: found no column 'd'; the columns are 'a', 'b', 'c'");
  options.ignored = {"b"};
  EXPECT_NE(frame_error("a.csv", text, options).find("the column 'b' is declared twice"), std::string::npos);
  options = {.ignored = {"a", "b", "c"}};
  EXPECT_NE(frame_error("a.csv", text, options).find("no column that is not left out"), std::string::npos);
}

TEST(Frame, BadFiles) {
  FrameOptions numeric;
  numeric.numeric = {"b"};
  EXPECT_EQ(frame_error("a.csv", "a,b\n1,2\n\n3,many\n", numeric),
            ":4: in column 'b': found 'many', expected a number");
  EXPECT_EQ(frame_error("a.csv", "a,b\n1,2\n3,-inf\n"),
            ":3: in column 'b': found '-inf', expected a finite number");
  EXPECT_EQ(frame_error("a.csv", "a,b\n1,2\n3,1e400\n", numeric),
            ":3: in column 'b': found '1e400', expected a finite number");
  EXPECT_EQ(frame_error("a.csv", "a,b\n1,2\n3,4,5\n"),
            ":3: found 3 fields, expected 2 as in the first row; a field with ',' in it stands in quotes");
  EXPECT_EQ(frame_error("a.csv", "a,b\n1,\"2\n3,4\n"),
            ":2: found '\"2\\n3,4\\n', a quoted field that is never closed");
  EXPECT_EQ(frame_error("a.csv", "a,a\n1,2\n"),
            ":1: found the column name 'a' twice, expected every name once");
  EXPECT_EQ(frame_error("a.csv", "a,b\n"),
            ": found no rows of data; expected at least one: add some, or give another file");
  EXPECT_EQ(frame_error("a.csv", ""),
            ": the file is empty; expected rows of data: write it again, or give another file");
  EXPECT_EQ(frame_error("a.svm", "1 2:3\n"), ": found svmlight data, expected csv, tsv, npz or safetensors");
  EXPECT_NE(frame_error("a.csv", "\xFF,\xFE\n1,2\n").find("twice"), std::string::npos);
  EXPECT_THROW(read_frame("/nonexistent/a.csv"), Error);
}

// Doubles up to the last row, beyond the first block, then a text: the spellings of all are kept.
TEST(Frame, TextThatComesLate) {
  std::string text = "a,b,c\n";
  uint64_t rows = 0;
  for (; text.size() < 2500000; ++rows) text += fmt::format("00{},{}.5,inf\n", rows % 10, rows);
  const Frame frame = frame_of("a.csv", text + "x,0,y\n");
  EXPECT_EQ(frame.rows, rows + 1);
  EXPECT_EQ(frame.columns[0].levels.size(), 11u);
  EXPECT_EQ(frame.columns[0].levels[3], "003");
  EXPECT_EQ(frame.columns[0].level.back(), 10u);
  EXPECT_EQ(frame.columns[1].number[rows - 1], static_cast<double>(rows) - 0.5);
  EXPECT_EQ(frame.columns[2].levels, (Texts{"inf", "y"}));
  EXPECT_EQ(frame.line.back(), rows + 2);
  EXPECT_EQ(frame_error("a.csv", text + "x,0,3\n"),
            ":2: in column 'c': found 'inf', expected a finite number");
  EXPECT_EQ(frame_error("a.csv", text + "x,0\n"),
            fmt::format(":{}: found 2 fields, expected 3 as in the first row; leave a missing "
                        "field empty, but keep its ','",
                        rows + 2));
  const ThreadLimit one(1);
  const Frame same = frame_of("a.csv", text + "x,0,y\n");
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(same.columns[c].number, frame.columns[c].number);
    EXPECT_EQ(same.columns[c].level, frame.columns[c].level);
    EXPECT_EQ(same.columns[c].levels, frame.columns[c].levels);
  }
}

TEST(Frame, BytesThatAreNoText) {
  const Frame frame = frame_of("a.csv", "n\xFF,b\nu\xC3\x28,1\nv,2\n");
  EXPECT_EQ(frame.columns[0].name, "n\xEF\xBF\xBD");
  EXPECT_EQ(frame.columns[0].levels, (Texts{"u\xEF\xBF\xBD(", "v"}));
}

TEST(Frame, Arrays) {
  const std::string x = npy("<f8", "(2, 3)", raw<double>({1, 2e300, NAN, 4, 5, 6}));
  const std::string y = npy("<i4", "(2,)", raw<int32_t>({7, -8}));
  const Frame frame = frame_of("a.npz", zip({{"x.npy", x, true}, {"y.npy", y}}));
  EXPECT_EQ(names_of(frame), (Texts{"x0", "x1", "x2", "y"}));
  EXPECT_EQ(frame.columns[1].number, (Doubles{2e300, 5}));
  EXPECT_TRUE(std::isnan(frame.columns[2].number[0]));
  EXPECT_EQ(frame.columns[3].number, (Doubles{7, -8}));
  EXPECT_EQ(frame.line, (std::vector<uint64_t>{1, 2}));

  const std::string columns = npy("<f4", "(2, 2)", raw<float>({1, 2, 3, 4}), true);
  const Frame two =
      frame_of("a.npz", zip({{"x.npy", x}, {"y.npy", columns}}), {.categorical = {"x2"}, .ignored = {"x0"}});
  EXPECT_EQ(names_of(two), (Texts{"x1", "x2", "y0", "y1"}));
  EXPECT_EQ(two.columns[1].level, (Levels{kNoLevel, 0}));
  EXPECT_EQ(two.columns[1].levels, (Texts{"6"}));
  EXPECT_EQ(two.columns[2].number, (Doubles{1, 2}));
  EXPECT_EQ(two.columns[3].number, (Doubles{3, 4}));
  EXPECT_EQ(names_of(frame_of("a.npz", zip({{"x.npy", y}}))), (Texts{"x0"}));
}

TEST(Frame, BadArrays) {
  const std::string x = npy("<f8", "(2, 1)", raw<double>({1, 2}));
  const auto with_y = [&](const std::string& y) {
    return frame_error("a.npz", zip({{"x.npy", x}, {"y.npy", y}}));
  };
  EXPECT_NE(with_y(npy("<f4", "(3,)", raw<float>({1, 2, 3}))).find("found 3 rows, expected 2"),
            std::string::npos);
  EXPECT_NE(with_y(npy("<f4", "(2,)", raw<float>({1, INFINITY}))).find("found inf, expected a finite"),
            std::string::npos);
  EXPECT_NE(with_y(npy("|S1", "(2,)", "ab")).find("not numbers"), std::string::npos);
  EXPECT_NE(with_y(npy("<f4", "(2, 1, 1)", raw<float>({1, 2}))).find("expected rows or rows x columns"),
            std::string::npos);
  EXPECT_NE(frame_error("a.npz", zip({{"x.npy", npy("<f4", "(0, 2)", "")}})).find("no rows"),
            std::string::npos);
  const std::string good = zip({{"x.npy", x}});
  EXPECT_NE(frame_error("a.npz", good, {.numeric = {"y"}}).find("found no column 'y'"), std::string::npos);
  EXPECT_NE(frame_error("a.npz", good, {.ignored = {"x0"}}).find("left out"), std::string::npos);
  EXPECT_NE(frame_error("a.npz", good, {.header = "no"}).find("header"), std::string::npos);
}

RC_GTEST_PROP(Frame, WritingAndReadingGiveTheSame, ()) {
  Frame frame;
  frame.rows = *rc::gen::inRange<uint64_t>(1, 20);
  frame.columns.resize(2);
  frame.columns[0].name = "a \"b\", c";
  frame.columns[1] = {.name = "group", .is_numeric = false, .levels = {"1", "x\n,", "\"quoted\""}};
  for (uint64_t r = 0; r < frame.rows; ++r) {
    const double value = std::bit_cast<double>(*rc::gen::arbitrary<uint64_t>());
    frame.columns[0].number.push_back(std::isfinite(value) ? value : NAN);
    const uint32_t level = r < 3 ? static_cast<uint32_t>(r) : *rc::gen::inRange(0u, 4u);
    frame.columns[1].level.push_back(level == 3 ? kMissingLevel : level);
  }
  const Scratch scratch;
  write_frame(frame, scratch.path("a.csv"));
  const Frame back = read_frame(scratch.path("a.csv"), {.categorical = {"group"}, .header = "yes"});
  RC_ASSERT(back.rows == frame.rows && back.columns[0].name == frame.columns[0].name);
  for (uint64_t r = 0; r < frame.rows; ++r) {
    const double a = frame.columns[0].number[r], b = back.columns[0].number[r];
    RC_ASSERT((std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b));
  }
  RC_ASSERT(back.columns[1].level == frame.columns[1].level);
}

TEST(Frame, WritingOneColumn) {
  Frame frame;
  frame.rows = 2;
  frame.columns.push_back({.name = "a", .number = {NAN, 1}});
  const Scratch scratch;
  write_frame(frame, scratch.path("a.csv"));
  EXPECT_EQ(read_frame(scratch.path("a.csv")).rows, 2u);
  EXPECT_THROW(write_frame(frame, scratch.path("a.npy")), Error);
}

}  // namespace
}  // namespace selfnorm
