#include <gtest/gtest.h>

#include "data/string_index.h"

namespace selfnorm {
namespace {

TEST(ShownLabel, TextStaysAsItIs) {
  for (const char* text : {"", "red", "<b>", "\u00a0", "na\u00efve", "\u65e5\u672c", "\U0001f600"})
    EXPECT_EQ(shown_label(text), text);
}

TEST(ShownLabel, ControlsAreQuestionMarks) {
  EXPECT_EQ(shown_label("\x1b[31mred\n\t\x7f"), "?[31mred???");
  EXPECT_EQ(shown_label(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(shown_label("a\u0080\u009b31m\u009fb"), "a??31m?b");
}

// 0x9B alone is the C1 control CSI of an eight-bit terminal.
TEST(ShownLabel, InvalidBytesAreReplaced) {
  EXPECT_EQ(shown_label("\x9b"
                        "31m"),
            "\ufffd31m");
  EXPECT_EQ(shown_label("caf\xe9"), "caf\ufffd");
  EXPECT_EQ(shown_label("\xc0\xaf"), "\ufffd\ufffd");
  EXPECT_EQ(shown_label("\xe2\x82"), "\ufffd\ufffd");
}

TEST(ShownLabel, IsCutBetweenCharacters) {
  std::string full, longer;
  for (size_t i = 0; i < kShownCharacters; ++i) full += "\u00e9";
  EXPECT_EQ(shown_label(full), full);
  longer = full + "x";
  EXPECT_EQ(shown_label(longer), full.substr(0, full.size() - 2) + "\u2026");
  EXPECT_EQ(shown_label(longer, "..."), full.substr(0, full.size() - 2) + "...");
  EXPECT_EQ(shown_label(std::string(100000, '\xff')).size(), 3 * kShownCharacters);
}

}  // namespace
}  // namespace selfnorm
