#include <gtest/gtest.h>

#include "data/sentences/read_sequences.h"

namespace selfnorm {
namespace {

TEST(LabellingMark, LinesAreReadAsTheyAreWritten) {
  for (const LabellingMark& mark : {LabellingMark{}, LabellingMark{UINT64_MAX, 1000, {}},
                                    LabellingMark{7, 2, LabellingMark::Score{-1.25e-07, "amortised"}},
                                    LabellingMark{0, 1, LabellingMark::Score{0.1, "raw"}}}) {
    const auto read = parse_mark(mark_line(mark));
    ASSERT_TRUE(read) << mark_line(mark);
    EXPECT_EQ(read->sentence, mark.sentence);
    EXPECT_EQ(read->rank, mark.rank);
    ASSERT_EQ(read->score.has_value(), mark.score.has_value());
    if (!mark.score) continue;
    EXPECT_EQ(read->score->log_prob, mark.score->log_prob);
    EXPECT_EQ(read->score->kind, mark.score->kind);
  }
  EXPECT_EQ(mark_line({3, 1, LabellingMark::Score{-2.5, "exact"}}),
            "# sentence=3 rank=1 log_prob=-2.5 kind=exact");
}

TEST(LabellingMark, NothingElseIsOne) {
  for (const char* line : {"",
                           "#",
                           "# sentence=",
                           "# sentence=0",
                           "# sentence=0 rank=",
                           "# sentence=0 rank=0",
                           "# sentence=-1 rank=1",
                           "# sentence=0 rank=1 ",
                           " # sentence=0 rank=1",
                           "#sentence=0 rank=1",
                           "# sentence=0\trank=1",
                           "# sentence=0 rank=1\tX",
                           "# sentence=0 rank=1.5",
                           "# sentence=0 rank=1 log_prob=-1",
                           "# sentence=0 rank=1 log_prob=x kind=raw",
                           "# sentence=0 rank=1 log_prob=nan kind=raw",
                           "# sentence=0 rank=1 log_prob=-inf kind=raw",
                           "# sentence=0 rank=1 log_prob=-1 kind=",
                           "# sentence=0 rank=1 log_prob=-1 kind=raw score",
                           "# sentence=99999999999999999999 rank=1",
                           "# sentence=0 rank=1 kind=raw"})
    EXPECT_FALSE(parse_mark(line)) << line;
}

}  // namespace
}  // namespace selfnorm
