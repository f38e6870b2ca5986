#include "selfnorm/model/model_file.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "selfnorm/base/error.h"
#include "selfnorm/base/json_text.h"
#include "selfnorm/math/half.h"
#include "selfnorm/model/string_column.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm {
namespace {

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

std::vector<float> weights_of(const runtime::ModelLayout& layout) {
  std::vector<float> out = copy(layout.weight_f32);
  out.reserve(layout.rows() * layout.features);
  for (const uint16_t bits : layout.weight_bf16) out.push_back(from_bfloat16(bits));
  for (size_t i = 0; i < layout.weight_i8.size(); ++i) {
    out.push_back(layout.weight_scale[i / layout.features] * static_cast<float>(layout.weight_i8[i]));
  }
  return out;
}

AmortisedNormalizer normalizer_of(const runtime::NormalizerLayout& layout) {
  if (!layout.exists()) return {};
  return {.intercept = layout.intercept[0],
          .slope = copy(layout.slope),
          .hidden_weight = copy(layout.hidden_weight),
          .hidden_bias = copy(layout.hidden_bias),
          .output = copy(layout.output)};
}

Encoder encoder_of(const runtime::EncoderLayout& layout) {
  if (!layout.exists()) return {};
  return {.kind = layout.kind,
          .inputs = layout.inputs,
          .width = layout.width,
          .positions = layout.positions,
          .embedding = copy(layout.embedding),
          .hidden_weight = copy(layout.hidden_weight),
          .hidden_bias = copy(layout.hidden_bias)};
}

ModelFile read_model(std::span<const std::byte> bytes, const std::string& name) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, name);
  const runtime::ModelLayout layout = runtime::read_layout(file, name);
  runtime::check_contents(layout, name);
  ModelFile out;
  out.family = layout.family;
  out.input = layout.input;
  out.weights = layout.weights;
  out.classes = layout.classes;
  out.features = layout.features;
  out.log_normalizer = layout.log_normalizer;
  out.weight = weights_of(layout);
  for (const float w : out.weight) {
    if (!std::isfinite(w)) throw Error(fmt::format("{}: a weight times its scale is {}", name, w));
  }
  out.bias = copy(layout.bias);
  out.log_carrier = copy(layout.log_carrier);
  out.idf = copy(layout.idf);
  out.labels = labels_of(layout);
  out.feature_names = strings_of(layout.feature_names);
  out.vocabulary = strings_of(layout.vocabulary);
  out.normalizer = normalizer_of(layout.normalizer);
  out.encoder = encoder_of(layout.encoder);
  out.tree = {layout.tree.link.begin(), layout.tree.link.end()};
  const auto json = [&](const char* key, std::string& value) {
    value = file.metadata.find(key)->second;
    check_metadata_json(name, key, value);
  };
  json("objective", out.objective_json);
  json("training", out.training_json);
  json("audit", out.audit_json);
  if (out.input == ModelInput::Text) json("text", out.text_json);
  const auto text = [&](const char* key, std::string& value) {
    if (const auto found = file.metadata.find(key); found != file.metadata.end()) value = found->second;
  };
  text("target", out.target);
  text("unknown", out.unknown);
  runtime::require_checksum(bytes, name);
  return out;
}

}  // namespace

std::vector<std::string> labels_of(const runtime::ModelLayout& layout) {
  if (!layout.has_numbered_labels) return strings_of(layout.labels);
  std::vector<std::string> out(layout.classes);
  for (uint32_t k = 0; k < layout.classes; ++k) out[k] = std::to_string(k);
  return out;
}

void check_metadata_json(const std::string& file, const char* key, const std::string& json) {
  if (!is_shallow_json(json)) {
    throw Error(fmt::format("{}: metadata \"{}\" is nested more than {} deep; the file is damaged", file, key,
                            kDeepestJson));
  }
  if (!nlohmann::json::accept(json)) {
    throw Error(fmt::format("{}: metadata \"{}\" is not JSON", file, key));
  }
}

ModelFile parse_model(std::span<const std::byte> bytes, const std::string& name) {
  try {
    return read_model(bytes, name);
  } catch (const runtime::FormatError& error) {
    throw Error(error.what());
  }
}

ModelFile load_model(const std::string& path) {
  try {
    const runtime::MappedFile file(path);
    file.expect_scan();
    return read_model(file.bytes(), path);
  } catch (const runtime::FormatError& error) {
    throw Error(error.what());
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

}  // namespace selfnorm
