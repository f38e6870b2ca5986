#include "data/read.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

Format format_of(const std::string& name, std::string_view bytes) {
  return read_bytes(name, bytes).report.format;
}

TEST(Read, FormatByExtensionOrContent) {
  EXPECT_EQ(format_of("a.libsvm", "1 1:1\n"), Format::svmlight);
  EXPECT_EQ(format_of("a", "# c\n1 1:1\n"), Format::svmlight);
  EXPECT_EQ(format_of("a", "0 qid:1 1:1\n1 qid:1 1:1\n"), Format::svmlight);
  EXPECT_EQ(format_of("a.data", "T,2,8\nI,5,12\n"), Format::csv);
  EXPECT_EQ(format_of("a.tsv", "x\t1\ny\t2\n"), Format::tsv);
  EXPECT_EQ(format_of("a.tsv", "x\tsome words\ny\t2\nz\tmore\n"), Format::text);
  EXPECT_EQ(format_of("a", "x\tsome words\n"), Format::text);
  EXPECT_EQ(format_of("a.tsv", "7\tsome words\n8\tmore of them\n"), Format::text);
  EXPECT_EQ(format_of("a.tsv", "width\tlabel\n1\tx\n2\ty\n"), Format::tsv);
  EXPECT_EQ(read_error("a", "hello world\n"),
            "a: found 'hello world', which fits no format: a text needs its label and a tab before it "
            "(label<TAB>text), a table commas, "
            "semicolons or tabs; if it has another of the formats svmlight, csv, tsv, npy, npz, safetensors, "
            "idx, name it (format)");
  EXPECT_EQ(read_error("a", ""),
            "a: the file is empty; expected rows of data: write it again, or give another file");
}

TEST(Read, FormatNames) {
  for (Format f : {Format::automatic, Format::svmlight, Format::idx, Format::safetensors})
    EXPECT_EQ(format_from_name(format_name(f)), f);
  EXPECT_THROW(format_from_name("xml"), Error);
}

std::string file_error(const std::string& path) {
  try {
    read_dataset(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Read, FilesThatCannotBeRead) {
  Scratch scratch;
  EXPECT_EQ(
      file_error(scratch.path("none")),
      "cannot read " + scratch.path("none") + ": there is no such file; give the path of one that exists");
  EXPECT_EQ(file_error(scratch.path("")), "cannot read " + scratch.path("") +
                                              ": it is a directory, expected a data file; several files: '" +
                                              scratch.path("") + "/*.csv'");
}

TEST(Read, NamedPipes) {
  Scratch scratch;
  std::string path = scratch.path("pipe.svm");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string command = "printf '1 1:1\\n2 2:1\\n' > " + path + " &";
  ASSERT_EQ(system(command.c_str()), 0);
  EXPECT_EQ(read_dataset(path).report.rows, 2u);
}

TEST(Read, GzipIsTheSameAsPlain) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i % 7) + " 1:" + std::to_string(i) + " 9:0.5\n";
  Scratch scratch;
  ReadResult plain = read_dataset(scratch.file("a.svm", text));
  expect_equal(read_dataset(scratch.file("a.svm.gz", gzip(text))).data, plain.data);
  expect_equal(read_dataset(scratch.file("members", gzip(text.substr(0, 999)) + gzip(text.substr(999)))).data,
               plain.data);
  expect_equal(read_dataset(scratch.file("padded.svm", gzip(text) + std::string(100, '\0'))).data,
               plain.data);
  EXPECT_EQ(plain.report.bytes, text.size());
}

TEST(Read, DamagedGzip) {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "1 1:" + std::to_string(i * 7919 % 10007) + "\n";
  std::string packed = gzip(text);
  ReadOptions options;
  options.skip_bad = 1000;
  for (size_t cut : {packed.size() - 1, packed.size() - 9, packed.size() / 2, size_t{12}, size_t{3}})
    EXPECT_EQ(read_error("a.svm.gz", packed.substr(0, cut), options),
              "a.svm.gz: the compressed data end too early: the file is truncated");
  std::string flipped = packed;
  flipped[packed.size() - 6] ^= 1;
  EXPECT_EQ(read_error("a.svm.gz", flipped),
            "a.svm.gz: the compressed data are damaged (incorrect data check)");
  EXPECT_EQ(read_error("a.svm.gz", packed + "junk"),
            "a.svm.gz: bytes that are not gzip follow the gzip data");
}

TEST(Read, ABadLineBeforeDamageIsReportedFirst) {
  std::string text = "1 0:1\n";
  for (int i = 0; i < 100000; ++i) text += "1 1:" + std::to_string(i * 7919 % 10007) + "\n";
  std::string packed = gzip(text);
  ReadOptions options;
  options.block_bytes = 1024;
  for (options.threads = 1; options.threads < 4; ++options.threads)
    EXPECT_EQ(read_error("a.svm.gz", packed.substr(0, packed.size() - 20), options),
              "a.svm.gz:1: found '0:1', but indices start at 1 in this format");
}

RC_GTEST_PROP(Read, RandomBytesInAnyFormatNeverCrash, (const std::vector<uint8_t>& raw)) {
  ReadOptions options;
  options.require_labels = false;
  options.format = static_cast<Format>(*rc::gen::inRange(0, 8));
  static const std::vector<std::string> prefixes = {"", "PK\3\4", "\x93NUMPY\1", std::string("\0\0\x08\2", 4),
                                                    "\x1f\x8b\x08"};
  std::string bytes = *rc::gen::elementOf(prefixes) + std::string(raw.begin(), raw.end());
  read_error("a", bytes, options);
}

TEST(Read, OptionsThatTheFormatCannotUseAreErrors) {
  const std::string svmlight = "a 1:1\nb 2:1\n", csv = "label,f\na,1\n";
  const auto error = [](const std::string& bytes, auto set) {
    ReadOptions options;
    set(options);
    return read_error("data", bytes, options);
  };
  EXPECT_EQ(error(svmlight, [](ReadOptions& o) { o.target = "a"; }),
            "data: found svmlight data, but a target column (target) is for csv and tsv");
  EXPECT_EQ(error(svmlight, [](ReadOptions& o) { o.weight_column = "0"; }),
            "data: found svmlight data, but a weight column (weight-column) is for csv and tsv");
  EXPECT_EQ(error(svmlight, [](ReadOptions& o) { o.header = Header::yes; }),
            "data: found svmlight data, but a header (header) is for csv, tsv and text");
  EXPECT_EQ(error(csv, [](ReadOptions& o) { o.labels_path = "y.npy"; }),
            "data: found csv data, but a file of labels (labels) is for npy, npz, safetensors and idx");
}

}  // namespace
}  // namespace selfnorm
