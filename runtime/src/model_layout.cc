#include "selfnorm/runtime/model_layout.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/runtime/layout_reader.h"

namespace selfnorm::runtime {
namespace {

constexpr std::array<std::string_view, 3> kFamilies = {"multiclass", "joint", "hierarchical"};
constexpr std::array<std::string_view, 4> kInputs = {"dense", "sparse", "text", "context"};
constexpr std::array<std::string_view, 3> kWeights = {"float32", "bfloat16", "int8"};
constexpr std::array<Dtype, 3> kWeightDtypes = {Dtype::F32, Dtype::BF16, Dtype::I8};
constexpr std::array<std::string_view, 13> kTensors = {"weight",
                                                       "weight_scale",
                                                       "bias",
                                                       "log_carrier",
                                                       "idf",
                                                       "labels.bytes",
                                                       "labels.offsets",
                                                       "labels.index",
                                                       "tree.parent",
                                                       "feature_names.bytes",
                                                       "feature_names.offsets",
                                                       "vocabulary.bytes",
                                                       "vocabulary.offsets"};

constexpr std::array<std::string_view, 5> kNormalizerTensors = {
    "normalizer.slope", "normalizer.intercept", "normalizer.hidden_weight", "normalizer.hidden_bias",
    "normalizer.output"};
constexpr std::array<std::string_view, 3> kEncoderTensors = {"encoder.embedding", "encoder.hidden_weight",
                                                             "encoder.hidden_bias"};

void read_metadata(const LayoutReader& reader, ModelLayout& out) {
  if (reader.metadata("format") != kFormat) {
    reader.fail("metadata \"format\" is \"" + std::string(reader.metadata("format")) +
                "\", expected \"selfnorm\"; not a selfnorm model");
  }
  reader.check_version();
  if (reader.metadata("family") == "density") {
    reader.fail(
        "the model is a density over points, expected one of classes; score it with `selfnorm score`");
  }
  if (reader.metadata("family") == "regressor") {
    reader.fail("the model is a regressor, expected one of classes; use it with `selfnorm predict`");
  }
  if (reader.metadata("family") == "chain") {
    reader.fail("the model is a chain over sentences, expected one of classes; use it with `selfnorm tag`");
  }
  out.family = static_cast<Family>(reader.choice("family", kFamilies));
  out.input = static_cast<Input>(reader.choice("input", kInputs));
  out.weights = static_cast<WeightKind>(reader.choice("weights", kWeights));
  out.classes = reader.number<uint32_t>("classes");
  out.features = reader.number<uint32_t>("features");
  out.log_normalizer = reader.number<double>("log_normalizer");
  if (!std::isfinite(out.log_normalizer)) reader.fail("metadata \"log_normalizer\" is not finite");
  if (out.features == 0) reader.fail("metadata \"features\" is 0, expected at least 1");
  const bool joint = out.family == Family::Joint;
  if (joint != (out.classes == 0)) {
    reader.fail("metadata \"classes\" is " + std::to_string(out.classes) +
                (joint ? ", expected 0 for the joint family" : ", expected at least 1"));
  }
  if (out.family == Family::Hierarchical && (out.classes < 2 || out.log_normalizer != 0)) {
    reader.fail("a hierarchical model has at least 2 classes and log_normalizer 0, found " +
                std::to_string(out.classes) + " and " + std::string(reader.metadata("log_normalizer")));
  }
  for (const char* key : {"objective", "training", "audit"}) reader.metadata(key);
  if ((out.input == Input::Text) != reader.file.metadata.contains("text")) {
    reader.fail("expected metadata \"text\" when, and only when, the input is text");
  }
}

void check_tensor_names(const LayoutReader& reader, const ModelLayout& layout,
                        const std::vector<std::string>& ladder) {
  const auto forbid = [&reader](std::string_view key, bool allowed, const char* when) {
    if (!allowed && reader.file.find(key) != nullptr) {
      reader.fail("tensor \"" + std::string(key) + "\" is expected only in " + when);
    }
  };
  reader.refuse_others(kTensors, kNormalizerTensors, kEncoderTensors, ladder);
  forbid("weight_scale", layout.weights == WeightKind::Int8, "int8 models");
  for (const char* key : {"bias", "labels.bytes", "labels.offsets"}) {
    forbid(key, layout.family != Family::Joint, "models of classes");
  }
  forbid("log_carrier", layout.family == Family::Multiclass, "multiclass models");
  for (const std::string_view key : kNormalizerTensors) {
    forbid(key, layout.family == Family::Multiclass, "multiclass models");
  }
  forbid("labels.index", reader.file.find("labels.bytes") != nullptr, "models with labels");
  forbid("tree.parent", layout.family == Family::Hierarchical, "hierarchical models");
  for (const char* key : {"idf", "vocabulary.bytes"}) forbid(key, layout.input == Input::Text, "text models");
}

void read_weights(const LayoutReader& reader, ModelLayout& out) {
  const std::vector<uint64_t> shape = {out.rows(), out.features};
  const Dtype dtype = kWeightDtypes[static_cast<size_t>(out.weights)];
  if (out.weights == WeightKind::Float32) out.weight_f32 = reader.tensor<float>("weight", dtype, shape);
  if (out.weights == WeightKind::Bfloat16) out.weight_bf16 = reader.tensor<uint16_t>("weight", dtype, shape);
  if (out.weights != WeightKind::Int8) return;
  out.weight_i8 = reader.tensor<int8_t>("weight", dtype, shape);
  const Tensor* scale = reader.file.find("weight_scale");
  if (scale != nullptr && scale->dtype == Dtype::F32) {
    out.weight_scale.f32 = reader.tensor<float>("weight_scale", Dtype::F32, {out.rows()});
  } else {
    out.weight_scale.bf16 = reader.tensor<uint16_t>("weight_scale", Dtype::BF16, {out.rows()});
  }
}

bool read_label_numbers(const LayoutReader& reader) {
  if (!reader.file.metadata.contains("labels")) return false;
  if (reader.metadata("labels") != "numbers" || reader.file.find("labels.bytes") != nullptr) {
    reader.fail("metadata \"labels\" is \"" + std::string(reader.metadata("labels")) +
                "\", expected \"numbers\" and no tensors of labels, or no such key");
  }
  return true;
}

constexpr std::array<std::string_view, 2> kEncoders = {"bag", "context"};  // none has no name

void check_encoder_metadata(const LayoutReader& reader, const ModelLayout& layout, const EncoderLayout& out) {
  const bool context = out.kind == EncoderKind::Context;
  if (context != (layout.input == Input::Context)) {
    reader.fail("expected encoder context when, and only when, the input is context");
  }
  if (context != reader.file.metadata.contains("positions")) {
    reader.fail("expected metadata \"positions\" when, and only when, the encoder is context");
  }
  if (out.exists() != reader.file.metadata.contains("inputs")) {
    reader.fail("expected metadata \"inputs\" when, and only when, there is an encoder");
  }
  if (!out.exists()) {
    for (const std::string_view key : kEncoderTensors) {
      if (reader.file.find(key) != nullptr) {
        reader.fail("tensor \"" + std::string(key) + "\" is expected only with metadata \"encoder\"");
      }
    }
    return;
  }
  if (layout.family == Family::Joint) reader.fail("joint models have no encoder");
  if (layout.input == Input::Dense) reader.fail("an encoder expects input sparse, text or context");
  if (out.inputs == 0) reader.fail("metadata \"inputs\" is 0, expected at least 1");
  if (context && out.inputs != uint64_t{layout.classes} + 1) {
    reader.fail("metadata \"inputs\" is " + std::to_string(out.inputs) +
                ", expected one more than the classes");
  }
  if (out.positions == 0 || out.positions > kMostPositions) {
    reader.fail("metadata \"positions\" is " + std::to_string(out.positions) + ", expected 1 .. " +
                std::to_string(kMostPositions));
  }
}

// The extent of a matrix that only its tensor tells, within 1 .. kWidestLayer.
uint32_t extent(const LayoutReader& reader, std::string_view key, size_t axis) {
  const Tensor* found = reader.file.find(key);
  if (found == nullptr) reader.fail("no tensor \"" + std::string(key) + "\"");
  const uint64_t n = axis < found->shape.size() ? found->shape[axis] : 0;
  if (n == 0 || n > kWidestLayer) {
    reader.fail("tensor \"" + std::string(key) + "\" has shape " + found->shape_text() + ", expected 1 .. " +
                std::to_string(kWidestLayer) + " at place " + std::to_string(axis));
  }
  return static_cast<uint32_t>(n);
}

NormalizerLayout read_normalizer(const LayoutReader& reader, uint64_t features) {
  const auto has = [&reader](std::string_view key) { return reader.file.find(key) != nullptr; };
  NormalizerLayout out;
  bool any = false;
  for (const std::string_view key : kNormalizerTensors) any = any || has(key);
  if (!any) return out;
  out.slope = reader.tensor<float>("normalizer.slope", Dtype::F32, {features});
  out.intercept = reader.tensor<double>("normalizer.intercept", Dtype::F64, {1});
  if (!has("normalizer.hidden_weight") && !has("normalizer.hidden_bias") && !has("normalizer.output"))
    return out;
  const Tensor* output = reader.file.find("normalizer.output");
  const uint64_t m = output == nullptr ? 1 : std::max<uint64_t>(1, output->elements());
  out.output = reader.tensor<float>("normalizer.output", Dtype::F32, {m});
  out.hidden_bias = reader.tensor<float>("normalizer.hidden_bias", Dtype::F32, {m});
  out.hidden_weight = reader.tensor<float>("normalizer.hidden_weight", Dtype::F32, {m, features});
  return out;
}

EncoderLayout read_encoder(const LayoutReader& reader, const ModelLayout& layout) {
  const auto has = [&reader](std::string_view key) { return reader.file.find(key) != nullptr; };
  EncoderLayout out;
  if (reader.file.metadata.contains("encoder")) {
    out.kind = static_cast<EncoderKind>(reader.choice("encoder", kEncoders) + 1);
  }
  if (reader.file.metadata.contains("inputs")) out.inputs = reader.number<uint32_t>("inputs");
  if (reader.file.metadata.contains("positions")) out.positions = reader.number<uint32_t>("positions");
  check_encoder_metadata(reader, layout, out);
  if (!out.exists()) return out;
  out.width = extent(reader, "encoder.embedding", 1);
  out.embedding = reader.tensor<float>("encoder.embedding", Dtype::F32, {out.inputs, out.width});
  if (has("encoder.hidden_weight") || has("encoder.hidden_bias")) {
    const uint32_t m = extent(reader, "encoder.hidden_weight", 0);
    out.hidden_weight = reader.tensor<float>("encoder.hidden_weight", Dtype::F32, {m, out.pooled()});
    out.hidden_bias = reader.tensor<float>("encoder.hidden_bias", Dtype::F32, {m});
  }
  if (layout.features != out.states()) {
    reader.fail("metadata \"features\" is " + std::to_string(layout.features) + ", expected the " +
                std::to_string(out.states()) + " values of the encoder's state");
  }
  return out;
}

}  // namespace

std::string_view name(Family family) { return kFamilies[static_cast<size_t>(family)]; }
std::string_view name(Input input) { return kInputs[static_cast<size_t>(input)]; }
std::string_view name(EncoderKind kind) {
  return kind == EncoderKind::None ? "none" : kEncoders[static_cast<size_t>(kind) - 1];
}
std::string_view name(WeightKind kind) { return kWeights[static_cast<size_t>(kind)]; }

ModelLayout read_layout(const Safetensors& file, const std::string& file_name) {
  const LayoutReader reader{file, file_name};
  ModelLayout out;
  read_metadata(reader, out);
  std::vector<std::string> ladder;
  if (out.family == Family::Multiclass) {
    out.normalizer = read_normalizer(reader, out.features);
    out.ladder = read_ladder({file, file_name, out.classes, out.features, out.normalizer}, ladder);
  }
  check_tensor_names(reader, out, ladder);
  out.encoder = read_encoder(reader, out);
  read_weights(reader, out);
  if (out.family != Family::Joint) {
    out.bias = reader.tensor<float>("bias", Dtype::F32, {out.rows()});
    out.log_carrier = reader.optional_floats("log_carrier", out.classes);
    out.labels = reader.strings("labels", out.classes);
    out.label_index = reader.index("labels", out.classes);
    out.has_numbered_labels = read_label_numbers(reader);
  }
  if (out.family == Family::Hierarchical) {
    out.tree = {reader.tensor<uint32_t>("tree.parent", Dtype::U32, {2 * uint64_t{out.classes} - 1})};
  }
  out.feature_names = reader.strings("feature_names", out.inputs());
  out.vocabulary = reader.strings("vocabulary", out.inputs());
  out.idf = reader.optional_floats("idf", out.inputs());
  return out;
}

}  // namespace selfnorm::runtime
