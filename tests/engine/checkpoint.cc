#include "engine/checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "damage.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

class CheckpointFile : public testing::Test {
 protected:
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("selfnorm-checkpoint-" + std::to_string(getpid()))).string();
  void TearDown() override { std::filesystem::remove(path_); }
};

TEST_F(CheckpointFile, EveryValueSurvivesExactly) {
  Checkpoint out;
  out.set("text", std::string("a b"));
  out.set("count", uint64_t{18446744073709551615u});
  out.set("number", 0.1);
  out.set("tiny", -4.9e-324);
  const std::vector<float> two{0.1f, -1e-40f}, nothing;
  out.set("floats", two);
  out.set("doubles", std::vector<double>{0.1});
  out.set("none", nothing);
  out.save(path_);
  const Checkpoint in = Checkpoint::load(path_);
  std::vector<float> floats, none;
  std::vector<double> doubles;
  in.get("floats", floats);
  in.get("none", none);
  in.get("doubles", doubles);
  EXPECT_EQ(in.text("text"), "a b");
  EXPECT_EQ(in.integer("count"), 18446744073709551615u);
  EXPECT_EQ(in.number("number"), 0.1);
  EXPECT_EQ(in.number("tiny"), -4.9e-324);
  EXPECT_EQ(floats, (std::vector<float>{0.1f, -1e-40f}));
  EXPECT_EQ(doubles, std::vector<double>{0.1});
  EXPECT_TRUE(none.empty());
  EXPECT_THROW(in.text("absent"), Error);
}

TEST_F(CheckpointFile, DamagedFilesAreUserErrors) {
  EXPECT_THROW(Checkpoint::load(path_ + "-absent"), Error);
  std::ofstream(path_) << "not a checkpoint";
  EXPECT_THROW(Checkpoint::load(path_), Error);
}

TEST_F(CheckpointFile, DamageIsFoundWhereverItIs) {
  Checkpoint out;
  const std::vector<float> floats(50, 0.1f);
  out.set("text", std::string("a b"));
  out.set("floats", floats);
  out.set("doubles", std::vector<double>(50, 0.1));
  out.save(path_);
  std::ostringstream bytes;
  bytes << std::ifstream(path_, std::ios::binary).rdbuf();
  test::expect_damage_is_found(bytes.str(), [this](const std::string& damaged) {
    std::ofstream(path_, std::ios::binary) << damaged;
    try {
      Checkpoint::load(path_);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("start again without resume"), std::string::npos);
      return true;
    }
    return false;
  });
}

TEST_F(CheckpointFile, WhatIsReadHasTheSizeOfWhatItIsReadInto) {
  Checkpoint c;
  const std::vector<float> two{1, 2}, none;
  c.set("two", two);
  c.set("none", none);
  std::vector<float> values;
  c.get("two", values);
  EXPECT_EQ(values, two);
  c.get("two", values);
  values.resize(3);
  EXPECT_THROW(c.get("two", values), Error);
  c.get("none", values, 3);
  EXPECT_TRUE(values.empty());
  c.get("two", values, 2);
  EXPECT_THROW(c.get("two", values, 3), Error);
  c.set("doubles", std::vector<double>{1});
  std::vector<double> doubles(2);
  EXPECT_THROW(c.get("doubles", doubles), Error);
}

TEST_F(CheckpointFile, FieldsAreNamedOnceForBothDirections) {
  struct State {
    uint64_t count;
    double number;
    bool flag;
    std::string text;
    std::vector<float> floats, some;
    std::vector<double> doubles;

    void fields(CheckpointFields& f) {
      f("count", count);
      f("number", number);
      f("flag", flag);
      f("text", text);
      f("floats", floats);
      f("some", some, 2);
      f("doubles", doubles);
    }
    bool operator==(const State&) const = default;
  };
  State out{3, 0.1, true, "a b", {1, 2}, {}, {0.5}}, in{0, 0, false, "", {0, 0}, {7}, {}};
  Checkpoint c;
  CheckpointFields written(c), read(std::as_const(c));
  out.fields(written);
  in.fields(read);
  EXPECT_EQ(in, out);
  in.floats.resize(3);
  EXPECT_THROW(in.fields(read), Error);
}

TEST_F(CheckpointFile, NumbersAreNumbers) {
  Checkpoint c;
  for (const char* text : {"", "x", "1 ", "-1", "1e3", "99999999999999999999999"}) {
    c.set("n", std::string(text));
    EXPECT_THROW(c.integer("n"), Error) << text;
  }
  for (const char* text : {"", "x", "1 "}) {
    c.set("n", std::string(text));
    EXPECT_THROW(c.number("n"), Error) << text;
  }
}

TEST(Fingerprint, SeesDataAndOptions) {
  Dataset data = random_dataset({}, 1);
  const std::string before = fingerprint(data, "options");
  EXPECT_EQ(fingerprint(data, "options"), before);
  EXPECT_NE(fingerprint(data, "option"), before);
  data.features.dense.values[3] += 1;
  EXPECT_NE(fingerprint(data, "options"), before);
}

}  // namespace
}  // namespace selfnorm
