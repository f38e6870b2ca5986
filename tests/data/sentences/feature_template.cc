#include "data/sentences/feature_template.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "data/reader_checks.h"
#include "data/sentences/read_sequences.h"

namespace selfnorm {
namespace {

using Kind = TemplateItem::Kind;
using Strings = std::vector<std::string>;

std::string template_error(const std::string& text) {
  try {
    parse_templates(text, "t");
  } catch (const DataError& e) {
    return e.what();
  }
  return "";
}

// The attributes of one template at every position of one sentence, whose words are `words`; "-" for none.
Strings expanded(const std::string& macros, const Strings& words, bool is_bigram = false) {
  const Scratch scratch;
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += words[i] + "\tx\t" + (i % 2 == 0 ? "A" : "B") + "\n";
  text += "\nlast\tx\tB\n\nlast\tx\tA\n";
  SequenceOptions options;
  options.format = SequenceFormat::columns;
  options.templates = (is_bigram ? "B" : "U") + macros + "\n";
  const SequenceRead read = learn_sequences(scratch.file("d", text), options);
  const AttributeRows& rows = is_bigram ? read.data.bigram : read.data.unigram;
  const Strings& names = is_bigram ? read.encoder.bigrams : read.encoder.unigrams;
  Strings out;
  for (size_t t = 0; t < words.size(); ++t) {
    const auto at = rows.attributes(t);
    EXPECT_LE(at.size(), 1u);
    out.push_back(at.empty() ? "-" : names[at[0]].substr(1));
  }
  return out;
}

TEST(FeatureTemplate, Parse) {
  const FeatureTemplates t = parse_templates(
      "# words\r\n\nU00:%x[-2,0]\r\n U01:%x[ -1 , 0 ]/%s[+1,3,2]!\nU02\nB\nB01:%t[0,1,\"a\\\"\\d\"]\n", "t");
  ASSERT_EQ(t.list.size(), 5u);
  EXPECT_EQ(t.list[0].items[0].text, "U00:");
  EXPECT_EQ(t.list[0].items[1].kind, Kind::cell);
  EXPECT_EQ(t.list[0].items[1].row, -2);
  EXPECT_EQ(t.list[0].line, 3u);
  ASSERT_EQ(t.list[1].items.size(), 5u);
  EXPECT_EQ(t.list[1].items[2].text, "/");
  EXPECT_EQ(t.list[1].items[3].kind, Kind::suffix);
  EXPECT_EQ(t.list[1].items[3].row, 1);
  EXPECT_EQ(t.list[1].items[3].column, 3u);
  EXPECT_EQ(t.list[1].items[3].count, 2u);
  EXPECT_EQ(t.list[1].items[4].text, "!");
  EXPECT_EQ(t.list[2].items.size(), 1u);
  EXPECT_TRUE(t.list[3].is_bigram);
  EXPECT_EQ(t.list[4].items[1].text, "a\"\\d");
  EXPECT_EQ(t.columns(), 4u);
  EXPECT_TRUE(t.has_transitions());
  EXPECT_FALSE(parse_templates("U0\nB1:%x[0,0]", "t").has_transitions());
  EXPECT_EQ(parse_templates("U0", "t").columns(), 0u);
  EXPECT_EQ(t.text.substr(0, 7), "# words");
}

TEST(FeatureTemplate, AsWapitiWritesThem) {
  const FeatureTemplates t = parse_templates("\xEF\xBB\xBFu:%X[0,0]\n*:%x[0,0]\nb\n*\n", "t");
  ASSERT_EQ(t.list.size(), 6u);
  const std::vector<bool> is_bigram{false, false, true, true, false, true};
  for (size_t i = 0; i < t.list.size(); ++i) EXPECT_EQ(t.list[i].is_bigram, is_bigram[i]) << i;
  EXPECT_EQ(t.list[0].items[1].kind, Kind::lower);
  EXPECT_EQ(t.list[2].items[1].kind, Kind::cell);
  EXPECT_EQ(t.list[2].line, 2u);
  EXPECT_TRUE(t.has_transitions());
}

TEST(FeatureTemplate, Errors) {
  const std::string macros =
      ", expected a macro: %x[row,column], %l[row,column], %h[row,column], %p[row,column,n], "
      "%s[row,column,n], %m[row,column,\"regex\"] or %t[row,column,\"regex\"]";
  EXPECT_EQ(template_error("\n#c\n"), "t: found no template, expected lines such as U00:%x[0,0] and B");
  EXPECT_EQ(
      template_error("U0\n\nX01:%x[0,0]"),
      "t:3: found 'X01:%x[0,0]', expected a template that begins with U (unigram), B (bigram) or * (both), "
      "such as U00:%x[0,0], or a comment that begins with #");
  for (const char* bad :
       {"%q[0,0]", "%", "%x", "%x[", "%x[0", "%x[0,", "%x[0,0", "%x[0;0]", "%x[a,0]", "%x[0,-1]", "%x[0,0,1]",
        "%p[0,0]", "%m[0,0]", "%m[0,0,x]", "%m[0,0,\"x]", "%x0,0]"})
    EXPECT_EQ(template_error(std::string("U0:") + bad), std::string("t:1: found '") + bad + "'" + macros);
  EXPECT_EQ(template_error("U:%x[2000,0]"),
            "t:1: found a row of 2000 in '%x[2000,0]', expected at most 1000");
  EXPECT_EQ(template_error("U:%x[0,10000]"),
            "t:1: found a column of 10000 in '%x[0,10000]', expected at most 9999");
  EXPECT_EQ(template_error("U:%p[0,0,0]"), "t:1: found no characters in '%p[0,0,0]', expected 1 or more");
  EXPECT_NE(template_error("U:%s[0,0,101]").find("found a number of characters of 101"), std::string::npos);
  EXPECT_EQ(template_error(std::string("U:\0", 3)),
            "t:1: found a NUL byte, expected a template such as U00:%x[0,0]");
}

TEST(FeatureTemplate, RefusesExpressions) {
  EXPECT_NE(template_error("U:%m[0,0,\"(\"]").find("t:1: the regular expression '(' cannot be used: "),
            std::string::npos);
  for (const char* refused : {"(a)\\1", "((?=a).)*", "(?<!a)b", "(a{100}){11}"})
    EXPECT_NE(template_error(std::string("U:%m[0,0,\"") + refused + "\"]")
                  .find("; expected RE2 syntax, which has no"),
              std::string::npos)
        << refused;
  EXPECT_NE(template_error("U:%t[0,0,\"" + std::string(1001, 'a') + "\"]")
                .find("1001 bytes, expected at most 1000"),
            std::string::npos);
  EXPECT_EQ(template_error("U:%t[0,0,\"(a{100}){10}\"]"), "");
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += "U" + std::to_string(i) + ":%t[0,0,\"a{900}" + std::to_string(i) + "\"]\n";
  EXPECT_NE(template_error(many).find("steps a character, expected at most 65536"), std::string::npos);
}

TEST(FeatureTemplate, CellsAndSentenceEnds) {
  EXPECT_EQ(expanded(":%x[0,0]", {"a", "B"}), (Strings{":a", ":B"}));
  EXPECT_EQ(expanded(":%x[-2,0]", {"a", "b", "c"}), (Strings{":_B-2", ":_B-1", ":a"}));
  EXPECT_EQ(expanded(":%x[2,0]", {"a", "b", "c"}), (Strings{":c", ":_B+1", ":_B+2"}));
  EXPECT_EQ(expanded(":%x[-1,0]/%x[0,1]+%x[1,0]!", {"a", "b"}), (Strings{":_B-1/x+b!", ":a/x+_B+1!"}));
  EXPECT_EQ(expanded(":<%x[0,0]>", {"a"}), (Strings{":<a>"}));
  EXPECT_EQ(expanded(":%x[0,0]%x[0,0]", {"a"}), (Strings{":aa"}));
  EXPECT_EQ(expanded("02", {"a", "b"}), (Strings{"02", "02"}));
  // Every macro of a token that is not there is its name.
  for (const char* macro :
       {"%l[-1,0]", "%p[-1,0,9]", "%s[-1,0,1]", "%h[-1,0]", "%m[-1,0,\"z\"]", "%t[-1,0,\"B\"]"})
    EXPECT_EQ(expanded(macro, {"a"}), (Strings{"_B-1"}));
}

TEST(FeatureTemplate, BigramsHaveNoFirstPosition) {
  EXPECT_EQ(expanded("1:%x[0,0]", {"a", "b", "c"}, true), (Strings{"-", "1:b", "1:c"}));
  EXPECT_EQ(expanded("1:%x[-1,0]/%l[0,0]", {"a", "B"}, true), (Strings{"-", "1:a/b"}));
}

TEST(FeatureTemplate, Affixes) {
  EXPECT_EQ(expanded(":%p[0,0,2]", {"a", "ab", "abc"}), (Strings{"-", ":ab", ":ab"}));
  EXPECT_EQ(expanded(":%s[0,0,2]", {"a", "ab", "abc"}), (Strings{"-", ":ab", ":bc"}));
  EXPECT_EQ(expanded(":%p[0,0,2]", {"été", "日本語", "é", "a😀b"}), (Strings{":ét", ":日本", "-", ":a😀"}));
  EXPECT_EQ(expanded(":%s[0,0,2]", {"été", "日本語", "é", "a😀b"}), (Strings{":té", ":本語", "-", ":😀b"}));
  EXPECT_EQ(expanded(":%p[0,0,3]/%s[0,0,1]", {"ab", "abcd"}), (Strings{"-", ":abc/d"}));
  EXPECT_EQ(expanded(":%p[1,0,2]", {"x", "ab", "a"}), (Strings{":ab", "-", ":_B+1"}));
}

TEST(FeatureTemplate, LowerCase) {
  EXPECT_EQ(
      expanded(":%l[0,0]", {"McDonald's", "ÉCOLE", "ÑÅ×ß", "ŁÓDŹ", "ΑΘΉΝΑ", "МОСКВА", "Ёж", "Ÿ", "Ẽ", "日1"}),
      (Strings{":mcdonald's", ":école", ":ñå×ß", ":łódź", ":αθήνα", ":москва", ":ёж", ":ÿ", ":ẽ", ":日1"}));
}

TEST(FeatureTemplate, Shape) {
  EXPECT_EQ(
      expanded(":%h[0,0]", {"Mid-1990s", "USA", "U.S.", "...", "iPhone6", "Élan", "ж", "日本", "$5", "«x»"}),
      (Strings{":Aa-0a", ":A", ":A.A.", ":.", ":aAa0", ":Aa", ":a", ":*", ":$0", ":*a*"}));
}

TEST(FeatureTemplate, RegularExpressions) {
  EXPECT_EQ(expanded(":%m[0,0,\"[0-9]+\"]", {"a12b345", "x"}), (Strings{":12", ":"}));
  EXPECT_EQ(expanded(":%m[0,0,\"^.?.?\"]", {"été", "日本語", "a"}), (Strings{":ét", ":日本", ":a"}));
  EXPECT_EQ(expanded(":%t[0,0,\"\\d\"]", {"a1", "a"}), (Strings{":1", ":0"}));
  EXPECT_EQ(expanded(":%t[0,0,\"é$\"]", {"été", "et"}), (Strings{":1", ":0"}));
  EXPECT_EQ(expanded(":%t[0,0,\"\\\"\"]", {"a\"", "a"}), (Strings{":1", ":0"}));
  EXPECT_EQ(expanded(":%t[0,0,\"[,\\]]\"]", {"a]", "a"}), (Strings{":1", ":0"}));
  // The first alternative that matches, not the longest; classes and word boundaries of ASCII.
  EXPECT_EQ(expanded(":%m[0,0,\"a|ab\"]", {"xab"}), (Strings{":a"}));
  EXPECT_EQ(expanded(":%m[0,0,\"a+?b*?\"]", {"aab"}), (Strings{":a"}));
  EXPECT_EQ(expanded(":%m[0,0,\"[[:alpha:]]+\\b\"]", {"ab-é", "1"}), (Strings{":ab", ":"}));
  // Time does not explode, nor does the stack.
  const std::string many(5000, 'a');
  EXPECT_EQ(expanded(":%t[0,0,\"^(a+)+$\"]", {many + "b", "aaab"}), (Strings{":1", ":0"}));
  EXPECT_EQ(expanded(":%m[0,0,\".*\"]", {many}), (Strings{":" + std::string(256, 'a')}));
}

TEST(FeatureTemplate, TheDefaultsAreTemplates) {
  const FeatureTemplates tagging = parse_templates(tagging_templates(1), "t");
  EXPECT_TRUE(tagging.has_transitions());
  EXPECT_EQ(tagging.columns(), 2u);
  const std::array<uint32_t, 2> inputs{1, 3};
  const FeatureTemplates chunking = parse_templates(chunking_templates(inputs), "t");
  EXPECT_TRUE(chunking.has_transitions());
  EXPECT_GT(chunking.list.size(), tagging.list.size());
  for (const FeatureTemplates& one : {tagging, chunking}) {
    Strings names;
    for (const FeatureTemplate& t : one.list) names.push_back(t.items[0].text);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
    for (const FeatureTemplate& t : one.list)
      for (const TemplateItem& item : t.items)
        EXPECT_TRUE(item.kind == Kind::literal || item.column == 1 || item.column == 3);
  }
}

}  // namespace
}  // namespace selfnorm
