#include "family/crf/crf_spans.h"

#include <gtest/gtest.h>

#include <sstream>

#include "data/string_index.h"

namespace selfnorm {
namespace {

const std::vector<std::string> kLabels = {"O",   "B-X", "I-X", "E-X", "S-X", "B-Y",
                                          "I-Y", "E-Y", "S-Y", "U-X", "L-Y"};

std::vector<uint32_t> labels_of(const std::string& text) {
  const StringIndex index(kLabels);
  std::vector<uint32_t> out;
  std::istringstream in(text);
  for (std::string word; in >> word;) out.push_back(index.find(word).value());
  return out;
}

// "begin-end type" of every span.
std::string spans_of(const std::string& text) {
  const SpanScheme scheme = SpanScheme::of(kLabels).value();
  std::string out;
  for (const LabelSpan& span : scheme.spans(labels_of(text)))
    out += (out.empty() ? "" : " ") + std::to_string(span.begin) + "-" + std::to_string(span.end) +
           scheme.types()[span.type];
  return out;
}

TEST(CrfSpans, FollowConlleval) {
  EXPECT_EQ(spans_of(""), "");
  EXPECT_EQ(spans_of("O O"), "");
  EXPECT_EQ(spans_of("B-X I-X O B-X"), "0-2X 3-4X");               // IOB2
  EXPECT_EQ(spans_of("I-X I-X B-X I-X O I-Y"), "0-2X 2-4X 5-6Y");  // IOB
  EXPECT_EQ(spans_of("B-X I-Y I-Y"), "0-1X 1-3Y");                 // type changes
  EXPECT_EQ(spans_of("S-X B-X I-X E-X S-Y O"), "0-1X 1-4X 4-5Y");  // IOBES
  EXPECT_EQ(spans_of("E-X E-X I-X"), "0-1X 1-2X 2-3X");            // E always ends
  EXPECT_EQ(spans_of("S-X I-X E-X"), "0-1X 1-3X");
  EXPECT_EQ(spans_of("U-X B-Y L-Y O L-Y"), "0-1X 1-3Y 4-5Y");  // BILOU
}

// Whether a span ends after p-P and whether one begins at q-Q, as endOfChunk and startOfChunk of conlleval.pl
// have it for B, I, O and, with S and the pairs it leaves out, seqeval for IOBES; of one type, and of two.
TEST(CrfSpans, TheTablesOfConlleval) {
  const std::string prefixes = "OBIES";
  //                    q:  O  B  I  E  S      p
  const char* ends[] = {". . . . .",   // O
                        "x x . . x",   // B
                        "x x . . x",   // I
                        "x x x x x",   // E
                        "x x x x x"};  // S
  const char* begins[] = {". x x x x", ". x . . x", ". x . . x", ". x x x x", ". x x x x"};
  const auto label = [](char prefix, char type) {
    return prefix == 'O' ? std::string("O") : std::string{prefix, '-', type};
  };
  const SpanScheme scheme = SpanScheme::of(kLabels).value();
  for (size_t p = 0; p < 5; ++p)
    for (size_t q = 0; q < 5; ++q)
      for (const char type : {'X', 'Y'}) {
        const bool differs = type == 'Y' && p > 0 && q > 0;
        const bool ends_after = ends[p][2 * q] == 'x' || differs,
                   begins_at = begins[p][2 * q] == 'x' || differs;
        const std::string pair = label(prefixes[p], 'X') + " " + label(prefixes[q], type);
        const std::vector<LabelSpan> spans = scheme.spans(labels_of(pair));
        bool ended = false, began = false;
        for (const LabelSpan& span : spans) {
          ended |= span.end == 1;
          began |= span.begin == 1;
        }
        EXPECT_EQ(ended, ends_after) << pair;
        EXPECT_EQ(began, begins_at) << pair;
        // The end of a sentence ends whatever is open.
        if (q > 0) {
          EXPECT_EQ(spans.back().end, 2u) << pair;
        }
      }
}

TEST(CrfSpans, Counts) {
  const SpanScheme scheme = SpanScheme::of(kLabels).value();
  std::vector<SpanCounts> counts;
  scheme.count(labels_of("B-X I-X O B-Y O B-X"), labels_of("B-X I-X O B-X O B-X"), counts);
  scheme.count(labels_of("B-X I-X"), labels_of("B-X B-X"), counts);
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].correct, 2u);
  EXPECT_EQ(counts[0].predicted, 5u);
  EXPECT_EQ(counts[0].actual, 3u);
  EXPECT_DOUBLE_EQ(counts[0].precision(), 0.4);
  EXPECT_DOUBLE_EQ(counts[0].recall(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(counts[0].f1(), 0.5);
  EXPECT_EQ(counts[1].f1(), 0);
  EXPECT_EQ(SpanCounts{}.precision(), 0);
}

TEST(CrfSpans, OnlyOfSpanLabels) {
  EXPECT_FALSE(SpanScheme::of({"NOUN", "VERB"}));
  EXPECT_FALSE(SpanScheme::of({"O"}));
  EXPECT_FALSE(SpanScheme::of({"O", "B-X", "X-Y"}));
  EXPECT_TRUE(SpanScheme::of({"B-NP-SBJ", "I-NP-SBJ"}));
}

TEST(CrfSpans, OfLabelsThatTheModelHasNotSeen) {
  SpanScheme scheme = SpanScheme::of({"O", "B-X", "I-X"}).value();
  for (const char* label : {"I-LST", "S-X", "?"}) scheme.add(label);  // numbered 3, 4, 5
  EXPECT_EQ(scheme.types(), (std::vector<std::string>{"X", "LST"}));
  std::vector<SpanCounts> counts;
  scheme.count(std::vector<uint32_t>{3, 3, 0, 4, 5, 1, 2}, std::vector<uint32_t>{1, 2, 0, 1, 0, 1, 2},
               counts);
  EXPECT_EQ(counts[0].actual, 2u);
  EXPECT_EQ(counts[0].predicted, 3u);
  EXPECT_EQ(counts[0].correct, 2u);
  EXPECT_EQ(counts[1].actual, 1u);
  EXPECT_EQ(counts[1].predicted, 0u);
}

}  // namespace
}  // namespace selfnorm
