#include "model/head/head_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "data/array/array_file.h"
#include "data/array_bytes.h"
#include "selfnorm/runtime/checksum.h"
#include "source_dir.h"

namespace selfnorm {
namespace {

using Floats = std::vector<float>;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string load_error(const std::string& path, const HeadNames& names = {}) {
  return error_of([&] { load_head(path, names); });
}

std::string elements(const ArrayFile& file, const std::string& name) {
  const ArrayEntry* entry = file.find(name);
  if (!entry) return "absent";
  const ArrayView view = file.view(*entry);
  return {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
}

// Weights 1 2 3 / 4 5 6 and biases 1 2 in each dtype.
struct Stored {
  HeadKind kind;
  const char *descr, *dtype;
  std::string weight, bias;
};

const std::vector<Stored>& kinds() {
  static const std::vector<Stored> list = {
      {HeadKind::Float32, "<f4", "F32", raw<float>({1, 2, 3, 4, 5, 6}), raw<float>({1, 2})},
      {HeadKind::Float16, "<f2", "F16", raw<uint16_t>({0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600}),
       raw<uint16_t>({0x3C00, 0x4000})},
      {HeadKind::Bfloat16, "<V2", "BF16", raw<uint16_t>({0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0}),
       raw<uint16_t>({0x3F80, 0x4000})},
      {HeadKind::Bfloat16, "|V2", "BF16", raw<uint16_t>({0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0}),
       raw<uint16_t>({0x3F80, 0x4000})},
      {HeadKind::Float64, "<f8", "F64", raw<double>({1, 2, 3, 4, 5, 6}), raw<double>({1, 2})}};
  return list;
}

std::string head_bytes(HeadFormat format, const Stored& weight, const Stored& bias, size_t variant) {
  if (format == HeadFormat::Safetensors)
    return safetensors({{"layer.0", "I8", "[3]", "abc"},
                        {"lm_head.bias", bias.dtype, "[2]", bias.bias},
                        {"lm_head.weight", weight.dtype, "[2, 3]", weight.weight},
                        {"norm", "F64", "[1]", "12345678"}},
                       R"({"format":"pt","note":"\u00e9 \"quoted\""})", variant);
  const bool deflated = variant % 2 == 1;
  return zip({{"layer.0.npy", npy("|i1", "(3,)", "abc"), !deflated},
              {"lm_head.weight.npy", npy(weight.descr, "(2, 3)", weight.weight), deflated},
              {"notes.txt", "kept"},
              {"lm_head.bias.npy", npy(bias.descr, "(2,)", bias.bias), deflated},
              {"norm.npy", npy("|O", "(1,)", "pickle"), deflated}});
}

TEST(HeadFile, EveryFormatAndDtypeRoundTripsBitForBit) {
  const Scratch scratch;
  for (const HeadFormat format : {HeadFormat::Safetensors, HeadFormat::Npz})
    for (const Stored& weight : kinds())
      for (const Stored& bias : kinds())
        for (size_t variant = 0; variant < 2; ++variant) {
          const std::string path = scratch.file("head", head_bytes(format, weight, bias, variant));
          EXPECT_TRUE(is_head_file(path));
          Head head = load_head(path, {});
          EXPECT_EQ(head.format, format);
          EXPECT_EQ(head.kind, weight.kind);
          EXPECT_EQ(head.bias_kind, bias.kind);
          EXPECT_EQ(head.names.weight, "lm_head.weight");
          EXPECT_EQ(head.names.bias, "lm_head.bias");
          EXPECT_TRUE(head.has_bias);
          EXPECT_EQ(head.model.classes, 2u);
          EXPECT_EQ(head.model.features, 3u);
          EXPECT_EQ(head.model.input, ModelInput::Dense);
          EXPECT_EQ(head.model.weight, (Floats{1, 2, 3, 4, 5, 6}));
          EXPECT_EQ(head.model.bias, (Floats{1, 2}));

          const std::string out = scratch.path("out");
          save_head(head, out);
          const ArrayFile before(path), after(out);
          EXPECT_EQ(after.entries().size(), before.entries().size());
          auto metadata = after.metadata();
          EXPECT_EQ(metadata.erase(std::string(runtime::kChecksumKey)), format == HeadFormat::Npz ? 0u : 1u);
          EXPECT_EQ(metadata, before.metadata());
          for (const ArrayEntry& entry : before.entries()) {
            const ArrayEntry* kept = after.find(entry.name);
            ASSERT_NE(kept, nullptr) << entry.name;
            EXPECT_EQ(kept->shape, entry.shape);
            EXPECT_EQ(kept->descr, entry.descr);
            EXPECT_EQ(kept->problem.empty(), entry.problem.empty());
            if (!entry.problem.empty()) continue;
            EXPECT_EQ(kept->type, entry.type);
            EXPECT_EQ(elements(after, entry.name), elements(before, entry.name)) << entry.name;
          }

          head.model.weight = {6, 5, 4, 3, 2, 1};
          head.model.bias = {-1, -2};
          save_head(head, path);  // in place
          const Head again = load_head(path, {});
          EXPECT_EQ(again.model, head.model);
          EXPECT_EQ(again.kind, head.kind);
          EXPECT_EQ(again.bias_kind, head.bias_kind);
        }
}

// Written by Python's zipfile as numpy.savez does, with zip64 fields in the local headers.
TEST(HeadFile, ArchivesOfPython) {
  const Scratch scratch;
  for (const std::string name : {"stored.npz", "deflated.npz"}) {
    Head head = load_head(SELFNORM_SOURCE_DIR "/fuzz/corpus/fuzz_head/" + name, {});
    EXPECT_EQ(head.kind, HeadKind::Float16);
    EXPECT_EQ(head.bias_kind, HeadKind::Float32);
    EXPECT_EQ(head.model.weight, (Floats{1, 2, 3, 4}));
    EXPECT_EQ(head.model.bias, (Floats{0.5f, -1}));
    head.model.bias[0] = 7;
    save_head(head, scratch.path(name));
    EXPECT_EQ(load_head(scratch.path(name), {}).model, head.model);
    EXPECT_EQ(elements(ArrayFile(scratch.path(name)), "names"), elements(ArrayFile(head.path), "names"));
  }
}

TEST(HeadFile, TensorsOfOtherDtypesTravelAlong) {
  const Scratch scratch;
  const std::string path = scratch.file("h", safetensors({{"W", "BF16", "[1, 1]", std::string("\0\x40", 2)},
                                                          {"fp8", "F8_E4M3", "[3]", "abc"},
                                                          {"waves", "C64", "[1, 1]", "12345678"}}));
  Head head = load_head(path, {});
  head.model.bias[0] = 1;
  save_head(head, path);
  EXPECT_EQ(load_head(path, {}).model, head.model);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(bytes.find("\"fp8\":{\"dtype\":\"F8_E4M3\",\"shape\":[3]"), std::string::npos);
  EXPECT_NE(bytes.find("12345678"), std::string::npos);
  EXPECT_EQ(load_error(path, {"fp8", ""}),
            path + " 'fp8': found elements of type F8_E4M3, expected F16, BF16, F32, F64 or integers");
}

TEST(HeadFile, BigEndianAndFortranOrder) {
  const Scratch scratch;
  const std::string path =
      scratch.file("head.npz", zip({{"W.npy", npy(">f2", "(2, 1)", std::string("\x3C\0\x40\0", 4))},
                                    {"b.npy", npy("<f4", "(2,)", raw<float>({0, 1}))}}));
  Head head = load_head(path, {});
  EXPECT_EQ(head.model.weight, (Floats{1, 2}));
  save_head(head, path);
  EXPECT_EQ(elements(ArrayFile(path), "W"), std::string("\x3C\0\x40\0", 4));
  const std::string turned = scratch.file(
      "turned.npz", zip({{"W.npy", npy("<f4", "(2, 3)", raw<float>({1, 4, 2, 5, 3, 6}), true)}}));
  head = load_head(turned, {});
  EXPECT_EQ(head.model.weight, (Floats{1, 2, 3, 4, 5, 6}));
  save_head(head, turned);
  EXPECT_EQ(load_head(turned, {}).model, head.model);
}

TEST(HeadFile, ABiasIsAddedWhereThereWasNone) {
  const Scratch scratch;
  const auto check = [&](const std::string& path, const HeadNames& names, const std::string& expected) {
    Head head = load_head(path, names);
    EXPECT_FALSE(head.has_bias);
    EXPECT_EQ(head.names.bias, expected);
    EXPECT_EQ(head.model.bias, (Floats{0, 0}));
    save_head(head, scratch.path("same"));
    EXPECT_EQ(ArrayFile(scratch.path("same")).entries().size(), ArrayFile(path).entries().size());
    head.model.bias = {0.5f, -2};
    save_head(head, scratch.path("out"));
    const Head again = load_head(scratch.path("out"), {head.names.weight, expected});
    EXPECT_TRUE(again.has_bias);
    EXPECT_EQ(again.bias_kind, head.kind);
    EXPECT_EQ(again.model, head.model);
  };
  const std::string half = raw<uint16_t>({0x3C00, 0x4000});
  check(scratch.file("a", safetensors({{"lm_head.weight", "F16", "[2, 1]", half}})), {}, "lm_head.bias");
  check(scratch.file("b", safetensors({{"W", "BF16", "[2, 1]", half}})), {}, "bias");
  check(scratch.file("c", zip({{"W.npy", npy("<V2", "(2, 1)", half), true}})), {}, "bias");
  check(scratch.file("d", zip({{"any.npy", npy("<f2", "(2, 1)", half)}})), {"", "c"}, "c");
}

TEST(HeadFile, Names) {
  const Scratch scratch;
  const std::string w = raw<float>({1, 2}), b = raw<float>({3, 4}), other = raw<float>({5, 6});
  const std::string path = scratch.file("h", safetensors({{"W", "F32", "[2, 1]", w},
                                                          {"b", "F32", "[2]", b},
                                                          {"decoder.weight", "F32", "[1, 2]", other},
                                                          {"decoder.bias", "F32", "[1]", raw<float>({1})},
                                                          {"c", "F32", "[2]", other}}));
  EXPECT_EQ(load_head(path, {}).names.weight, "W");
  EXPECT_EQ(load_head(path, {}).names.bias, "b");
  EXPECT_EQ(load_head(path, {"W", "c"}).model.bias, (Floats{5, 6}));
  EXPECT_EQ(load_head(path, {"decoder.weight", ""}).names.bias, "decoder.bias");
  EXPECT_EQ(load_head(path, {"decoder.weight", ""}).model.features, 2u);
  EXPECT_EQ(load_error(path, {"V", ""}), path +
                                             ": found no tensor 'V' (weight-name); found 'W', 'b', 'c', "
                                             "'decoder.bias', 'decoder.weight'");
  EXPECT_EQ(load_error(path, {"W", "d"}), path + ": found no tensor 'd' (bias-name), but 'b'");
  const std::string only =
      scratch.file("o", safetensors({{"b", "F32", "[2, 1]", w}, {"n", "I32", "[2, 1]", w}}));
  EXPECT_EQ(load_head(only, {}).names.weight, "b");
  EXPECT_EQ(load_head(only, {}).names.bias, "bias");
}

TEST(HeadFile, TheAmortisedNormalizerTravelsAlong) {
  const Scratch scratch;
  for (const HeadFormat format : {HeadFormat::Safetensors, HeadFormat::Npz}) {
    const std::string path = scratch.file("head", head_bytes(format, kinds()[0], kinds()[0], 0));
    Head head = load_head(path, {});
    EXPECT_FALSE(head.model.normalizer.exists());
    head.model.normalizer = {1.0 / 3, {1, 2, 3}, {1, 2, 3, 4, 5, 6}, {7, 8}, {9, 10}};
    save_head(head, path);
    EXPECT_EQ(load_head(path, {}).model, head.model);
    EXPECT_EQ(ArrayFile(path).entries().size(), 9u);
    EXPECT_EQ(ArrayFile(path).find("selfnorm.normalizer.hidden_weight")->shape_text(), "[2, 3]");
    head.model.normalizer = {-1.0 / 3, {3, 2, 1}, {}, {}, {}};  // the hidden layer is stale now
    save_head(head, path);
    EXPECT_EQ(load_head(path, {}).model, head.model);
    EXPECT_EQ(ArrayFile(path).entries().size(), 6u);
    head.model.normalizer = {};
    save_head(head, path);
    EXPECT_EQ(load_head(path, {}).model, head.model);
    EXPECT_EQ(ArrayFile(path).entries().size(), 4u);
  }
}

// Also one whose rung "amortised" is the b of the head itself.
TEST(HeadFile, TheLadderTravelsAlong) {
  const Scratch scratch;
  for (const HeadFormat format : {HeadFormat::Safetensors, HeadFormat::Npz}) {
    const std::string path = scratch.file("head", head_bytes(format, kinds()[0], kinds()[0], 0));
    Head head = load_head(path, {});
    head.model.normalizer = {-1.0 / 3, {3, 2, 1}, {}, {}, {}};
    for (const auto& [name, kind] : {std::pair{"raw", RungKind::Raw}, {"amortised", RungKind::Linear}}) {
      LadderRung& rung = head.model.ladder.rungs.emplace_back();
      rung.name = name;
      rung.kind = kind;
      rung.eps = 0.1;
    }
    save_head(head, path);
    EXPECT_EQ(load_head(path, {}).model, head.model);
  }
}

TEST(HeadFile, ADamagedNormalizerIsAnError) {
  const Scratch scratch;
  const TensorBytes w{"W", "F32", "[1, 2]", raw<float>({1, 2})};
  const std::string h = scratch.path("h"), n = "selfnorm.normalizer.";
  const auto error = [&](std::vector<TensorBytes> tensors) {
    tensors.push_back(w);
    return load_error(scratch.file("h", safetensors(tensors)));
  };
  const TensorBytes slope{n + "slope", "F32", "[2]", raw<float>({1, 2})};
  const TensorBytes intercept{n + "intercept", "F32", "[1]", raw<float>({1})};
  EXPECT_EQ(error({slope, intercept}), "accepted");
  EXPECT_EQ(error({slope}), h + ": found part of an amortised normalizer but no tensor "
                                "'selfnorm.normalizer.intercept'; the file is damaged");
  EXPECT_EQ(error({intercept}), h + ": found part of an amortised normalizer but no tensor "
                                    "'selfnorm.normalizer.slope'; the file is damaged");
  EXPECT_EQ(
      error({{n + "slope", "F32", "[1]", raw<float>({1})}, intercept}),
      h + " 'selfnorm.normalizer.slope': found [1] of float32, expected floats in C order of shape [2]");
  EXPECT_EQ(error({slope, {n + "intercept", "F64", "[1]", raw<double>({NAN})}}),
            h + " 'selfnorm.normalizer.intercept': found nan at 0, expected finite numbers");
  EXPECT_EQ(error({slope, intercept, {n + "output", "F32", "[0]", ""}}),
            h + " 'selfnorm.normalizer.output': found 0 hidden units, expected at least 1");
}

TEST(HeadFile, Errors) {
  const Scratch scratch;
  const std::string h = scratch.path("h");
  const auto error = [&](const std::vector<TensorBytes>& tensors, const std::string& metadata = "") {
    return load_error(scratch.file("h", safetensors(tensors, metadata)));
  };
  const std::string four = raw<float>({1, 2, 3, 4});
  EXPECT_EQ(error({{"a", "F32", "[2, 2]", four}, {"c", "F32", "[2, 2]", four}}),
            h + ": found 'a', 'c'; expected the weights of a softmax head, called weight, W or "
                "lm_head.weight or the "
                "only floats in two dimensions; name them (weight-name)");
  EXPECT_EQ(error({}), h + ": found nothing; expected the weights of a softmax head, called weight, W or "
                           "lm_head.weight or the only floats in two dimensions; name them (weight-name)");
  EXPECT_EQ(error({{"W", "F32", "[4]", four}}),
            h + " 'W': found shape [4], expected two dimensions, classes x features");
  EXPECT_EQ(error({{"W", "F32", "[2, 2, 1]", four}}),
            h + " 'W': found shape [2, 2, 1], expected two dimensions, classes x features");
  EXPECT_EQ(error({{"W", "F32", "[0, 4]", ""}}),
            h + " 'W': found shape [0, 4], expected 1 to 4294967294 classes and features");
  EXPECT_EQ(error({{"W", "I8", "[4, 4]", four}}),
            h + " 'W': found weights of int8, expected float64, float32, float16 or bfloat16; convert them");
  EXPECT_EQ(error({{"W", "F32", "[2, 2]", four}, {"b", "I16", "[8]", four}}),
            h + " 'b': found biases of int16, expected float64, float32, float16 or bfloat16; convert them");
  const std::string data =
      ", which are data by their names, not a model; expected a file or run directory of 'selfnorm train', "
      "or "
      "the weights of a softmax head (classes x features) called weight, W or lm_head.weight; other weights "
      "are "
      "named (weight-name)";
  EXPECT_EQ(error({{"X", "F32", "[2, 2]", four}, {"y", "F32", "[4]", four}}), h + ": found 'X', 'y'" + data);
  EXPECT_EQ(error({{"states", "F32", "[2, 2]", four}}), h + ": found 'states'" + data);
  EXPECT_EQ(
      load_head(
          scratch.file("h", safetensors({{"M", "F32", "[2, 2]", four}, {"states", "F32", "[2, 2]", four}})),
          {})
          .names.weight,
      "M");
  EXPECT_EQ(error({{"W", "F32", "[2, 2]", four}, {"b", "F32", "[4]", four}}),
            h + " 'b': found shape [4], expected [2], a bias for each class of the weights [2, 2]");
  EXPECT_EQ(error({{"W", "F32", "[1, 4]", four}, {"b", "F32", "[4]", four}}),
            h + " 'b': found shape [4], expected [1], a bias for each class of the weights [1, 4]; the "
                "weights seem "
                "to be transposed, features x classes: store them as classes x features");
  EXPECT_EQ(error({{"W", "F32", "[2, 2]", raw<float>({1, 2, 3, NAN})}}),
            h + " 'W': found nan at [1, 1], expected finite numbers");
  EXPECT_EQ(error({{"W", "F16", "[1, 2]", raw<uint16_t>({0, 0xFC00})}}),
            h + " 'W': found -inf at [0, 1], expected finite numbers");
  EXPECT_EQ(error({{"W", "F32", "[2, 2]", four}, {"b", "F32", "[2]", raw<float>({INFINITY, 0})}}),
            h + " 'b': found inf at [0], expected finite numbers");
  EXPECT_EQ(error({{"weight", "F32", "[2, 2]", four}}, R"({"format":"selfnorm"})"),
            h + ": found a selfnorm model, expected a softmax head of another program");
  EXPECT_EQ(
      load_error(scratch.file("h", npy("<f4", "(2, 2)", four))),
      h + ": found an npy file, one array without a name, which is no model; rows and states are given as "
          "data, after the model; the weights of a softmax head are read from npz or safetensors: "
          "numpy.savez('head.npz', W=W, b=b)");
  EXPECT_EQ(load_error(scratch.file("h", zip({{"W.npy", npy("|O", "(2, 2)", "x")}}))),
            h + " 'W.npy': found elements of type '|O', expected f2, f4, f8, V2 (bfloat16), an integer, b1, "
                "S or U");
  EXPECT_EQ(load_error(scratch.file("h", zip({{"W.npy", npy("<f4", "(2, 9)", four)}}))),
            h + " 'W.npy': the header declares 72 bytes of elements, but 16 follow");
  EXPECT_EQ(
      load_error(scratch.file("h", zip({{"W.npy", npy("<f4", "(4000000000, 1000000000)", four), true}}))),
      h + " 'W.npy': the header declares 16000000000000000000 bytes of elements, but 16 follow");
  EXPECT_EQ(load_error(scratch.file("h", "")), h + ": found no array file; expected npy, npz or safetensors");
  const std::string whole = safetensors({{"W", "F32", "[2, 2]", four}});
  EXPECT_EQ(
      load_error(scratch.file("h", whole.substr(0, whole.size() - 1))),
      h + ": tensor \"W\": bytes 0 to 16 are outside the 15 bytes of data; the file is truncated or damaged");
}

TEST(HeadFile, WhatIsAHead) {
  const Scratch scratch;
  const TensorBytes w{"weight", "F32", "[1, 1]", "1234"};
  EXPECT_TRUE(is_head_file(scratch.file("a", safetensors({w}))));
  EXPECT_TRUE(is_head_file(scratch.file("b", safetensors({w}, R"({"format":"pt"})"))));
  EXPECT_FALSE(is_head_file(scratch.file("c", safetensors({w}, R"({"format":"selfnorm"})"))));
  EXPECT_TRUE(is_head_file(scratch.file("d", zip({}))));
  EXPECT_FALSE(is_head_file(scratch.file("e", npy("<f4", "(1, 1)", "1234"))));
  EXPECT_FALSE(is_head_file(scratch.file("f.safetensors", "damaged")));
  EXPECT_FALSE(is_head_file(scratch.file("g.csv", "1,2\n")));
  EXPECT_FALSE(is_head_file(scratch.path("none")));
}

TEST(HeadFile, RoundingIsWhatTheFileHolds) {
  ModelFile model;
  model.weight = {1.0f / 3, 65504, -1e-8f};
  model.bias = {0.1f};
  ModelFile same = model;
  round_to_kind(HeadKind::Float32, same);
  EXPECT_EQ(same, model);
  ModelFile half = model, brain = model;
  round_to_kind(HeadKind::Float16, half);
  EXPECT_EQ(half.weight, (Floats{0x1.554p-2f, 65504, -0.0f}));
  EXPECT_EQ(half.bias, (Floats{0x1.998p-4f}));
  round_to_kind(HeadKind::Bfloat16, brain);
  EXPECT_EQ(brain.weight, (Floats{0x1.56p-2f, 65536, -0x1.58p-27f}));
  model.weight[1] = 65520;
  EXPECT_EQ(error_of([&] { round_to_kind(HeadKind::Float16, model); }),
            "weight 1 is 65520, which does not fit in float16; store the head in a wider dtype");
  model.bias[0] = NAN;
  EXPECT_EQ(error_of([&] { round_to_kind(HeadKind::Bfloat16, model); }),
            "bias 0 is nan, which does not fit in bfloat16; store the head in a wider dtype");
}

TEST(HeadFile, SavingChecksWhatItWrites) {
  const Scratch scratch;
  const std::string path = scratch.file("h", head_bytes(HeadFormat::Safetensors, kinds()[1], kinds()[0], 0));
  const std::string out = scratch.path("out");
  const Head good = load_head(path, {});
  Head head = good;
  head.model.weight[4] = 1e6f;
  EXPECT_EQ(
      error_of([&] { save_head(head, out); }),
      out + ": lm_head.weight 4 is 1000000, which does not fit in float16; store the head in a wider dtype");
  head.model.weight[4] = NAN;
  EXPECT_EQ(error_of([&] { save_head(head, out); }), out + ": cannot save a head whose weight 4 is nan");
  head = good;
  head.model.bias[1] = -INFINITY;
  EXPECT_EQ(error_of([&] { save_head(head, out); }), out + ": cannot save a head whose bias 1 is -inf");
  head = good;
  head.model.normalizer = {INFINITY, {1, 2, 3}, {}, {}, {}};
  EXPECT_EQ(error_of([&] { save_head(head, out); }),
            out + ": cannot save a head whose intercept of the normalizer is inf");
  EXPECT_FALSE(std::filesystem::exists(out));
  head = good;
  head.model.bias = {1e30f, -1};
  round_to_kind(head);  // the biases are float32
  EXPECT_EQ(head.model.bias, (Floats{1e30f, -1}));
  scratch.file("h", safetensors({{"lm_head.weight", "F16", "[1, 1]", "12"}}));
  EXPECT_EQ(error_of([&] { save_head(good, out); }),
            path + ": the file changed since the head was read; read it again");
}

std::string zero_head(std::mt19937& random) {
  const uint64_t classes = random() % 5 + 1, features = random() % 7 + 1;
  const Stored& stored = kinds()[random() % kinds().size()];
  const std::string zeros(classes * features * stored.bias.size() / 2, '\0');  // of 2 biases
  const std::string shape = fmt::format("{}, {}", classes, features);
  if (random() % 2 == 0)
    return zip({{"W.npy", npy(stored.descr, "(" + shape + ")", zeros), random() % 2 == 0}});
  return safetensors({{"W", stored.dtype, "[" + shape + "]", zeros}}, "", random() % 8);
}

RC_GTEST_PROP(HeadFile, RoundedHeadsRoundTrip, (uint32_t seed)) {
  std::mt19937 random(seed);
  const Scratch scratch;
  const std::string path = scratch.file("head", zero_head(random));
  Head head = load_head(path, {});
  std::normal_distribution<float> normal;
  for (float& w : head.model.weight) w = normal(random);
  for (float& b : head.model.bias) b = normal(random);
  round_to_kind(head);
  save_head(head, path);
  RC_ASSERT(load_head(path, {}).model == head.model);
}

}  // namespace
}  // namespace selfnorm
