#include "selfnorm/train/pace.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "scratch.h"

namespace selfnorm {
namespace {

struct Warnings : TrainObserver {
  void on_warning(const std::string& text) override { texts.push_back(text); }
  std::vector<std::string> texts;
};

TEST(Pace, ACheckpointThatCannotBeWrittenIsOneWarningAndTriedAgain) {
  namespace fs = std::filesystem;
  const Scratch folder;
  const std::string path = folder / "run/checkpoint";
  Warnings observer;
  Pace pace({.path = path, .seconds = 0}, "mark", observer);
  uint64_t step = 0;
  const auto next = [&] {
    ++step;
    pace.checkpoint(false, [&step](Checkpoint& c) { c.set("step", step); });
  };
  const auto stored = [&path] { return Checkpoint::load(path).integer("step"); };
  next(), next();
  ASSERT_EQ(observer.texts.size(), 1u);
  EXPECT_NE(observer.texts[0].find(path), std::string::npos) << observer.texts[0];
  fs::create_directory(folder / "run");
  next();
  EXPECT_EQ(stored(), 3u);
  EXPECT_EQ(observer.texts.size(), 1u);
  fs::rename(folder / "run", folder / "elsewhere");
  next(), next();
  EXPECT_EQ(observer.texts.size(), 2u);
  fs::rename(folder / "elsewhere", folder / "run");
  EXPECT_EQ(stored(), 3u);  // the last good one
}

}  // namespace
}  // namespace selfnorm
