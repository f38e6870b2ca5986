#include "data/example_source.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "data/array_bytes.h"

namespace selfnorm {
namespace {

using Floats = std::vector<float>;
using Targets = std::vector<uint32_t>;
constexpr uint32_t kNone = Dataset::kNoTarget;

std::string states_error(const std::string& path, const StatesOptions& options = {}) {
  try {
    const auto source = open_states(path, options);
    source->block(0, source->examples());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void expect_whole(const ExampleSource& source, const Floats& values, uint32_t columns,
                  const Targets& targets) {
  const uint64_t n = source.examples();
  ASSERT_EQ(n * columns, values.size());
  EXPECT_EQ(source.columns(), columns);
  const Dataset all = source.block(0, n);
  EXPECT_EQ(all.features.dense.values, values);
  EXPECT_EQ(all.features.dense.rows, n);
  EXPECT_EQ(all.target, targets);
  for (uint64_t i = 0; i < n; ++i) {  // random access, both ways
    const std::vector<uint64_t> twice{n - 1 - i, i};
    expect_equal(source.gather(twice), subset(all, twice));
    std::vector<uint64_t> rest(n - i);
    std::iota(rest.begin(), rest.end(), i);
    expect_equal(source.block(i, n), subset(all, rest));
    EXPECT_EQ(source.block(i, i + 1).target, Targets{targets[i]});
    EXPECT_EQ(source.block(i, i + 1).features.dense.values,
              Floats(values.begin() + static_cast<ptrdiff_t>(i * columns),
                     values.begin() + static_cast<ptrdiff_t>((i + 1) * columns)));
  }
  EXPECT_EQ(source.block(n, n).features.rows(), 0u);
}

TEST(ExampleSource, ADatasetInMemory) {
  ReadOptions unlabelled;
  unlabelled.require_labels = false;
  const Dataset dense = read_bytes("a.csv", "y,a,b\nu,1,2\nv,3,4\nu,5,6\n").data;
  const auto source = make_example_source(dense);
  EXPECT_TRUE(source->has_targets());
  expect_whole(*source, {1, 2, 3, 4, 5, 6}, 2, {0, 1, 0});
  EXPECT_TRUE(source->block(0, 3).labels.empty());
  EXPECT_TRUE(source->block(0, 3).feature_names.empty());

  const Dataset sparse = read_bytes("a.svm", "1 1:2 3:4\n0 2:1\n1 3:5\n").data;
  const auto rows = make_example_source(sparse);
  EXPECT_EQ(rows->columns(), 3u);
  EXPECT_EQ(rows->gather(std::vector<uint64_t>{2, 0}).features.sparse.value, (Floats{5, 2, 4}));
  EXPECT_EQ(rows->block(1, 3).features.sparse.column, (Targets{1, 2}));

  const auto joint =
      make_example_source(read_bytes("a.svm", "1 qid:1 1:1\n0 qid:1 1:2\n0 qid:2 1:3\n1 qid:2 1:4\n").data);
  EXPECT_TRUE(joint->is_joint());
  EXPECT_EQ(joint->examples(), 2u);
  EXPECT_EQ(joint->block(1, 2).features.sparse.value, (Floats{3, 4}));
  EXPECT_EQ(joint->block(1, 2).group_begin, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(joint->block(1, 2).target, Targets{1});

  const auto bare =
      make_example_source(read_bytes("a.npy", npy("<f4", "(2, 1)", raw<float>({1, 2})), unlabelled).data);
  EXPECT_FALSE(bare->has_targets());
  expect_whole(*bare, {1, 2}, 1, {kNone, kNone});
}

TEST(States, EveryFormatAndDtypeInPlace) {
  const Scratch scratch;
  struct Case {
    const char *descr, *dtype;
    std::string bytes;
  };
  const Floats values{1, 2, 3, 4, 5, 6};
  for (const Case& c : std::initializer_list<Case>{
           {"<f2", "F16", raw<uint16_t>({0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600})},
           {"|V2", "BF16", raw<uint16_t>({0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0})},
           {"<f4", "F32", raw<float>({1, 2, 3, 4, 5, 6})},
           {"<f8", "F64", raw<double>({1, 2, 3, 4, 5, 6})},
           {"|u1", "U8", "\1\2\3\4\5\6"}}) {
    const std::string array = npy(c.descr, "(3, 2)", c.bytes),
                      y = npy("<i8", "(3,)", raw<int64_t>({4, 0, 2}));
    StatesOptions options;
    options.classes = 5;
    expect_whole(*open_states(scratch.file("h.npy", array), options), values, 2, {kNone, kNone, kNone});
    for (const bool deflated : {false, true}) {
      const std::string archive = zip({{"y.npy", y, deflated}, {"states.npy", array, deflated}});
      const auto source = open_states(scratch.file("h.npz", archive), options);
      EXPECT_TRUE(source->has_targets());
      expect_whole(*source, values, 2, {4, 0, 2});
    }
    for (size_t padding = 0; padding < 8; ++padding) {
      const std::string tensors = safetensors(
          {{"hidden_states", c.dtype, "[3, 2]", c.bytes}, {"targets", "U8", "[3]", std::string("\4\0\2", 3)}},
          "", padding);
      expect_whole(*open_states(scratch.file("h.safetensors", tensors), options), values, 2, {4, 0, 2});
    }
  }
}

TEST(States, FortranOrderInTwoDimensions) {
  const Scratch scratch;
  const std::string path = scratch.file("h.npy", npy("<f4", "(2, 3)", raw<float>({1, 4, 2, 5, 3, 6}), true));
  expect_whole(*open_states(path, {}), {1, 2, 3, 4, 5, 6}, 3, {kNone, kNone});
  const std::string cube = scratch.file("c.npy", npy("<f4", "(1, 1, 2)", raw<float>({1, 2}), true));
  EXPECT_EQ(states_error(cube), cube + ": found Fortran order in more than 2 dimensions, expected C order");
}

TEST(States, AllDimensionsButTheLastAreRows) {
  const Scratch scratch;
  const std::string path =
      scratch.file("h.npy", npy("<f4", "(2, 2, 2)", raw<float>({1, 2, 3, 4, 5, 6, 7, 8})));
  StatesOptions options;
  expect_whole(*open_states(path, options), {1, 2, 3, 4, 5, 6, 7, 8}, 2, {kNone, kNone, kNone, kNone});
  options.labels = scratch.file("y.npy", npy("<i4", "(2, 2)", raw<int32_t>({3, 2, 1, 0})));
  expect_whole(*open_states(path, options), {1, 2, 3, 4, 5, 6, 7, 8}, 2, {3, 2, 1, 0});
  // One label for each of the first dimension: images of 2 x 2.
  options.labels = scratch.file("y.npy", npy("<i4", "(2,)", raw<int32_t>({1, 0})));
  expect_whole(*open_states(path, options), {1, 2, 3, 4, 5, 6, 7, 8}, 4, {1, 0});
  const Schema schema{{}, 4, {}, {}};
  options = {};
  options.schema = &schema;
  EXPECT_EQ(open_states(path, options)->columns(), 4u);
}

TEST(States, LabelsBecomeClasses) {
  const Scratch scratch;
  const std::string path = scratch.file("h.npy", npy("<f4", "(2, 1)", raw<float>({1, 2})));
  const Schema named{{"cat", "7"}, 1, {}, {}};
  const auto targets = [&](const std::string& labels, const Schema* schema, uint32_t classes) {
    StatesOptions options{{}, scratch.file("y", labels), schema, classes};
    return open_states(path, options)->block(0, 2).target;
  };
  const auto error = [&](const std::string& labels, const Schema* schema, uint32_t classes) {
    return states_error(path, {{}, scratch.file("y", labels), schema, classes});
  };
  const std::string y = scratch.path("y");
  EXPECT_EQ(targets("+7\ncat\n", &named, 0), (Targets{1, 0}));
  EXPECT_EQ(targets(npy("<i2", "(2,)", raw<int16_t>({7, 7})), &named, 0), (Targets{1, 1}));
  EXPECT_EQ(targets(npy("|S3", "(2,)", std::string("cat7\0\0", 6)), &named, 0), (Targets{0, 1}));
  EXPECT_EQ(targets(npy("<f4", "(2,)", raw<float>({3, 0})), nullptr, 4), (Targets{3, 0}));
  EXPECT_EQ(targets("1\n+2\n", nullptr, 3), (Targets{1, 2}));
  EXPECT_EQ(targets(gzip("1\n2\n"), nullptr, 3), (Targets{1, 2}));
  const Schema nameless{{}, 1, {}, {}};
  EXPECT_EQ(targets("1\n0\n", &nameless, 2), (Targets{1, 0}));

  EXPECT_EQ(error("cat\ndog\n", &named, 0),
            y + ":2: row 2: found label 'dog', which was not seen in training; expected one of the model's 2 "
                "labels, such as 'cat'");
  EXPECT_EQ(error(npy("<i2", "(2,)", raw<int16_t>({1, 4})), nullptr, 4),
            y + ":2: row 2: found label '4', expected a class number, 0 to 3");
  EXPECT_EQ(error(npy("<i2", "(2,)", raw<int16_t>({-1, 0})), nullptr, 4),
            y + ":1: row 1: found label '-1', expected a class number, 0 to 3");
  EXPECT_EQ(error(npy("<f4", "(2,)", raw<float>({1, 0.5f})), nullptr, 4),
            y + ":2: row 2: found label '0.5', expected a class number, 0 to 3");
  EXPECT_EQ(error(npy("<f4", "(2,)", raw<float>({1, NAN})), nullptr, 4),
            y + ":2: row 2: found an empty label, or NaN");
  EXPECT_EQ(error("1\n\n", nullptr, 4), y + ":2: row 2: found an empty label, or NaN");
  EXPECT_EQ(error("1\n", nullptr, 4), path + ": found 1 labels for 2 rows");
  EXPECT_EQ(error(npy("<i2", "(3,)", raw<int16_t>({1, 0, 1})), nullptr, 4),
            path + ": found 3 labels for 2 rows");
  EXPECT_EQ(error(zip({{"y.npy", npy("<i2", "(1,)", raw<int16_t>({1}))}}), nullptr, 4),
            y + ": found an archive of arrays, expected labels in an npy file or a text file");
}

TEST(States, Errors) {
  const Scratch scratch;
  const auto file = [&](const std::string& bytes) { return scratch.file("h", bytes); };
  const std::string h = scratch.path("h");
  EXPECT_EQ(states_error(file(npy("<f4", "(2, 2)", raw<float>({1, 2, 3, INFINITY})))),
            h + ":2: row 2: found inf at position 1, expected finite numbers in the range of a 32-bit float");
  EXPECT_EQ(states_error(file(npy("<f2", "(1, 1)", raw<uint16_t>({0x7E00})))),
            h + ":1: row 1: found nan at position 0, expected finite numbers in the range of a 32-bit float");
  EXPECT_EQ(states_error(file(npy("<f8", "(1, 1)", raw<double>({1e39})))),
            h + ":1: row 1: found inf at position 0, expected finite numbers in the range of a 32-bit float");
  EXPECT_EQ(states_error(file(npy("<f4", "(2,)", raw<float>({1, 2})))),
            h + ": found an array of shape [2], expected states: rows x columns; labels are given by labels");
  EXPECT_EQ(
      states_error(file(safetensors({{"lm_head.weight", "F32", "[2, 1]", raw<float>({1, 2})}}))),
      h + " 'lm_head.weight': found the weights of a softmax head, expected the states that go into it, rows "
          "x columns, in npy, or in npz or safetensors as states; if they are states, name them "
          "(states-name)");
  EXPECT_EQ(states_error(file(npy("<f4", "(0, 2)", ""))),
            h + ": found no rows of data; expected at least one: add some, or give another file");
  EXPECT_EQ(states_error(file(npy("<f4", "(2, 0)", ""))),
            h + ": found no rows of data; expected at least one: add some, or give another file");
  EXPECT_EQ(states_error(file(npy("|S1", "(1, 1)", "a"))), h + ": found elements that are not numbers");
  EXPECT_EQ(states_error(file(npy("<f4", "(1, 2)", raw<float>({1})))),
            h + ": the header declares 8 bytes of elements, but 4 follow");
  EXPECT_EQ(states_error(file(npy("<f4", "(99999999999, 99999999999)", ""))),
            h + ": the declared shape is too large");
  EXPECT_EQ(states_error(file("text\n")), h + ": found no array file; expected npy, npz or safetensors");
  const Schema schema{{}, 3, {}, {}};
  StatesOptions options;
  options.schema = &schema;
  EXPECT_EQ(states_error(file(npy("<f4", "(1, 2)", raw<float>({1, 2}))), options),
            h + ": found 2 columns, but the model has 3 features");
  Schema joint = schema;
  joint.is_joint = true;
  options.schema = &joint;
  EXPECT_EQ(states_error(h, options),
            h + ": the model scores groups of alternatives; expected svmlight data with qid:");
  options = {};
  options.name = "q";
  EXPECT_EQ(states_error(h, options),
            h + ": found no array 'q'; found an npy file, which holds one array and no name");
  const std::string two = file(safetensors({{"p", "F32", "[1, 1]", "1234"}, {"q", "F32", "[1, 1]", "1234"}}));
  EXPECT_EQ(states_error(two, options), "accepted");
  EXPECT_TRUE(
      states_error(two).starts_with(h + ": found 'p', 'q'; expected an array X, x, features, data, states,"));
  options.name = "r";
  EXPECT_EQ(states_error(two, options), h + ": found no array 'r'; found 'p', 'q'");
}

TEST(States, AFolderOfShardsIsOneArray) {
  const Scratch scratch;
  scratch.file("b.npy", npy("<f4", "(2, 2)", raw<float>({5, 6, 7, 8})));
  scratch.file("a.safetensors", safetensors({{"hidden_states", "F32", "[2,2]", raw<float>({1, 2, 3, 4})}}));
  scratch.file("notes.txt", "of no interest");
  const std::string folder = scratch.path("");
  expect_whole(*open_states(folder, {}), {1, 2, 3, 4, 5, 6, 7, 8}, 2, {kNone, kNone, kNone, kNone});
  scratch.file("c.npy", npy("<f4", "(1, 3)", raw<float>({1, 2, 3})));
  EXPECT_NE(states_error(folder).find("found 3 columns, expected 2"), std::string::npos);
  scratch.file("config.json", "{}");  // of a run, or of a checkpoint
  EXPECT_FALSE(is_array_file(folder));
}

TEST(States, WhichFilesCanBeStreamed) {
  const Scratch scratch;
  const std::string array = npy("<f4", "(1, 1)", raw<float>({1}));
  EXPECT_TRUE(is_array_file(scratch.file("a", array)));
  EXPECT_TRUE(is_array_file(scratch.file("b", zip({{"X.npy", array}}))));
  EXPECT_TRUE(is_array_file(scratch.file("c", safetensors({}))));
  EXPECT_TRUE(is_array_file(scratch.file("d.safetensors", "damaged")));
  EXPECT_FALSE(is_array_file(scratch.file("e", gzip(array))));
  EXPECT_FALSE(is_array_file(scratch.file("f.csv", "1,2\n")));
  EXPECT_FALSE(is_array_file(scratch.path("none")));
  EXPECT_TRUE(is_array_file(scratch.path("")));  // a folder of them
  EXPECT_FALSE(is_array_file("-"));
  const std::string csr = scratch.file("g.npz", zip({{"indptr.npy", array}, {"data.npy", array}}));
  EXPECT_FALSE(is_array_file(csr));
  EXPECT_EQ(states_error(csr), csr + ": found a sparse matrix, expected an array of states: rows x columns");
}

RC_GTEST_PROP(States, BlocksOfAnySizeAreTheWholeArray,
              (std::vector<float> values, uint8_t columns, uint8_t step)) {
  const uint64_t d = columns % 5u + 1u, n = values.size() / d;
  RC_PRE(n > 0);
  for (float& v : values) v = std::isfinite(v) ? v : 0;
  values.resize(n * d);
  const Scratch scratch;
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  const auto source = open_states(
      scratch.file("h.npy", npy("<f4", "(" + std::to_string(n) + ", " + std::to_string(d) + ")", bytes)), {});
  Floats joined;
  for (uint64_t begin = 0; begin < n;) {
    const uint64_t end = std::min<uint64_t>(n, begin + step % 7u + 1u);
    const Dataset block = source->block(begin, end);
    joined.insert(joined.end(), block.features.dense.values.begin(), block.features.dense.values.end());
    begin = end;
  }
  RC_ASSERT(joined == values);
}

}  // namespace
}  // namespace selfnorm
