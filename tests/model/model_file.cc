#include "model/model_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json_text.h"
#include "math/half.h"
#include "model/parameters.h"
#include "model/safetensors_writer.h"
#include "parsed_model.h"
#include "runtime/random_model.h"
#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

std::string replaced_bytes(std::string bytes, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  const size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return bytes.replace(at, from.size(), to);
}

ModelFile text_model() {
  std::mt19937 random(11);
  ModelFile model = random_model(random, 4, 3, WeightKind::Float32);
  model.input = ModelInput::Text;
  model.text_json = R"({"ngrams":2,"quote":"\""})";
  model.vocabulary = {"un", "", "drei é"};
  model.feature_names = {"a", "b", "c"};
  model.idf = {1, 2, 0.5f};
  model.log_normalizer = 1.0 / 3;
  return model;
}

RC_GTEST_PROP(ModelFile, SaveAndLoadAreIdentityForFloat32, (uint32_t seed)) {
  std::mt19937 random(seed);
  const ModelFile model = random_model(random, up_to(random, 9), up_to(random, 9), WeightKind::Float32);
  RC_ASSERT(parse(saved_bytes(model)) == model);
}

TEST(ModelFile, BytesInMemoryAreThoseOfTheFile) {
  std::mt19937 random(17);
  for (const WeightKind kind : {WeightKind::Float32, WeightKind::Bfloat16, WeightKind::Int8}) {
    ModelFile model = text_model();
    model.weights = kind;
    model.normalizer = random_normalizer(random, 3, 5);
    EXPECT_EQ(model_bytes(model, "memory"), saved_bytes(model));
  }
  ModelFile bad = text_model();
  bad.bias[0] = NAN;
  EXPECT_THROW(model_bytes(bad, "memory"), Error);
}

TEST(ModelFile, TextAndJointRoundTrip) {
  EXPECT_EQ(parse(saved_bytes(text_model())), text_model());
  ModelFile joint;
  joint.family = Family::Joint;
  joint.features = 2;
  joint.weight = {1, -0.0f};
  joint.log_normalizer = -1e-300;
  EXPECT_EQ(parse(saved_bytes(joint)), joint);
}

RC_GTEST_PROP(ModelFile, TheAmortisedNormalizerRoundTrips, (uint32_t seed)) {
  std::mt19937 random(seed);
  constexpr WeightKind kinds[] = {WeightKind::Float32, WeightKind::Bfloat16, WeightKind::Int8};
  ModelFile model = random_model(random, up_to(random, 9), up_to(random, 9), kinds[random() % 3]);
  model.normalizer = random_normalizer(random, model.features, static_cast<uint32_t>(random() % 6));
  RC_ASSERT(parse(saved_bytes(model)).normalizer == model.normalizer);
}

TEST(ModelFile, RefusesADamagedNormalizer) {
  std::mt19937 random(14);
  ModelFile model = text_model();
  model.normalizer = random_normalizer(random, 3, 2);
  const std::string good = saved_bytes(model);
  const auto check = [&good](const char* from, const char* to, const char* message) {
    const std::string bad = replaced_bytes(good, from, to), error = error_of(bad);
    EXPECT_NE(error.find(message), std::string::npos) << to << ": " << error;
    EXPECT_EQ(OpenModel(bad).status(), SELFNORM_ERROR_FORMAT);
    EXPECT_NE(std::string(selfnorm_error_message()).find(message), std::string::npos);
  };
  check(R"("normalizer.slope":{)", R"("normalizer.slipe":{)", "no tensor \"normalizer.slope\"");
  check(R"("normalizer.slope":{"dtype":"F32")", R"("normalizer.slope":{"dtype":"I32")", "expected F32 [3]");
  check(R"("normalizer.intercept":{"dtype":"F64","shape":[1])",
        R"("normalizer.intercept":{"dtype":"I64","shape":[1])", "expected F64 [1]");
  check(R"("normalizer.hidden_weight":{"dtype":"F32","shape":[2,3])",
        R"("normalizer.hidden_weight":{"dtype":"F32","shape":[3,2])", "expected F32 [2, 3]");
  check(R"("normalizer.output":{"dtype":"F32","shape":[2])",
        R"("normalizer.output":{"dtype":"U64","shape":[1])", "expected F32 [1]");
}

// Tensors of the normalizer one by one: only the whole of it is accepted.
TEST(ModelFile, RefusesAPartOfANormalizer) {
  std::mt19937 random(15);
  ModelFile model = random_model(random, 3, 2, WeightKind::Float32);
  model.normalizer = random_normalizer(random, 2, 4);
  const std::string bytes = saved_bytes(model);
  const auto file = runtime::parse_safetensors(std::as_bytes(std::span(bytes)), "t");
  const auto written = [](const runtime::Safetensors& parsed, uint32_t kept) {
    const ScratchDirectory scratch;
    std::vector<runtime::Tensor> tensors;
    uint32_t place = 0;
    for (const runtime::Tensor& tensor : parsed.tensors) {
      const bool optional = tensor.name.starts_with("normalizer.");
      if (!optional || (kept >> place++ & 1) != 0) tensors.push_back(tensor);
    }
    write_safetensors(scratch.file("part"), tensors, {parsed.metadata.begin(), parsed.metadata.end()});
    return contents(scratch.file("part"));
  };
  int accepted = 0;
  for (uint32_t kept = 0; kept < 32; ++kept) accepted += error_of(written(file, kept)) == "accepted" ? 1 : 0;
  EXPECT_EQ(accepted, 3);  // none, linear, with a hidden layer

  ModelFile joint;
  joint.family = Family::Joint;
  joint.features = 2;
  joint.weight = {1, 2};
  const std::string joint_bytes = saved_bytes(joint);
  auto mixed = runtime::parse_safetensors(std::as_bytes(std::span(joint_bytes)), "t");
  mixed.tensors.push_back(*file.find("normalizer.slope"));
  mixed.tensors.push_back(*file.find("normalizer.intercept"));
  EXPECT_NE(error_of(written(mixed, 3)).find("expected only in multiclass models"), std::string::npos);
}

TEST(ModelFile, RefusesANormalizerThatIsNotFinite) {
  std::mt19937 random(16);
  ModelFile good = random_model(random, 3, 2, WeightKind::Float32);
  good.normalizer = random_normalizer(random, 2, 4);
  const auto refused = [&good](auto change) {
    ModelFile bad = good;
    change(bad.normalizer);
    EXPECT_THROW(saved_bytes(bad), Error);
  };
  refused([](AmortisedNormalizer& b) { b.intercept = NAN; });
  refused([](AmortisedNormalizer& b) { b.slope[1] = INFINITY; });
  refused([](AmortisedNormalizer& b) { b.hidden_weight[7] = NAN; });
  refused([](AmortisedNormalizer& b) { b.hidden_bias[0] = NAN; });
  refused([](AmortisedNormalizer& b) { b.output[3] = -INFINITY; });
  std::string from(8, '\0'), to(8, '\0');
  const double nan = NAN;
  std::memcpy(from.data(), &good.normalizer.intercept, 8);
  std::memcpy(to.data(), &nan, 8);
  EXPECT_NE(error_of(replaced_bytes(saved_bytes(good), from, to)).find("normalizer.intercept: not finite"),
            std::string::npos);
}

TEST(ModelFile, TheTargetColumnIsOptional) {
  ModelFile model = text_model();
  EXPECT_EQ(saved_bytes(model).find("\"target\""), std::string::npos);
  model.target = "species, \"as seen\"";
  EXPECT_EQ(parse(saved_bytes(model)), model);
}

TEST(ModelFile, MetadataMayNotNestDeeply) {
  ModelFile model = text_model();
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  model.training_json = nested(kDeepestJson);
  EXPECT_EQ(parse(saved_bytes(model)), model);
  model.training_json = "\"" + nested(1000) + "\\\"[\"";
  EXPECT_EQ(parse(saved_bytes(model)), model);
  EXPECT_THROW(check_metadata_json("m.st", "training", nested(kDeepestJson + 1)), Error);
  EXPECT_THROW(check_metadata_json("m.st", "training", std::string(1 << 20, '[')), Error);
}

TEST(ModelFile, QuantisedRoundTripIsIdempotentAndWithinBounds) {
  std::mt19937 random(12);
  for (const WeightKind kind : {WeightKind::Bfloat16, WeightKind::Int8}) {
    ModelFile model = random_model(random, 6, 50, kind);
    std::fill_n(model.weight.begin(), 50, 0.0f);
    std::fill_n(model.weight.begin() + 50, 50, 1e-44f);
    model.weight[100] = 3e38f;
    const ModelFile once = parse(saved_bytes(model));
    EXPECT_EQ(parse(saved_bytes(once)).weight, once.weight);
    const Int8Rows rows = to_int8(model.weight, 50);
    for (size_t i = 0; i < model.weight.size(); ++i) {
      const double error = std::fabs(static_cast<double>(once.weight[i]) - model.weight[i]);
      const double bound = kind == WeightKind::Int8 ? 0.5 * rows.scale[i / 50] * (1 + 1e-5)
                                                    : 0x1p-8 * std::fabs(once.weight[i]) + 0x1p-134;
      EXPECT_LE(error, bound);
    }
  }
}

TEST(Quantization, Bfloat16RoundsToNearestEven) {
  EXPECT_EQ(to_bfloat16(1.0f), 0x3F80);
  EXPECT_EQ(to_bfloat16(1.00390625f), 0x3F80);  // halfway: even below
  EXPECT_EQ(to_bfloat16(1.01171875f), 0x3F82);  // halfway: even above
  EXPECT_EQ(to_bfloat16(1.00390637f), 0x3F81);
  EXPECT_EQ(to_bfloat16(-0.0f), 0x8000);
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(NAN))));
}

TEST(ModelFile, TensorsAreAligned) {
  const std::string bytes = saved_bytes(text_model());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ((8 + length) % 64, 0u);
}

TEST(ModelFile, RefusesWhatDoesNotFit) {
  const std::string good = saved_bytes(text_model());
  const auto check = [&good](const char* from, const char* to, const char* message) {
    const std::string error = error_of(replaced_bytes(good, from, to));
    EXPECT_NE(error.find(message), std::string::npos) << to << ": " << error;
  };
  check(R"("format_version":"1")", R"("format_version":"2")",
        "this selfnorm reads version 1; update selfnorm");
  check(R"("format":"selfnorm")", R"("format":"selfnarm")", "not a selfnorm model");
  check(R"("family":"multiclass")", R"("family":"multiclasz")", "expected one of multiclass, joint");
  check(R"("classes":"4")", R"("classes":"5")", "expected F32 [5, 3]");
  check(R"("classes":"4")", R"("classes":"0")", "expected at least 1");
  check(R"("features":"3")", R"("features":"x")", "expected a number");
  check(R"("weights":"float32")", R"("weights":"int8"   )", "is F32 [4, 3], expected I8 [4, 3]");
  check(R"("log_normalizer":"0.3333333333333333")", R"("log_normalizer":"              -inf")",
        "expected a number");
  check(R"("log_normalizer":"0.3333333333333333")", R"("log_normalizer":"1e3333333333333333")",
        "expected a number");
  check(R"("input":"text")", R"("input":"oral")", "expected one of dense, sparse, text");
  check(R"("idf":{)", R"("idg":{)", "unexpected tensor \"idg\"");
  check(R"("bias":{"dtype":"F32")", R"("bias":{"dtype":"I32")", "expected F32 [4]");
  check(R"("audit":"{}")", R"("audit":"{]")", "metadata \"audit\" is not JSON");
}

TEST(ModelFile, RefusesBadContents) {
  ModelFile model = text_model();
  model.bias[1] = NAN;
  EXPECT_THROW(saved_bytes(model), Error);
  model = text_model();
  model.weights = WeightKind::Bfloat16;
  model.weight[0] = 3.4e38f;
  EXPECT_THROW(saved_bytes(model), Error);
  model = text_model();
  model.audit_json = "{";
  EXPECT_THROW(saved_bytes(model), Error);

  const std::string good = saved_bytes(text_model());
  const float nan = NAN, marked = text_model().weight[5];
  std::string from(4, '\0'), to(4, '\0');
  std::memcpy(from.data(), &marked, 4);
  std::memcpy(to.data(), &nan, 4);
  EXPECT_NE(error_of(replaced_bytes(good, from, to)).find("not finite (element 5)"), std::string::npos);
}

// Each truncation is refused, and no single wrong byte crashes the reader or the runtime.
TEST(ModelFile, HostileBytes) {
  std::mt19937 random(13);
  for (const WeightKind kind : {WeightKind::Float32, WeightKind::Int8}) {
    ModelFile model = text_model();
    model.weights = kind;
    model.normalizer = random_normalizer(random, 3, 2);
    const std::string good = saved_bytes(model);
    for (size_t n = 0; n < good.size(); ++n) {
      const std::string part = good.substr(0, n);
      EXPECT_NE(error_of(part), "accepted") << n;
      EXPECT_EQ(OpenModel(part).status(), SELFNORM_ERROR_FORMAT) << n;
    }
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ static_cast<char>(1 << random() % 8));
      error_of(bad);
      const OpenModel open(bad);
      if (open.status() != SELFNORM_OK) continue;
      const float x[] = {1, 2, 3};
      uint32_t top[2];
      double out[2];
      size_t length = 0;
      selfnorm_top_dense(open, x, 3, 2, SELFNORM_EXACT, top, out);
      for (uint32_t k = 0; k < 4; ++k) selfnorm_label(open, k, &length);
      selfnorm_class_of_label(open, "class 3", 7, top);
    }
  }
}

TEST(ModelFile, FilesThatCannotBeReadOrWritten) {
  const ScratchDirectory scratch;
  EXPECT_THROW(load_model(scratch.file("absent")), Error);
  EXPECT_THROW(load_model(scratch.file("")), Error);
  EXPECT_THROW(save_model(text_model(), scratch.file("no/such/directory/m")), Error);
  save_model(text_model(), scratch.file("m"));
  EXPECT_EQ(load_model(scratch.file("m")), text_model());
  ModelFile bad = text_model();
  bad.weight[0] = INFINITY;
  EXPECT_THROW(save_model(bad, scratch.file("m")), Error);
  EXPECT_EQ(load_model(scratch.file("m")), text_model());
}

TEST(SafetensorsWriter, RoundTripOfGenericTensors) {
  const ScratchDirectory scratch;
  const std::vector<uint8_t> small = {1, 2, 3};
  const std::vector<double> large = {0.5, -1};
  write_safetensors(scratch.file("t"),
                    {make_tensor("a", runtime::Dtype::U8, {3}, std::span<const uint8_t>(small)),
                     make_tensor("b", runtime::Dtype::F64, {2, 1}, std::span<const double>(large))},
                    {{"key", "quote \" and é"}});
  const std::string bytes = contents(scratch.file("t"));
  const auto file = runtime::parse_safetensors(std::as_bytes(std::span(bytes)), "t");
  EXPECT_EQ(file.metadata.find("key")->second, "quote \" and é");
  EXPECT_EQ(std::memcmp(file.find("b")->data.data(), large.data(), 16), 0);
  EXPECT_EQ(std::memcmp(file.find("a")->data.data(), small.data(), 3), 0);
  EXPECT_LT(file.find("b")->data.data(), file.find("a")->data.data());
  EXPECT_THROW(write_safetensors(scratch.file("u"), {}, {{"bad", "\xFF"}}), Error);
}

}  // namespace
}  // namespace selfnorm::test
