#include <gtest/gtest.h>

#include <fstream>

#include "document/figure.h"
#include "scratch.h"

namespace selfnorm {
namespace {

TEST(Drawing, RunsTheScriptInItsFolder) {
  const Scratch folder;
  std::filesystem::create_directory(folder / "out");
  std::ofstream(folder / "out/good.gp")
      << "set terminal svg\nset output 'good.svg'\nplot '-' with lines\n1 2\n3 4\ne\n";
  EXPECT_EQ(run_gnuplot(folder / "out", "good.gp"), "");
  EXPECT_GT(std::filesystem::file_size(folder / "out/good.svg"), 100u);
}

TEST(Drawing, AFigureReplacesAnOlderOne) {
  const Scratch folder;
  std::filesystem::create_directory(folder / "out");
  std::ofstream(folder / "out/line.svg") << "old";
  const Figure figure{.title = "a line",
                      .panels = {{.title = "",
                                  .x = {.label = "x"},
                                  .y = {.label = "y"},
                                  .series = {{.name = "", .x = {1, 2}, .y = {3, 5}}}}}};
  EXPECT_EQ(draw_figure(figure, folder / "out", "line"), "");
  EXPECT_GT(std::filesystem::file_size(folder / "out/line.gp"), 100u);
  EXPECT_GT(std::filesystem::file_size(folder / "out/line.svg"), 100u);
}

TEST(Drawing, SaysWhatGnuplotComplainedAbout) {
  const Scratch folder;
  std::filesystem::create_directory(folder / "out");
  std::ofstream(folder / "out/bad.gp") << "no such command\n";
  const std::string problem = run_gnuplot(folder / "out", "bad.gp");
  EXPECT_NE(problem.find("gnuplot failed on bad.gp"), std::string::npos) << problem;
  EXPECT_EQ(problem.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
