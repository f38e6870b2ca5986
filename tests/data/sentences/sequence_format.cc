#include <gtest/gtest.h>

#include "data/sentences/reading.h"

namespace selfnorm {
namespace {

TEST(SequenceFormats, Detection) {
  const Reading reading;
  const auto format = [&](std::string_view text) { return reading.learn(text).encoder.format; };
  EXPECT_EQ(format("the DET\n# SYM\n"), SequenceFormat::columns);
  EXPECT_EQ(format("# SYM\nthe DET\n"), SequenceFormat::columns);
  EXPECT_EQ(format("\xEF\xBB\xBF"s + kConllu), SequenceFormat::conllu);
  EXPECT_EQ(format(gzip(kConllu)), SequenceFormat::conllu);
  // Ten columns without ids are columns; so is a table whose columns hold ':' in every row.
  EXPECT_EQ(format("a\tb\tc\td\te\tf\tg\th\ti\tX\na\tb\tc\td\te\tf\tg\th\ti\tY\n"), SequenceFormat::columns);
  EXPECT_EQ(format("w=a\tX:1\nw=b\tY:1\n"), SequenceFormat::columns);
  // One bad line is an error of CoNLL-U, comments or not.
  EXPECT_EQ(reading.error("# c\n1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\t_\tY\t_\t_\t_\t_\t_\n"),
            "d:3: found 9 columns, separated by tabs, expected the 10 of CoNLL-U; for other columns say "
            "format columns");
  EXPECT_EQ(reading.error("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\nx\tb\t_\tY\t_\t_\t_\t_\t_\t_\n")
                .find("d:2: found 'x' in the first column"),
            0u);
  EXPECT_EQ(format("A\tw=a\tp:2\nB\tw=b\tp:3\n"), SequenceFormat::attributes);
  EXPECT_EQ(format("a\tCase=Nom\tX\nb\tCase=Gen\tY\n"), SequenceFormat::columns);
  // One attribute a token: not fewer than labels. Otherwise it is the label.
  EXPECT_EQ(format("ADP\tw=From\nDET\tw=the\nPROPN\tw=AP\n\nDET\tw=this\n"), SequenceFormat::attributes);
  EXPECT_EQ(format("the\tDET:def\na\tDET:ind\ndog\tN:sg\ncat\tN:sg\n"), SequenceFormat::columns);
  EXPECT_EQ(format("# sentence=0 rank=1\nA\tw=a\tp:2\nB\tw=b\tp:3\n"), SequenceFormat::attributes);
  // As many fields in every line, some without a name; a last one that is always the same.
  EXPECT_EQ(format("Y\taX:1.2\tb3\tc:-0.5\nN\taY:1.1\tb4\tc:-0.7\nY\taZ:2\tb3\tc:1\n"),
            SequenceFormat::attributes);
  EXPECT_EQ(format("O\tw=a\tw[-1]=_\tbias\nB\tw=b\tw[-1]=a\tbias\nO\tw=c\tw[-1]=b\tbias\n"),
            SequenceFormat::attributes);
  // A column of morphology is no attribute: the last field has few values, the first many.
  EXPECT_EQ(format("the\tDef=Yes\tDET\ndog\tNum=Sing\tNOUN\na\tDef=No\tDET\ncat\tNum=Sing\tNOUN\n"),
            SequenceFormat::columns);
  // Attributes are many; one colon in ragged columns does not make them.
  EXPECT_EQ(format("B-NP\tw[0]=x\tw[1]=y\nO\tw[0]=y\n"), SequenceFormat::attributes);
  EXPECT_EQ(
      reading.error("http://x\tX\nb\tc\tY\n"),
      "d:2: found 3 columns, expected 2, as in line 1: every token has the same columns, and a blank line "
      "ends a sentence; remove the extra columns, or add what line 1 lacks");
  Reading told;
  told.options.format = SequenceFormat::columns;
  EXPECT_EQ(told.learn("1\ta\tb\tX\td\te\tf\tg\th\ti\n2\ta\tb\tX\td\te\tf\tg\th\tj\n").encoder.target, 9u);
  // A line cut by the end of the sample does not count.
  std::string large;
  while (large.size() < 70'000) large += "a word\tpart\tX\nb\tpart\tY\n\n";
  EXPECT_EQ(format(large), SequenceFormat::columns);
}

}  // namespace
}  // namespace selfnorm
