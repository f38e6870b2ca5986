#include "data/table/frame_encoder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "math/parallel.h"
#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Rows = std::vector<uint64_t>;
using Floats = std::vector<float>;
using Levels = std::vector<uint32_t>;
using Texts = std::vector<std::string>;
constexpr uint32_t kNoEncodedLevel = kMissingLevel;

FrameColumn numeric(const std::string& name, std::vector<double> number) {
  return {.name = name, .number = std::move(number)};
}

FrameColumn categorical(const std::string& name, Levels level, Texts levels) {
  return {.name = name, .is_numeric = false, .level = std::move(level), .levels = std::move(levels)};
}

Frame frame_of(std::vector<FrameColumn> columns) {
  Frame frame{.file = "a.csv", .columns = std::move(columns)};
  const FrameColumn& first = frame.columns.front();
  frame.rows = std::max(first.number.size(), first.level.size());
  for (uint64_t r = 0; r < frame.rows; ++r) frame.line.push_back(r + 2);
  return frame;
}

Rows all_rows(const Frame& frame) {
  Rows rows(frame.rows);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  return rows;
}

struct Learned {
  FrameEncoder encoder;
  Texts notes;
};

Learned learned(const Frame& frame, const Texts& targets = {}, bool standardise = true) {
  Texts notes;
  FrameEncoder encoder(frame, all_rows(frame), targets, standardise, notes);
  return {std::move(encoder), std::move(notes)};
}

EncodedFrame encoded(const FrameEncoder& encoder, const Frame& frame) {
  EncodingReport report;
  return encoder.encode(frame, report);
}

TEST(FrameEncoder, NumbersAreStandardisedOnTheTrainingRows) {
  const Frame frame = frame_of({numeric("a", {1, 3, 100, NAN}), numeric("y", {0, 0, 1, 1})});
  Texts notes;
  const FrameEncoder encoder(frame, Rows{0, 1}, {"y"}, true, notes);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(encoder.columns(), Texts{"a"});
  EXPECT_EQ(encoder.numeric_inputs(), 1u);
  EncodingReport report;
  EXPECT_EQ(encoder.encode(frame, report).number, (Floats{-1, 1, kLargestInput, 0}));
  ASSERT_EQ(report.columns.size(), 1u);
  EXPECT_EQ(report.columns[0].column, "a");
  EXPECT_EQ(report.columns[0].missing, 1u);
  EXPECT_EQ(report.columns[0].clipped, 1u);
}

TEST(FrameEncoder, MissingInTrainingIsAnInput) {
  const Frame frame =
      frame_of({numeric("a", {2, NAN, 4}), numeric("b", {5, NAN, 5}), numeric("c", {0, 2, 1})});
  const auto [encoder, notes] = learned(frame);
  EXPECT_TRUE(notes.empty());
  const EncodedFrame out = encoded(encoder, frame);
  ASSERT_EQ(out.numeric, 4u);
  const float z = std::sqrt(1.5f);
  const Floats expected = {-1, 0, 0, -z, 0, 1, 1, z, 1, 0, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(out.number[i], expected[i]) << i;
}

TEST(FrameEncoder, LevelsByCount) {
  const Frame train =
      frame_of({categorical("g", {1, 0, 2, 2, kNoEncodedLevel, 1}, {"x", "w", "z", "unused"})});
  const auto [encoder, notes] = learned(train);
  EXPECT_EQ(encoder.levels(), Levels{5});
  EXPECT_EQ(encoded(encoder, train).level, (Levels{1, 3, 2, 2, 4, 1}));
  EncodingReport report;
  const Frame other = frame_of({categorical("g", {0, 1, 2, kNoEncodedLevel}, {"new", "z", "unused"})});
  EXPECT_EQ(encoder.encode(other, report).level, (Levels{0, 2, 0, 4}));
  EXPECT_EQ(report.columns[0].unseen, 2u);
  EXPECT_EQ(report.columns[0].missing, 1u);
  const auto never_missing = learned(frame_of({categorical("g", {0, 1}, {"z", "x"})})).encoder;
  EXPECT_EQ(never_missing.encode(other, report).level, (Levels{0, 2, 0, 0}));
  EXPECT_EQ(report.columns[0].unseen, 2u);
  EXPECT_EQ(report.columns[0].missing, 1u);
}

TEST(FrameEncoder, WhatIsLeftOut) {
  Levels own(kLeastOwnLevels);
  std::iota(own.begin(), own.end(), 0u);
  Texts names;
  for (const uint32_t level : own) names.push_back("id" + std::to_string(level));
  const size_t n = own.size();
  std::vector<double> rising(n);
  std::iota(rising.begin(), rising.end(), 0.0);
  const Frame frame = frame_of(
      {numeric("constant", std::vector<double>(n, 7)), numeric("nothing", std::vector<double>(n, NAN)),
       categorical("one", Levels(n, 0), {"u"}), categorical("none", Levels(n, kNoEncodedLevel), {}),
       categorical("id", own, names), numeric("kept", rising)});
  const auto [encoder, notes] = learned(frame);
  EXPECT_EQ(encoder.columns(), Texts{"kept"});
  EXPECT_EQ(notes,
            (Texts{"column 'constant' is left out: it has one value alone in the training rows",
                   "column 'nothing' is left out: it has no value in the training rows",
                   "column 'one' is left out: it has one value alone in the training rows",
                   "column 'none' is left out: it has no value in the training rows",
                   "column 'id' is left out: its 100 values in the training rows are all different texts"}));
  EXPECT_EQ(learned(frame, {}, false).encoder.columns(), (Texts{"constant", "one", "kept"}));
}

TEST(FrameEncoder, OneRow) {
  const auto [encoder, notes] = learned(frame_of({numeric("a", {3}), categorical("g", {0}, {"u"})}));
  EXPECT_EQ(notes.size(), 2u);
  EXPECT_EQ(encoder.numeric_inputs(), 0u);
  const EncodedFrame out = encoded(encoder, frame_of({numeric("b", {1, 2})}));
  EXPECT_EQ(out.view().rows(), 2u);
  EXPECT_EQ(out.view().level, nullptr);
}

TEST(FrameEncoder, ManyLevels) {
  constexpr uint32_t kCount = kMostLevels + 3;
  Levels level;
  Texts levels;
  for (uint32_t i = 0; i < kCount; ++i) {
    levels.push_back("t" + std::to_string(i));
    level.push_back(i);
    if (i >= 3) level.push_back(i);
  }
  const Frame frame = frame_of({categorical("g", level, levels)});
  const auto [encoder, notes] = learned(frame);
  EXPECT_EQ(notes,
            Texts{"column 'g': it has 10003 levels; the 10000 most frequent are kept, the others are one"});
  EXPECT_EQ(encoder.levels(), Levels{kMostLevels + 1});
  EncodingReport report;
  const EncodedFrame out = encoder.encode(frame, report);
  EXPECT_EQ(report.columns[0].unseen, 3u);
  EXPECT_EQ((Levels{out.level[0], out.level[1], out.level[2]}), (Levels{0, 0, 0}));
}

TEST(FrameEncoder, ExtremeNumbers) {
  for (const std::vector<double>& x :
       {std::vector<double>{1.7e308, -1.7e308, 0, 1.7e308}, std::vector<double>{5e-324, 0, 0, 1e-323},
        std::vector<double>{1e300, 1e-300, -1, 2}, std::vector<double>{1e16, 1e16 + 2, 1e16 + 4, 1e16 + 6}}) {
    const Frame frame = frame_of({numeric("a", x)});
    for (const bool standardise : {true, false}) {
      const FrameEncoder encoder = learned(frame, {}, standardise).encoder;
      for (const float input : encoded(encoder, frame).number) EXPECT_TRUE(std::isfinite(input));
      const Frame other = frame_of({numeric("a", {-1.79e308, 1.79e308, 5e-324, NAN})});
      for (const float input : encoded(encoder, other).number) EXPECT_TRUE(std::isfinite(input));
    }
  }
  const Frame huge = frame_of({numeric("a", {1e300, 3e300})});
  EXPECT_EQ(encoded(learned(huge).encoder, huge).number, (Floats{-1, 1}));
  const Frame near = frame_of({numeric("a", {1e15, 1e15 + 2})});
  EXPECT_EQ(encoded(learned(near).encoder, near).number, (Floats{-1, 1}));
}

TEST(FrameEncoder, RawNumbers) {
  const Frame frame = frame_of({numeric("a", {1.5, -2e30, NAN})});
  EXPECT_EQ(encoded(learned(frame, {}, false).encoder, frame).number, (Floats{1.5f, 0, -2e30f, 0, 0, 1}));
  EncodingReport report;
  const Frame huge = frame_of({numeric("a", {1e300, -1e300, 0})});
  learned(frame, {}, false).encoder.encode(huge, report);
  EXPECT_EQ(report.columns[0].clipped, 2u);
}

TEST(FrameEncoder, OtherFrames) {
  const Frame train = frame_of({numeric("a", {1, 2}), categorical("g", {0, 1}, {"u", "v"})});
  const FrameEncoder encoder = learned(train).encoder;
  EXPECT_EQ(encoder.reading().numeric, Texts{"a"});
  EXPECT_EQ(encoder.reading().categorical, Texts{"g"});
  EncodingReport report;
  const auto error = [&](const Frame& frame) -> std::string {
    try {
      encoder.encode(frame, report);
    } catch (const DataError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(error(frame_of({numeric("a", {1})})).find("a.csv: found no column 'g', which the model needs"),
            std::string::npos);
  EXPECT_EQ(error(frame_of({categorical("a", {0, 1}, {"1", "b"}), categorical("g", {0, 0}, {"u"})})),
            "a.csv:3: in column 'a': found 'b', expected a number");
  EXPECT_NE(error(frame_of({numeric("a", {1}), numeric("g", {1})})).find("expected a categorical one"),
            std::string::npos);
  const Frame other = frame_of({categorical("g", {0}, {"v"}), numeric("extra", {9}), numeric("a", {2})});
  EXPECT_EQ(encoder.encode(other, report).number, Floats{1});
  EXPECT_EQ(encoder.encode(other, report).level, Levels{2});
}

TEST(FrameEncoder, RowsAreTaken) {
  const Frame frame = frame_of({numeric("a", {1, 2, 3}), categorical("g", {0, 1, 0}, {"u", "v"})});
  const EncodedFrame all = encoded(learned(frame).encoder, frame);
  const EncodedFrame some = all.take(Rows{2, 0, 2});
  EXPECT_EQ(some.rows, 3u);
  EXPECT_EQ(some.number, (Floats{all.number[2], all.number[0], all.number[2]}));
  EXPECT_EQ(some.level, (Levels{1, 1, 1}));
  EXPECT_THROW(all.take(Rows{3}), Bug);
  const InputRows slice = all.view().slice(1, 3);
  EXPECT_EQ(slice.rows(), 2u);
  EXPECT_EQ(slice.level[0], 2u);
}

RC_GTEST_PROP(FrameEncoder, JsonKeepsEverything, ()) {
  Frame frame;
  frame.rows = *rc::gen::inRange<uint64_t>(1, 12);
  frame.columns = {numeric("a\n\"", {}), numeric("b", {}), categorical("g", {}, {"", "u\xC3\xA9", "v"})};
  const bool missing = *rc::gen::arbitrary<bool>();
  for (uint64_t r = 0; r < frame.rows; ++r) {
    for (size_t c = 0; c < 2; ++c) {
      const double value = std::bit_cast<double>(*rc::gen::arbitrary<uint64_t>());
      frame.columns[c].number.push_back(std::isfinite(value) ? value : (missing ? NAN : 1));
    }
    const uint32_t level = *rc::gen::inRange(0u, missing ? 4u : 3u);
    frame.columns[2].level.push_back(level == 3 ? kNoEncodedLevel : level);
    frame.line.push_back(r + 2);
  }
  for (const bool standardise : {true, false}) {
    const FrameEncoder encoder = learned(frame, {}, standardise).encoder;
    const FrameEncoder back = FrameEncoder::from_json(encoder.json());
    RC_ASSERT(back.json() == encoder.json());
    RC_ASSERT(back.levels() == encoder.levels());
    const EncodedFrame one = encoded(encoder, frame), two = encoded(back, frame);
    RC_ASSERT(one.number == two.number);
    RC_ASSERT(one.level == two.level);
    for (const float input : one.number) RC_ASSERT(std::isfinite(input));
  }
}

TEST(FrameEncoder, SameBitsForAnyNumberOfThreads) {
  RandomStream random(3);
  std::vector<FrameColumn> columns;
  for (int c = 0; c < 7; ++c) {
    columns.push_back(numeric("x" + std::to_string(c), {}));
    for (int r = 0; r < 1000; ++r) columns.back().number.push_back(random.normal());
  }
  const Frame frame = frame_of(columns);
  const FrameEncoder many = learned(frame).encoder;
  const EncodedFrame out = encoded(many, frame);
  const ThreadLimit one(1);
  EXPECT_EQ(learned(frame).encoder.json(), many.json());
  EXPECT_EQ(encoded(many, frame).number, out.number);
  for (uint32_t c = 0; c < out.numeric; ++c) {
    double sum = 0, squares = 0;
    for (uint64_t r = 0; r < out.rows; ++r) {
      const double z = double{out.number[r * out.numeric + c]};
      sum += z;
      squares += z * z;
    }
    EXPECT_NEAR(sum / 1000, 0, 1e-6);
    EXPECT_NEAR(squares / 1000, 1, 1e-5);
  }
}

}  // namespace
}  // namespace selfnorm
