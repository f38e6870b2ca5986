// The part of model_layout.h that reads networks: the amortised normalizer and the encoder.
#include "network_layout.h"

#include <algorithm>

namespace selfnorm::runtime {
namespace {

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

}  // namespace

std::string_view name(EncoderKind kind) {
  return kind == EncoderKind::None ? "none" : kEncoders[static_cast<size_t>(kind) - 1];
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

}  // namespace selfnorm::runtime
