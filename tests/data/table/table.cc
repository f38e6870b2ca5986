#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/reader_checks.h"
#include "data/table/table_sample.h"

namespace selfnorm {
namespace {

using Strings = std::vector<std::string>;
using Floats = std::vector<float>;

TEST(Table, HeaderAndNamedTarget) {
  Dataset d = read_bytes("a.csv", "a,Label,b\n1,x,2\n3,y,4\n").data;
  EXPECT_FALSE(d.features.is_sparse);
  EXPECT_EQ(d.feature_names, (Strings{"a", "b"}));
  EXPECT_EQ(d.labels, (Strings{"x", "y"}));
  EXPECT_EQ(d.features.dense.values, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(d.features.dense.rows, 2u);
}

TEST(Table, WithoutHeaderTheColumnOfWordsOrTheFirstIsTheTarget) {
  EXPECT_EQ(read_bytes("a.csv", "1,2,x\n3,4,y\n").data.labels, (Strings{"x", "y"}));
  EXPECT_EQ(read_bytes("a.csv", "10,2,3\n9,4,5\n").data.labels, (Strings{"9", "10"}));
  EXPECT_TRUE(read_bytes("a.csv", "10,2,3\n9,4,5\n").data.feature_names.empty());
}

TEST(Table, TargetByIndexAndWeights) {
  ReadOptions options;
  options.target = "2";
  options.weight_column = "w";
  Dataset d = read_bytes("a.csv", "u,w,v\n1,0.5,7\n2,2,8\n", options).data;
  EXPECT_EQ(d.labels, (Strings{"7", "8"}));
  EXPECT_EQ(d.weight, (Floats{0.5f, 2}));
  EXPECT_EQ(d.features.dense.values, (Floats{1, 2}));
  EXPECT_EQ(read_error("a.csv", "u,w,v\n1,-1,7\n", options),
            "a.csv:2: in column 1: found '-1', expected a weight of at least 0");
}

TEST(Table, QuotedFields) {
  std::string text =
      "\"a \"\"q\"\"\",label\n\"1\",\"two\nlines, and a \"\"quote\"\"\"\n 2 ,plain\r\n\n3,\"\"\"\"\n";
  ReadResult r = read_bytes("a.csv", text);
  EXPECT_EQ(r.data.feature_names, (Strings{"a \"q\""}));
  EXPECT_EQ(r.data.labels, (Strings{"\"", "plain", "two\nlines, and a \"quote\""}));
  EXPECT_EQ(r.data.features.dense.values, (Floats{1, 2, 3}));
  expect_block_invariance("a.csv", text);
}

TEST(Table, LinesCountLineFeedsWithinQuotes) {
  EXPECT_EQ(read_error("a.csv", "f,label\n1,\"a\nb\"\nx,c\n"),
            "a.csv:4: in column 'f': found 'x', expected a finite number as in most other rows; correct it, "
            "or take "
            "the column as words (categorical f) or leave it out (drop f)");
}

TEST(Table, ByteOrderMark) {
  EXPECT_EQ(read_bytes("a.csv", "\xEF\xBB\xBFlabel,f\nx,1\n").data.labels, Strings{"x"});
}

TEST(Table, OtherEncodingsAreNamed) {
  for (const std::string_view bytes : {std::string_view("\xFF\xFE"
                                                        "f\0,\0",
                                                        6),
                                       std::string_view("\xFE\xFF\0f\0,", 6)})
    EXPECT_EQ(read_error("a.csv", bytes),
              "a.csv: found UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8 a.csv > utf8.txt");
}

TEST(Table, Tsv) {
  EXPECT_EQ(read_bytes("a.tsv", "1\t2\tx\n3\t4\ty\n").data.features.dense.values, (Floats{1, 2, 3, 4}));
}

struct TableCase {
  const char* bytes;
  const char* message;
};

TEST(Table, ErrorsSayWhereAndWhat) {
  for (TableCase c : std::initializer_list<TableCase>{
           {"a,b,a\n1,2,3\n", "a.csv:1: found the column name 'a' twice, expected every name once"},
           {"label,f\nx,1\ny,1,2\n",
            "a.csv:3: found 3 fields, expected 2 as in the first row; a field with ',' in it stands in "
            "quotes"},
           {"label,f\nx\n",
            "a.csv:2: found 1 fields, expected 2 as in the first row; leave a missing field empty, but keep "
            "its ','"},
           {"label,f\nx,NaN\n",
            "a.csv: found no column that tells anything about the label; a column of texts is read by text "
            "COLUMN"},
           {"label,f\n,1\n", "a.csv:2: found an empty label; fill it in, or take the row out"},
           {"label,f\nx,\"1\"2\n", "a.csv:2: found '2' after a closing quote, expected ','"},
           {"label,f\nx,\"1\ny,2\n", "a.csv:2: found '\"1\\ny,2\\n', a quoted field that is never closed"},
           {"p,q\n1,2\n",
            "a.csv:1: cannot tell which column is the label: the columns are 'p', 'q'; name it (target) or "
            "call it label"},
           {"yes;well done\nno;not at all\n",
            "a.csv:1: cannot tell which column is the label: the columns are 'yes', 'well done'; name it "
            "(target) or call it label; where the first line is no header, say header no target 0 "
            "text "
            "1"},
           {"label\nx\n", "a.csv:1: found no feature columns; the columns are 'label'"},
           {"label,f\n",
            "a.csv: found no rows of data; expected at least one: add some, or give another file"},
           {"", "a.csv: the file is empty; expected rows of data: write it again, or give another file"}})
    EXPECT_EQ(read_error("a.csv", c.bytes), c.message);
  ReadOptions options;
  options.target = "z";
  EXPECT_EQ(read_error("a.csv", "p,q\n1,2\n", options),
            "a.csv:1: found no target column 'z'; the columns are 'p', 'q'");
}

TEST(Table, SchemaMatchesColumnsByName) {
  Schema schema{{"x", "y"}, 2, {"a", "b"}, {}};
  ReadOptions options;
  options.schema = &schema;
  Dataset d = read_bytes("a.csv", "b,outcome,a\n1,y,2\n", options).data;
  EXPECT_EQ(d.features.dense.values, (Floats{2, 1}));
  EXPECT_EQ(d.target, std::vector<uint32_t>{1});
  d = read_bytes("a.csv", "b,label,a,c\n1,y,2,3\n", options).data;  // another column is left out
  EXPECT_EQ(d.features.dense.values, (Floats{2, 1}));
  EXPECT_EQ(read_error("a.csv", "b,label\n1,y\n", options),
            "a.csv:1: found no column 'a'; the model needs 'a', 'b', and the columns are 'b', 'label'");
  EXPECT_EQ(read_error("a.csv", "b,p,a,c\n1,y,2,3\n", options),
            "a.csv:1: cannot tell which column is the label: the columns are 'b', 'p', 'a', 'c'; name it "
            "(target) or call it label");
  schema.target = "z";
  EXPECT_EQ(
      read_error("a.csv", "b,a\n1,2\n", options),
      "a.csv:1: found no column 'z'; the model needs 'a', 'b' and the label 'z', and the columns are 'b', "
      "'a'; if the label has another name, say so by target");
  schema.target = "";
  EXPECT_EQ(read_error("a.csv", "1,2,3,y\n", options),
            "a.csv:1: found 3 feature columns, but the model has 2 features");
  options.require_labels = false;
  EXPECT_EQ(read_bytes("a.csv", "a,b\n1,2\n", options).data.target,
            std::vector<uint32_t>{Dataset::kNoTarget});
  EXPECT_EQ(read_bytes("a.csv", "1,2\n", options).data.target, std::vector<uint32_t>{Dataset::kNoTarget});
}

TEST(Table, SchemaRemembersTheTarget) {
  Schema schema{.labels = {"7", "8"}, .feature_count = 2, .feature_names = {}, .text = {}, .target = "2"};
  ReadOptions options;
  options.schema = &schema;
  EXPECT_EQ(read_bytes("a.csv", "1,2,8\n3,4,7\n", options).data.target, (std::vector<uint32_t>{1, 0}));
  options.target = "0";
  EXPECT_EQ(read_bytes("a.csv", "7,1,2\n", options).data.target, std::vector<uint32_t>{0});
  options.target.clear();
  schema.target.clear();
  EXPECT_EQ(read_error("a.csv", "1,2,8\n3,4,7\n", options),
            "a.csv:1: cannot tell which of the 3 columns is the target: there is no header; give its index "
            "(target)");
  EXPECT_EQ(read_error("a.csv", "p,label\n1,8\n", options),
            "a.csv:1: found 1 feature columns, but the model has 2 features");
  EXPECT_EQ(
      read_error("a.csv", "p,q\n1,8\n", options),
      "a.csv:1: found 2 columns, as many as the model has features, and no target; the columns are 'p', "
      "'q'");
}

TEST(Table, FirstRowsThatAreHeaders) {
  const auto names = [](const std::string& first, const std::string& rest) {
    return read_bytes("a.csv", first + "\n" + rest).data.feature_names;
  };
  EXPECT_EQ(names("0,1,label", "1.5,2,a\n2,3,b\n"), (Strings{"0", "1"}));
  EXPECT_EQ(names("id,0,label", "1.5,2,a\n2,3,b\n"), (Strings{"id", "0"}));
  EXPECT_EQ(names("7,width,species", "1.5,2,a\n2,3,b\n"), (Strings{"7", "width"}));
  EXPECT_TRUE(names("1,2,y", "2,3,n\n4,5,y\n").empty());
  EXPECT_TRUE(names("1.5,2,y", "2,3,n\n4,5,n\n").empty());
  EXPECT_TRUE(names("1,2,a", "2,3,b\n").empty());
}

TEST(Table, AnOpenQuoteIsNeverSkipped) {
  ReadOptions options;
  options.skip_bad = 10;
  EXPECT_EQ(read_error("a.csv", "label,f\nx,1\ny,\"1\nx,2\nx,3\n", options),
            "a.csv:3: found '\"1\\nx,2\\nx,3\\n', a quoted field that is never closed");
}

TEST(Table, SkipBad) {
  ReadOptions options;
  options.skip_bad = 2;
  std::string text = "label,f\nx,1\ny,oops\nz\nx,4\n";
  ReadResult r = read_bytes("a.csv", text, options);
  EXPECT_EQ(r.data.features.dense.values, (Floats{1, 4}));
  EXPECT_EQ(r.report.bad[1].line, 4u);
  EXPECT_EQ(r.report.left_out, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(r.report.target, "label");
  expect_block_invariance("a.csv", text, options);
}

RC_GTEST_PROP(Table, RandomBytesGiveTheSameInAnyBlocks, ()) {
  auto bytes = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("01,\"\"\n\n\r.ab")));
  ReadOptions options;
  options.format = Format::csv;
  options.require_labels = false;
  options.skip_bad = *rc::gen::inRange(0, 5);
  std::string first = read_error("a.csv", bytes, options);
  for (uint32_t block : {1u, 5u}) {
    options.block_bytes = block;
    RC_ASSERT(read_error("a.csv", bytes, options) == first);
  }
  if (first.empty()) expect_block_invariance("a.csv", bytes, options);
}

TEST(Table, Semicolons) {
  const Floats values{1.5f, 2, -0.25f, 4000};
  const auto read = [](const std::string& name, const std::string& text) {
    return read_bytes(name, text).data.features.dense.values;
  };
  EXPECT_EQ(read("a.csv", "a;b;label\n1.5;2;x\n-0.25;4e3;y\n"), values);
  EXPECT_EQ(read("a.csv", "a;b;label\n1,5;2;x\n-0,25;4e3;y\n"), values);  // decimal commas
  EXPECT_EQ(read("a.csv", "\"a\";\"b\";\"label\"\n\"1,5\";2;\"x;y, z\"\n-0.25;4e3;y\n"), values);
  EXPECT_EQ(read("a.csv", "1,5;2,0;x\n-0,25;4e3;y\n"), values);  // without a header
  EXPECT_EQ(read("-", "a;b;label\n1.5;2;x\n-0.25;4e3;y\n"), values);
  EXPECT_EQ(read("a.csv", "a,b,label\n1.5,2,x;y\n-0.25,4e3,z;w\n"), values);  // semicolons in fields
  EXPECT_EQ(read("a.csv", "a,b,label\n1.5,2,\"x;y\"\n-0.25,4e3,\"z;w\"\n"), values);
  expect_block_invariance("a.csv", "a;b;label\n1,5;2;x\n-0,25;4e3;y\n");
}

TEST(Table, DecimalCommasWhereAskedFor) {
  read_decimal_commas(true);
  const auto read = [](const std::string& name, const std::string& text) {
    return read_bytes(name, text).data.features.dense.values;
  };
  const Floats values{1.5f, 2, -0.25f, 4000};
  EXPECT_EQ(read("a.tsv", "a\tb\tlabel\n1,5\t2\tx\n-0,25\t4e3\ty\n"), values);
  EXPECT_EQ(read("a.csv", "a,b,label\n\"1,5\",2,x\n\"-0,25\",\"4,0e3\",\"y,5\"\n"), values);
  EXPECT_EQ(read("a.csv", "a,b,label\n1.5,2,x\n-0.25,4e3,y\n"), values);  // a separator stays one
  read_decimal_commas(false);
}

}  // namespace
}  // namespace selfnorm
