#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "data/array_bytes.h"
#include "data/reader_checks.h"

namespace selfnorm {
namespace {

using Strings = std::vector<std::string>;
using Floats = std::vector<float>;

TEST(Npy, TypesAndOrders) {
  ReadOptions options;
  options.require_labels = false;
  auto values = [&](const std::string& bytes) {
    return read_bytes("a.npy", bytes, options).data.features.dense.values;
  };
  Floats expected{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(values(npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6}))), expected);
  EXPECT_EQ(values(npy("<f8", "(2, 3)", raw<double>({1, 2, 3, 4, 5, 6}))), expected);
  EXPECT_EQ(values(npy("<i8", "(2, 3)", raw<int64_t>({1, 2, 3, 4, 5, 6}))), expected);
  EXPECT_EQ(values(npy("|u1", "(2, 3)", "\1\2\3\4\5\6")), expected);
  const std::string half = raw<uint16_t>({0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600});
  const std::string brain = raw<uint16_t>({0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0});
  EXPECT_EQ(values(npy("<f2", "(2, 3)", half)), expected);
  EXPECT_EQ(values(npy("<V2", "(2, 3)", brain)), expected);
  EXPECT_EQ(values(npy("|V2", "(2, 3)", brain)), expected);
  EXPECT_EQ(values(npy(">i2", "(2, 3)", std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12))), expected);
  EXPECT_EQ(values(npy("<f4", "(2, 3)", raw<float>({1, 4, 2, 5, 3, 6}), true)), expected);
  EXPECT_EQ(values(gzip(npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6})))), expected);
}

TEST(Npy, LabelsInAnotherFile) {
  Scratch scratch;
  std::string features = scratch.file("X.npy", npy("<f4", "(3, 1)", raw<float>({1, 2, 3})));
  auto labels = [&](const std::string& bytes) {
    ReadOptions options;
    options.labels_path = scratch.file("y", bytes);
    return read_dataset(features, options).data;
  };
  EXPECT_EQ(labels(npy("<i4", "(3,)", raw<int32_t>({10, -1, 9}))).labels, (Strings{"-1", "9", "10"}));
  EXPECT_EQ(labels(npy("<f8", "(3,)", raw<double>({0, 2, 1.5}))).labels, (Strings{"0", "1.5", "2"}));
  EXPECT_EQ(labels(npy("|S2", "(3,)", std::string("b\0cca\0", 6))).labels, (Strings{"a", "b", "cc"}));
  EXPECT_EQ(labels(npy("<U2", "(3,)", raw<uint32_t>({'b', 0, 0xE9, 'c', 0x1F600, 0}))).labels,
            (Strings{"b",
                     "\xC3\xA9"
                     "c",
                     "\xF0\x9F\x98\x80"}));
  EXPECT_EQ(labels("x\ny\nx\n").target, (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_THROW(labels("x\ny\n"), DataError);
}

struct MatrixCase {
  std::string bytes;
  const char* message;
};

TEST(Npy, Errors) {
  std::string good = npy("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6}));
  for (
      const MatrixCase& c : std::initializer_list<MatrixCase>{
          {good, "a.npy: found features but no labels; name the file that has them (labels)"},
          {good.substr(0, good.size() - 1), "a.npy: the header declares 24 bytes of elements, but 23 follow"},
          {good + "x", "a.npy: the header declares 24 bytes of elements, but 25 follow"},
          {gzip(good + "x"), "a.npy: the header declares 24 bytes of elements, but more follow"},
          {gzip(good.substr(0, good.size() - 1)),
           "a.npy: the header declares 24 bytes of elements, but 23 follow"},
          {npy("<f4", "(4000000000, 1000000000)", ""),
           "a.npy: the header declares 16000000000000000000 bytes of elements, but 0 follow"},
          {npy("<f4", "(18446744073709551615, 2)", ""), "a.npy: the declared shape is too large"},
          {npy("<f4", "(2, 9999999999)", ""), "a.npy: the declared shape is too large"},
          {npy("<f4", "(99999999999, 0)", ""), "a.npy: found 0 columns, expected features"},
          {npy("<f4", "(0, 3)", ""),
           "a.npy: found no rows of data; expected at least one: add some, or give another file"},
          {npy("<f4", "(3,)", raw<float>({1, 2, 3})),
           "a.npy: found an array of 1 dimensions, expected features: rows x columns"},
          {npy("<c8", "(1, 1)", "12345678"),
           "a.npy: found elements of type '<c8', expected f2, f4, f8, V2 (bfloat16), an integer, b1, S or U"},
          {npy("|O", "(1, 1)", ""),
           "a.npy: found elements of type '|O', expected f2, f4, f8, V2 (bfloat16), an integer, b1, S or U"},
          {"\x93NUMPY\x09", "a.npy: found no NPY magic bytes at the start, expected \\x93NUMPY"},
          {"not npy at all", "a.npy: found no NPY magic bytes at the start, expected \\x93NUMPY"},
          {std::string("\x93NUMPY\1\0\5\0{'a'}", 15),
           "a.npy: found the NPY header '{'a'}', expected 'descr', 'fortran_order' and 'shape'"}})
    EXPECT_EQ(read_error("a.npy", c.bytes), c.message);
}

TEST(Npz, DenseStoredAndDeflated) {
  for (bool deflated : {false, true}) {
    std::string bytes = zip({{"X.npy", npy("<f8", "(2, 2)", raw<double>({1, 2, 3, 4})), deflated},
                             {"y.npy", npy("<i8", "(2,)", raw<int64_t>({7, 5})), deflated}});
    ReadResult r = read_bytes("a.npz", bytes);
    EXPECT_EQ(r.report.format, Format::npz);
    EXPECT_EQ(r.data.features.dense.values, (Floats{1, 2, 3, 4}));
    EXPECT_EQ(r.data.labels, (Strings{"5", "7"}));
    EXPECT_EQ(r.data.target, (std::vector<uint32_t>{1, 0}));
  }
}

std::vector<Member> csr(std::initializer_list<int32_t> indices, std::initializer_list<int32_t> indptr) {
  return {{"indices.npy", npy("<i4", "(" + std::to_string(indices.size()) + ",)", raw(indices))},
          {"indptr.npy", npy("<i4", "(" + std::to_string(indptr.size()) + ",)", raw(indptr))},
          {"format.npy", npy("|S3", "()", "csr")},
          {"shape.npy", npy("<i8", "(2,)", raw<int64_t>({2, 5}))},
          {"data.npy", npy("<f4", "(3,)", raw<float>({1, 2, 3}))},
          {"y.npy", npy("|S1", "(2,)", "ab")}};
}

TEST(Npz, Csr) {
  Dataset d = read_bytes("a.npz", zip(csr({3, 0, 4}, {0, 2, 3}))).data;
  EXPECT_TRUE(d.features.is_sparse);
  EXPECT_EQ(d.features.columns(), 5u);
  EXPECT_EQ(d.features.sparse.begin, (std::vector<uint64_t>{0, 2, 3}));
  EXPECT_EQ(d.features.sparse.column, (std::vector<uint32_t>{0, 3, 4}));
  EXPECT_EQ(d.features.sparse.value, (Floats{2, 1, 3}));
  EXPECT_EQ(read_error("a.npz", zip(csr({3, 3, 4}, {0, 2, 3}))),
            "a.npz:1: row 1: found a column twice or beyond the 5 columns of the matrix");
  EXPECT_EQ(read_error("a.npz", zip(csr({3, 0, 5}, {0, 2, 3}))),
            "a.npz:2: row 2: found a column twice or beyond the 5 columns of the matrix");
  for (auto indptr : {std::initializer_list<int32_t>{0, 4, 3}, {0, 2, 4}, {0, 3}, {1, 2, 3}, {0, -1, 3}})
    EXPECT_EQ(read_error("a.npz", zip(csr({3, 0, 4}, indptr))),
              "a.npz: the arrays of the CSR matrix do not fit together");
}

TEST(Npz, TheOnlyArrayOfFloatsIsTheFeatures) {
  const std::string x = npy("<f2", "(2, 1)", raw<uint16_t>({0x3C00, 0x4000}));
  const std::string y = npy("<f4", "(2, 1)", raw<float>({3, 4}));
  const std::string ids = npy("<i4", "(2, 2)", raw<int32_t>({1, 2, 3, 4}));
  Dataset d = read_bytes("a.npz", zip({{"ids.npy", ids}, {"embeddings.npy", x}, {"y.npy", y}})).data;
  EXPECT_EQ(d.features.dense.values, (Floats{1, 2}));
  EXPECT_EQ(d.labels, (Strings{"3", "4"}));
}

TEST(Safetensors, FeaturesAndLabels) {
  const std::string half = raw<uint16_t>({0x3C00, 0x4000, 0x4200, 0x4400});
  const std::string brain = raw<uint16_t>({0x3F80, 0x4000, 0x4040, 0x4080});
  const std::vector<TensorBytes> dtypes = {{"X", "F16", "[2, 2]", half},
                                           {"states", "BF16", "[2, 1, 2]", brain},
                                           {"h", "F32", "[2, 2]", raw<float>({1, 2, 3, 4})},
                                           {"anything", "F64", "[2, 2]", raw<double>({1, 2, 3, 4})}};
  for (const TensorBytes& x : dtypes)
    for (size_t padding : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const std::string bytes =
          safetensors({{"y", "I64", "[2]", raw<int64_t>({7, 5})}, x}, R"({"format":"pt"})", padding);
      ReadResult r = read_bytes("a.bin", bytes);
      EXPECT_EQ(r.report.format, Format::safetensors);
      EXPECT_EQ(r.report.bytes, bytes.size());
      EXPECT_EQ(r.data.features.columns(), 2u);
      EXPECT_EQ(r.data.features.dense.values, (Floats{1, 2, 3, 4}));
      EXPECT_EQ(r.data.labels, (Strings{"5", "7"}));
      EXPECT_EQ(r.data.target, (std::vector<uint32_t>{1, 0}));
      expect_equal(read_bytes("a.safetensors", gzip(bytes)).data, r.data);
    }
}

TEST(Safetensors, LabelsInAnotherFileAndFromDisk) {
  Scratch scratch;
  const std::string x =
      scratch.file("X.safetensors", safetensors({{"x", "F32", "[2, 1]", raw<float>({1, 2})}}));
  ReadOptions options;
  options.labels_path = scratch.file("y.txt", "b\na\n");
  EXPECT_EQ(read_dataset(x, options).data.target, (std::vector<uint32_t>{1, 0}));
}

TEST(Safetensors, Errors) {
  const std::string x = raw<float>({1, NAN});
  const std::string good = safetensors({{"X", "F32", "[2, 1]", x}, {"y", "I8", "[2]", "\1\2"}});
  EXPECT_EQ(read_error("a.safetensors", good),
            "a.safetensors:2: row 2: found nan at position 0, expected finite numbers in the range of a "
            "32-bit float");
  EXPECT_EQ(
      read_error("a.safetensors", good.substr(0, good.size() - 1)),
      "a.safetensors: tensor \"y\": bytes 8 to 10 are outside the 9 bytes of data; the file is truncated or "
      "damaged");
  EXPECT_EQ(read_error("a.safetensors", "not one"), "a.safetensors: 7 bytes, expected a safetensors file");
  EXPECT_EQ(
      read_error("a.safetensors", safetensors({{"q", "I8", "[1, 1]", "1"}})),
      "a.safetensors: found 'q'; expected an array X, x, features, data, states, hidden_states, h or H, or "
      "one array of floats in two or more dimensions (and y, label, labels, target or targets)");
  EXPECT_EQ(
      read_error("a.safetensors", safetensors({{"X", "F32", "[0, 4]", ""}})),
      "a.safetensors 'X': found no rows of data; expected at least one: add some, or give another file");
  EXPECT_EQ(read_error("a.safetensors", safetensors({{"X", "F32", "[2]", x}})),
            "a.safetensors 'X': found an array of 1 dimensions, expected features: rows x columns");
  EXPECT_EQ(
      read_error("a.safetensors", safetensors({{"X", "F32", "[99999999999, 99999999999]", x}})),
      "a.safetensors: tensor \"X\": bytes 0 to 8: shape [99999999999, 99999999999] does not fit in 64 bits");
}

TEST(Npz, Errors) {
  std::string x = npy("<f4", "(1, 2)", raw<float>({1, 2}));
  std::string good = zip({{"X.npy", x}});
  EXPECT_EQ(read_error("a.npz", good),
            "a.npz: found features but no labels; name the file that has them (labels)");
  EXPECT_EQ(read_error("a.npz", good.substr(0, good.size() - 5)),
            "a.npz: found no end of a zip archive: the file is truncated");
  EXPECT_EQ(
      read_error("a.npz", zip({{"a.npy", x}, {"b.npy", x}, {"readme.txt", "x"}})),
      "a.npz: found 'a', 'b'; expected an array X, x, features, data, states, hidden_states, h or H, or "
      "one array of floats in two or more dimensions (and y, label, labels, target or targets)");
  EXPECT_EQ(read_error("a.npz", zip({{"X.npy", x}, {"X.npy", x}})), "a.npz: found the array 'X' twice");
  EXPECT_EQ(
      read_error("a.npz", zip({{"X.npy", npy("|O", "(1, 1)", "")}})),
      "a.npz 'X.npy': found elements of type '|O', expected f2, f4, f8, V2 (bfloat16), an integer, b1, S "
      "or U");
  std::string bomb = zip({{"X.npy", x, true}});
  bomb.replace(bomb.rfind("PK\1\2") + 24, 4, little(4'000'000'000, 4));
  EXPECT_TRUE(read_error("a.npz", bomb).ends_with("bytes can unpack to"));
  std::string damaged = good;
  damaged[30 + 5 + x.size() - 1] ^= 1;
  EXPECT_EQ(read_error("a.npz", damaged), "a.npz 'X.npy': its CRC-32 is wrong: the archive is damaged");
  EXPECT_EQ(read_error("a.npz", gzip(good)),
            "a.npz: an npz file cannot be read from a pipe or from within gzip; expected a plain file");
}

TEST(Matrix, NotFiniteRowsAreBad) {
  std::string x = npy("<f8", "(3, 2)", raw<double>({1, 2, 3, 1e300, 5, 6}));
  std::string bytes = zip({{"X.npy", x}, {"y.npy", npy("|u1", "(3,)", "\1\2\1")}});
  EXPECT_EQ(
      read_error("a.npz", bytes),
      "a.npz:2: row 2: found inf at position 1, expected finite numbers in the range of a 32-bit float");
  ReadOptions options;
  options.skip_bad = 1;
  ReadResult r = read_bytes("a.npz", bytes, options);
  EXPECT_EQ(r.data.features.dense.values, (Floats{1, 2, 5, 6}));
  EXPECT_EQ(r.data.labels, Strings{"1"});
  EXPECT_EQ(r.report.bad[0].line, 2u);
}

TEST(Matrix, ALabelThatIsNotFiniteIsABadRow) {
  const std::string bytes = zip({{"X.npy", npy("<f4", "(3, 1)", raw<float>({1, 2, 3}))},
                                 {"y.npy", npy("<f8", "(3,)", raw<double>({0, NAN, 1}))}});
  EXPECT_EQ(read_error("a.npz", bytes), "a.npz:2: row 2: found an empty label, or NaN");
  ReadOptions options;
  options.skip_bad = 1;
  ReadResult r = read_bytes("a.npz", bytes, options);
  EXPECT_EQ(r.data.labels, (Strings{"0", "1"}));
  EXPECT_EQ(r.report.left_out, std::vector<uint64_t>{1});
}

TEST(Matrix, Schema) {
  std::string bytes = zip({{"X.npy", npy("|u1", "(1, 2)", "\1\2")}, {"y.npy", npy("|S1", "(1,)", "b")}});
  Schema schema{{"a", "b"}, 2, {}, {}};
  ReadOptions options;
  options.schema = &schema;
  EXPECT_EQ(read_bytes("a.npz", bytes, options).data.target[0], 1u);
  schema.feature_count = 3;
  EXPECT_EQ(read_error("a.npz", bytes, options), "a.npz: found 2 columns, but the model has 3 features");
  schema = {{"a"}, 2, {}, {}};
  EXPECT_EQ(read_error("a.npz", bytes, options),
            "a.npz:1: row 1: found label 'b', which was not seen in training; expected one of the model's 1 "
            "labels, such as 'a'");
}

std::string idx(int type, std::initializer_list<int> shape, const std::string& payload) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
  for (int n : shape)
    out += {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
            static_cast<char>(n)};
  return out + payload;
}

TEST(Idx, FindsItsLabels) {
  Scratch scratch;
  std::string images = scratch.file("train-images-idx3-ubyte.gz", gzip(idx(8, {2, 1, 3}, "\1\2\3\4\5\xFF")));
  EXPECT_THROW(read_dataset(images), DataError);
  scratch.file("train-labels-idx1-ubyte", idx(8, {2}, "\7\3"));
  Dataset d = read_dataset(images).data;
  EXPECT_EQ(d.features.dense.values, (Floats{1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(d.labels, (Strings{"3", "7"}));
  EXPECT_EQ(d.target, (std::vector<uint32_t>{1, 0}));
}

TEST(Idx, Errors) {
  EXPECT_EQ(read_error("a-ubyte", idx(8, {2, 3}, "12345")),
            "a-ubyte: the header declares 6 bytes of elements, but 5 follow");
  EXPECT_EQ(read_error("a-ubyte", idx(8, {0x7FFFFFFF, 0x7FFFFFFF, 4}, "")),
            "a-ubyte: the declared shape is too large");
  EXPECT_EQ(read_error("a-ubyte", idx(8, {3}, "123")),
            "a-ubyte: found an array of 1 dimensions, expected features: rows x columns");
  EXPECT_EQ(read_error("a-ubyte", "plain"), "a-ubyte: found no idx magic bytes at the start, expected 0, 0");
  EXPECT_EQ(read_error("a-ubyte", idx(8, {3, 4}, "").substr(0, 7)),
            "a-ubyte: the file ends within the idx header");
  EXPECT_EQ(read_error("a-ubyte", idx(5, {1}, "1")),
            "a-ubyte: found the idx element type 0x05, expected 0x08 to 0x0e");
}

}  // namespace
}  // namespace selfnorm
