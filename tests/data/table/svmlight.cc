#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

using Strings = std::vector<std::string>;

TEST(Svmlight, RowsLabelsAndComments) {
  Dataset d = read_bytes("a.svm", "# made by hand\n\n+1 1:0.5 3:-2e1 # note\r\n10 2:1\n-1\n1 4:.25#x\n").data;
  EXPECT_EQ(d.labels, (Strings{"-1", "+1", "10"}));
  EXPECT_EQ(d.target, (std::vector<uint32_t>{1, 2, 0, 1}));
  EXPECT_EQ(d.features.columns(), 4u);
  EXPECT_EQ(d.features.sparse.begin, (std::vector<uint64_t>{0, 2, 3, 3, 4}));
  EXPECT_EQ(d.features.sparse.column, (std::vector<uint32_t>{0, 2, 1, 3}));
  EXPECT_EQ(d.features.sparse.value, (std::vector<float>{0.5f, -20, 1, 0.25f}));
}

TEST(Svmlight, LabelsThatAreNotAllIntegersAreSortedBytewise) {
  EXPECT_EQ(read_bytes("a.svm", "9 1:1\nc# 1:1\n10 1:1\n").data.labels, (Strings{"10", "9", "c#"}));
}

TEST(Svmlight, LastLineWithoutLineFeed) {
  EXPECT_EQ(read_bytes("a.svm", "1 1:2").data.features.sparse.value[0], 2);
}

struct SvmlightCase {
  const char* bytes;
  const char* message;
};

TEST(Svmlight, ErrorsSayWhereAndWhat) {
  for (SvmlightCase c : std::initializer_list<SvmlightCase>{
           {"1 1:1\n1 2:abc\n", "a.svm:2: in the value of index 2: found 'abc', expected a finite number"},
           {"1 2:\n", "a.svm:1: in the value of index 2: found an empty value, expected a number"},
           {"1 1:nan\n", "a.svm:1: in the value of index 1: found 'nan', expected a finite number"},
           {"1 1:-inf\n", "a.svm:1: in the value of index 1: found '-inf', expected a finite number"},
           {"1 1:1e39\n",
            "a.svm:1: in the value of index 1: found '1e39', too large for a 32-bit float (at most 3.4e38)"},
           {"1 0:1\n", "a.svm:1: found '0:1', but indices start at 1 in this format"},
           {"1 3:1 2:1\n", "a.svm:1: found '2:1' after index 3, expected indices to increase"},
           {"\n#\n1 3:1 3:1\n", "a.svm:3: found '3:1' after index 3, expected indices to increase"},
           {"1 4294967295:1\n", "a.svm:1: found '4294967295:1', expected an index of at most 4294967294"},
           {"1 99999999999999999999:1\n",
            "a.svm:1: found '99999999999999999999:1', expected an index of at most 4294967294"},
           {"1 word\n", "a.svm:1: found 'word', expected index:value"},
           {"1 1:1\n1 -1:1\n", "a.svm:2: found '-1:1', expected index:value"},
           {"1:1 2:1\n", "a.svm:1: found '1:1', expected a label before the first index:value"},
           {"1 1:1\x01\n", "a.svm:1: in the value of index 1: found '1\\x01', expected a finite number"},
           {"1 1:1\n1 qid:2 1:1\n", "a.svm:2: found 'qid:2', but the first row has no qid"},
           {"", "a.svm: the file is empty; expected rows of data: write it again, or give another file"},
           {"# nothing\n\n",
            "a.svm: found no rows of data; expected at least one: add some, or give another file"},
           {"a\nb\n", "a.svm: found no features in any row"}})
    EXPECT_EQ(read_error("a.svm", c.bytes), c.message);
}

TEST(Svmlight, TheFirstBadLineIsTheOneReported) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += i == 700 || i == 701 || i == 1999 ? "1 0:1\n" : "1 1:1 2:0.5\n";
  for (int threads : {1, 2, 4})
    for (uint32_t block : {1u, 100u, 1u << 20}) {
      ReadOptions options;
      options.threads = threads;
      options.block_bytes = block;
      EXPECT_EQ(read_error("a.svm", text, options),
                "a.svm:701: found '0:1', but indices start at 1 in this format");
    }
}

TEST(Svmlight, SkipBad) {
  std::string text = "1 1:1\n2 0:1\n1 2:1\n3 1:x\n2 1:1\n";
  ReadOptions options;
  options.skip_bad = 2;
  ReadResult r = read_bytes("a.svm", text, options);
  EXPECT_EQ(r.report.rows, 3u);
  EXPECT_EQ(r.data.labels, (Strings{"1", "2"}));  // a bad row gives no class
  ASSERT_EQ(r.report.bad.size(), 2u);
  EXPECT_EQ(r.report.bad[0].line, 2u);
  EXPECT_EQ(r.report.bad[1].line, 4u);
  expect_block_invariance("a.svm", text, options);
  options.skip_bad = 1;
  EXPECT_EQ(read_error("a.svm", text, options),
            "a.svm:4: in the value of index 1: found 'x', expected a finite number (bad row 2, where 1 may "
            "be skipped; the "
            "first is line 2)");
  EXPECT_EQ(read_error("a.svm", "1 0:1\n", options),
            "a.svm: found no good row of data (the bad ones were skipped)");
}

TEST(Svmlight, SchemaOfAModel) {
  Schema schema{{"cat", "1"}, 3, {}, {}};
  ReadOptions options;
  options.schema = &schema;
  Dataset d = read_bytes("a.svm", "+1 1:1\ncat 2:1\n", options).data;
  EXPECT_EQ(d.target, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(d.labels, schema.labels);
  EXPECT_EQ(d.features.columns(), 3u);
  EXPECT_EQ(read_error("a.svm", "cat 1:1\ndog 1:1\n", options),
            "a.svm:2: found label 'dog', which was not seen in training; expected one of the model's 2 "
            "labels, such as 'cat'");
  EXPECT_EQ(read_error("a.svm", "cat 4:1\n", options), "a.svm:1: found '4:1', but the model has 3 features");
  options.require_labels = false;
  EXPECT_EQ(read_bytes("a.svm", "1:1\ndog 1:1\ncat 1:1\n", options).data.target,
            (std::vector<uint32_t>{Dataset::kNoTarget, Dataset::kNoTarget, 0}));
}

TEST(Svmlight, UnseenLabelsThatAreKept) {
  Schema schema{{"cat", "1"}, 3, {}, {}};
  ReadOptions options;
  options.schema = &schema;
  options.keep_unseen = true;
  options.skip_bad = 2;
  options.block_bytes = 1;
  const ReadResult read =
      read_bytes("a.svm", "cat 1:1\nowl x\ncat 1:1\ndog 1:1\nowl y\nowl 2:1\ndog 2:1\n", options);
  constexpr uint32_t kUnseen = Dataset::kUnseenTarget;
  EXPECT_EQ(read.data.target, (std::vector<uint32_t>{0, 0, kUnseen, kUnseen, kUnseen}));
  EXPECT_EQ(read.report.unseen.examples, 3u);
  EXPECT_EQ(read.report.unseen.first, 3u);  // of the file
  EXPECT_EQ(read.report.unseen.label, "dog");
  EXPECT_EQ(read.report.bad.size(), 2u);
  EXPECT_EQ(seen_examples(read.data), (std::vector<uint64_t>{0, 1}));
  options.require_labels = false;
  EXPECT_EQ(read_bytes("a.svm", "1:1\ndog 1:1\n", options).data.target,
            (std::vector<uint32_t>{Dataset::kNoTarget, kUnseen}));
}

TEST(Svmlight, Groups) {
  std::string text = "0 qid:7 1:1\n1 qid:7 2:1\n2 qid:3 1:3\n0 qid:3\n-1 qid:3 2:2\n";
  Dataset d = read_bytes("a.svm", text).data;
  EXPECT_TRUE(d.is_joint());
  EXPECT_EQ(d.group_begin, (std::vector<uint64_t>{0, 2, 5}));
  EXPECT_EQ(d.target, (std::vector<uint32_t>{1, 0}));
  EXPECT_TRUE(d.labels.empty());
  expect_block_invariance("a.svm", text);
}

TEST(Svmlight, GroupErrors) {
  for (SvmlightCase c : std::initializer_list<SvmlightCase>{
           {"0 qid:1 1:1\n0 qid:1 1:2\n",
            "a.svm:1: found 0 chosen alternatives (target > 0) in the group qid:1, expected exactly one"},
           {"1 qid:1 1:1\n1 qid:2 1:1\n1 qid:2 1:2\n",
            "a.svm:2: found 2 chosen alternatives (target > 0) in the group qid:2, expected exactly one"},
           {"1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n",
            "a.svm:3: found qid:1 again after other groups, expected the rows of a group together"},
           {"1 qid:1 1:1\n1 2:1\n",
            "a.svm:2: found '2:1', expected qid:N after the target as in the first row"},
           {"1 qid:1 1:1\nx qid:2 1:1\n", "a.svm:2: in the target: found 'x', expected a finite number"},
           {"1 qid:a 1:1\n", "a.svm:1: found 'qid:a', expected qid: and a whole number"}})
    EXPECT_EQ(read_error("a.svm", c.bytes), c.message);
}

TEST(Svmlight, ABadAlternativeTakesItsGroupAlong) {
  ReadOptions options;
  options.skip_bad = 2;
  std::string text = "1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:1\n0 qid:2 0:2\n1 qid:3 1:1\n0 qid:4 1:4\n";
  ReadResult r = read_bytes("a.svm", text, options);
  EXPECT_EQ(r.data.group_begin, (std::vector<uint64_t>{0, 2, 3}));
  EXPECT_EQ(r.data.features.sparse.value, (std::vector<float>{1, 2, 1}));
  ASSERT_EQ(r.report.bad.size(), 2u);
  EXPECT_EQ(r.report.bad[0].line, 4u);
  EXPECT_EQ(r.report.bad[1].line, 6u);
  expect_block_invariance("a.svm", text, options);
}

TEST(Svmlight, ASkippedRowDoesNotWidenTheData) {
  ReadOptions options;
  options.skip_bad = 1;
  ReadResult r = read_bytes("a.svm", "a 1:1\nb 4000000000:1 qid:7\nb 2:1\n", options);
  EXPECT_EQ(r.data.features.columns(), 2u);
  EXPECT_EQ(r.report.left_out, std::vector<uint64_t>{1});
}

TEST(Svmlight, GroupsAndClassesAreToldApartBeforeLabels) {
  Schema schema{.labels = {}, .feature_count = 2, .feature_names = {}, .text = {}, .is_joint = true};
  ReadOptions options;
  options.schema = &schema;
  EXPECT_EQ(read_error("a.svm", "a 1:1\n", options),
            "a.svm: the model scores groups of alternatives; expected svmlight data with qid:");
  EXPECT_EQ(read_error("a.csv", "label,f\na,1\n", options),
            "a.csv: the model scores groups of alternatives; expected svmlight data with qid:");
  schema.is_joint = false;
  EXPECT_EQ(read_error("a.svm", "1 qid:1 1:1\n", options),
            "a.svm: the data are groups of alternatives (qid:), but the model has classes");
}

RC_GTEST_PROP(Svmlight, RandomBytesNeverCrash, ()) {
  auto bytes =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("01 :#.-+eqidna\n\t\r\x80\xff\"")));
  ReadOptions options;
  options.format = Format::svmlight;
  options.skip_bad = *rc::gen::inRange(0, 3);
  options.block_bytes = 3;
  read_error("a.svm", bytes, options);
}

}  // namespace
}  // namespace selfnorm
