#include "document/section/sparkline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::vector<HistogramBin> bins_of(double low, double high, const std::vector<uint64_t>& counts) {
  std::vector<HistogramBin> out;
  const double width = (high - low) / static_cast<double>(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto place = static_cast<double>(i);
    out.push_back(
        {low + width * place, i + 1 == counts.size() ? high : low + width * (place + 1), counts[i]});
  }
  return out;
}

// While alive, the environment names this locale alone.
class Locale {
 public:
  explicit Locale(const std::map<std::string, std::string>& values) {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
      const char* value = std::getenv(name);
      if (value != nullptr) before_[name] = value;
      unsetenv(name);
    }
    for (const auto& [name, value] : values) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Locale() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) unsetenv(name);
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  Locale(const Locale&) = delete;
  Locale& operator=(const Locale&) = delete;

 private:
  std::map<std::string, std::string> before_;
};

TEST(Sparkline, HeightsAreSharesOfTheLargest) {
  EXPECT_EQ(sparkline({1, 2, 3, 4, 5, 6, 7, 8}, Glyphs::unicode), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({1, 2, 3, 4, 5, 6, 7}, Glyphs::ascii), ".:-=+*#");
}

TEST(Sparkline, OneInputIsSeenAndNoneIsNot) {
  EXPECT_EQ(sparkline({0, 1, 1000000000}, Glyphs::unicode), "·▁█");
  EXPECT_EQ(sparkline({0, 1, 1000000000}, Glyphs::ascii), " .#");
  EXPECT_EQ(sparkline({0, 0}, Glyphs::unicode), "··");
  EXPECT_EQ(sparkline({}, Glyphs::ascii), "");
  EXPECT_EQ(sparkline({UINT64_MAX, 1}, Glyphs::unicode), "█▁");
}

// Eight bins of five columns each over [-0.4, 0.4]: 0 begins column 20, 0.1 column 25.
TEST(Sparkline, ZeroAndBandStandBeneathTheirBins) {
  EXPECT_EQ(histogram_lines(bins_of(-0.4, 0.4, {1, 0, 2, 7, 7, 0, 0, 1}), 0.11, Glyphs::ascii),
            "       -0.4 .....     :::::##########          ..... 0.4 and beyond\n"
            "                          |-----0----|               certified band\n");
  EXPECT_EQ(histogram_lines(bins_of(-0.4, 0.4, {1, 0, 2, 8, 8, 0, 0, 1}), 0.11, Glyphs::unicode),
            "       -0.4 ▁▁▁▁▁·····▂▂▂▂▂██████████··········▁▁▁▁▁ 0.4 and beyond\n"
            "                          ├─────0────┤               certified band\n");
}

TEST(Sparkline, WhatLiesBeyondTheRangeIsPointedAt) {
  const auto second = [](double low, double high, std::optional<double> band) {
    const std::string text = histogram_lines(bins_of(low, high, {1, 1, 1, 1}), band, Glyphs::ascii);
    return text.substr(text.find('\n') + 1);
  };
  EXPECT_EQ(second(1, 2, std::nullopt), "          0 <\n");
  EXPECT_EQ(second(1, 2, 3), "          0 <" + std::string(38, '-') + "> certified band\n");
  EXPECT_EQ(second(-2, -1, 1.5), std::string(32, ' ') + "|" + std::string(18, '-') + "> 0  certified band\n");
  EXPECT_EQ(second(1, 2, 0.5), "          0 <" + std::string(40, ' ') + "certified band: nearer to 0\n");
}

TEST(Sparkline, ManyBinsAreAddedUpAndOneIsALine) {
  const std::string many =
      histogram_lines(bins_of(0, 1, std::vector<uint64_t>(1000, 3)), std::nullopt, Glyphs::ascii);
  EXPECT_EQ(many.find('\n'), 2 + 9 + 1 + 77 + 2 + 11u);  // 13 bins a column
  EXPECT_EQ(histogram_lines({{0.25, 0.25, 9}}, 1, Glyphs::ascii), "  nearly all are 0.25\n");
  EXPECT_EQ(histogram_lines({{-0.0, -0.0, 9}}, 1, Glyphs::ascii), "  nearly all are 0\n");
  EXPECT_THROW(histogram_lines({}, 1, Glyphs::ascii), Bug);
}

TEST(Sparkline, TheLocaleDecides) {
  const auto glyphs = [](const std::map<std::string, std::string>& values) {
    const Locale locale(values);
    return locale_glyphs();
  };
  EXPECT_EQ(glyphs({}), Glyphs::ascii);
  EXPECT_EQ(glyphs({{"LC_ALL", "C"}}), Glyphs::ascii);
  EXPECT_EQ(glyphs({{"LC_ALL", "POSIX"}, {"LANG", "C.UTF-8"}}), Glyphs::ascii);
  EXPECT_EQ(glyphs({{"LANG", "C.UTF-8"}}), Glyphs::unicode);
  EXPECT_EQ(glyphs({{"LC_CTYPE", "C.UTF-8"}, {"LANG", "C"}, {"LC_ALL", ""}}), Glyphs::unicode);
  EXPECT_EQ(glyphs({{"LC_ALL", "xx_YY.utf8"}}), Glyphs::unicode);  // not installed anywhere
  EXPECT_EQ(glyphs({{"LC_ALL", "xx_YY.ISO-8859-1"}}), Glyphs::ascii);
  EXPECT_EQ(glyphs({{"LC_ALL", "xx_YY"}}), Glyphs::ascii);
}

}  // namespace
}  // namespace selfnorm
