#include "selfnorm/model/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "selfnorm/base/error.h"
#include "selfnorm/math/half.h"
#include "selfnorm/model/quantization.h"
#include "selfnorm/model/safetensors_writer.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm {
namespace {

using runtime::Dtype;

struct StringColumn {
  std::string bytes;
  std::vector<uint64_t> offsets{0};

  explicit StringColumn(const std::vector<std::string>& strings) {
    for (const std::string& text : strings) {
      bytes += text;
      offsets.push_back(bytes.size());
    }
  }
};

void check_sizes(const ModelFile& model) {
  const bool joint = model.family == Family::Joint;
  const size_t rows = joint ? 1 : model.classes, d = model.features;
  const auto is_empty_or = [](size_t size, size_t expected) { return size == 0 || size == expected; };
  SELFNORM_CHECK(rows > 0 && d > 0);
  SELFNORM_CHECK(model.weight.size() == rows * d);
  SELFNORM_CHECK(model.bias.size() == (joint ? 0 : rows));
  SELFNORM_CHECK(is_empty_or(model.log_carrier.size(), joint ? 0 : rows));
  SELFNORM_CHECK(is_empty_or(model.labels.size(), joint ? 0 : rows));
  SELFNORM_CHECK(is_empty_or(model.feature_names.size(), d));
  SELFNORM_CHECK(is_empty_or(model.vocabulary.size(), d));
  SELFNORM_CHECK(is_empty_or(model.idf.size(), d));
  const bool text = model.input == ModelInput::Text;
  SELFNORM_CHECK(text == !model.text_json.empty());
  SELFNORM_CHECK(text || (model.vocabulary.empty() && model.idf.empty()));
  const AmortisedNormalizer& b = model.normalizer;
  SELFNORM_CHECK(is_empty_or(b.slope.size(), joint ? 0 : d));
  SELFNORM_CHECK(b.exists() || b == AmortisedNormalizer());
  SELFNORM_CHECK(b.hidden_bias.size() == b.hidden() && b.hidden_weight.size() == b.hidden() * d);
}

void check_finite(const std::string& path, const char* what, std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return;
  throw Error(
      fmt::format("{}: cannot save a model whose {} {} is {}", path, what, bad - values.begin(), *bad));
}

void check_finite(const std::string& path, const AmortisedNormalizer& b) {
  check_finite(path, "normalizer slope", b.slope);
  check_finite(path, "normalizer hidden weight", b.hidden_weight);
  check_finite(path, "normalizer hidden bias", b.hidden_bias);
  check_finite(path, "normalizer output", b.output);
  if (!std::isfinite(b.intercept)) throw Error(path + ": the intercept of the normalizer is not finite");
}

Metadata metadata_of(const ModelFile& model) {
  Metadata out = {{"format", std::string(runtime::kFormat)},
                  {"format_version", std::string(runtime::kFormatVersion)},
                  {"family", std::string(runtime::name(model.family))},
                  {"input", std::string(runtime::name(model.input))},
                  {"weights", std::string(runtime::name(model.weights))},
                  {"classes", std::to_string(model.family == Family::Joint ? 0 : model.classes)},
                  {"features", std::to_string(model.features)},
                  {"log_normalizer", fmt::format("{}", model.log_normalizer)},
                  {"objective", model.objective_json},
                  {"training", model.training_json},
                  {"audit", model.audit_json}};
  if (model.input == ModelInput::Text) out["text"] = model.text_json;
  if (!model.target.empty()) out["target"] = model.target;
  return out;
}

void check_values(const ModelFile& model, const std::string& path) {
  check_finite(path, "weight", model.weight);
  check_finite(path, "bias", model.bias);
  check_finite(path, "log carrier", model.log_carrier);
  check_finite(path, "idf", model.idf);
  check_finite(path, model.normalizer);
  if (!std::isfinite(model.log_normalizer)) throw Error(path + ": the log-normalizer constant is not finite");
  check_metadata_json(path, "objective", model.objective_json);
  check_metadata_json(path, "training", model.training_json);
  check_metadata_json(path, "audit", model.audit_json);
  if (model.input == ModelInput::Text) check_metadata_json(path, "text", model.text_json);
}

// A checked model as the tensors of its file; keeps a reference to the model.
class StoredModel {
 public:
  StoredModel(const ModelFile& model, const std::string& path)
      : model_(model),
        labels_(model.labels),
        names_(model.feature_names),
        words_(model.vocabulary),
        intercept_{model.normalizer.intercept} {
    check_sizes(model);
    check_values(model, path);
    if (model.weights == WeightKind::Int8) bytes_ = to_int8(model.weight, model.features);
    if (model.weights != WeightKind::Bfloat16) return;
    halves_.resize(model.weight.size());
    std::transform(model.weight.begin(), model.weight.end(), halves_.begin(), to_bfloat16);
    for (size_t i = 0; i < halves_.size(); ++i) {
      if (std::isfinite(from_bfloat16(halves_[i]))) continue;
      throw Error(
          fmt::format("{}: weight {} does not fit in bfloat16; save as float32", path, model.weight[i]));
    }
  }

  // They point into this and into the model.
  std::vector<runtime::Tensor> tensors() const {
    std::vector<runtime::Tensor> out;
    const auto add = [&out]<class T>(const std::string& name, Dtype dtype, const std::vector<T>& values,
                                     std::vector<uint64_t> shape = {}) {
      if (values.empty()) return;
      if (shape.empty()) shape = {values.size()};
      out.push_back(make_tensor(name, dtype, std::move(shape), std::span<const T>(values)));
    };
    const uint64_t d = model_.features, rows = model_.weight.size() / d;
    if (model_.weights == WeightKind::Float32) add("weight", Dtype::F32, model_.weight, {rows, d});
    add("weight", Dtype::BF16, halves_, {rows, d});
    add("weight", Dtype::I8, bytes_.values, {rows, d});
    add("weight_scale", Dtype::F32, bytes_.scale);
    add("bias", Dtype::F32, model_.bias);
    add("log_carrier", Dtype::F32, model_.log_carrier);
    add("idf", Dtype::F32, model_.idf);

    const AmortisedNormalizer& b = model_.normalizer;
    add("normalizer.slope", Dtype::F32, b.slope);
    if (b.exists()) add("normalizer.intercept", Dtype::F64, intercept_);
    add("normalizer.hidden_weight", Dtype::F32, b.hidden_weight, {b.hidden(), d});
    add("normalizer.hidden_bias", Dtype::F32, b.hidden_bias);
    add("normalizer.output", Dtype::F32, b.output);

    const auto add_strings = [&](const std::string& name, const StringColumn& column) {
      if (column.offsets.size() == 1) return;
      out.push_back(make_tensor(name + ".bytes", Dtype::U8, {column.bytes.size()},
                                std::span<const char>(column.bytes)));
      add(name + ".offsets", Dtype::U64, column.offsets);
    };
    add_strings("labels", labels_);
    add_strings("feature_names", names_);
    add_strings("vocabulary", words_);
    return out;
  }

 private:
  const ModelFile& model_;
  StringColumn labels_, names_, words_;
  std::vector<double> intercept_;
  std::vector<uint16_t> halves_;
  Int8Rows bytes_;
};

std::vector<std::string> strings_of(const runtime::StringTable& table) {
  std::vector<std::string> out(table.size());
  std::string_view text;
  for (size_t i = 0; i < out.size(); ++i) {
    SELFNORM_CHECK(table.get(i, text));
    out[i] = text;
  }
  return out;
}

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
  check_finite(name, "weight", out.weight);
  out.bias = copy(layout.bias);
  out.log_carrier = copy(layout.log_carrier);
  out.idf = copy(layout.idf);
  out.labels = strings_of(layout.labels);
  out.feature_names = strings_of(layout.feature_names);
  out.vocabulary = strings_of(layout.vocabulary);
  out.normalizer = normalizer_of(layout.normalizer);
  const auto json = [&](const char* key, std::string& value) {
    value = file.metadata.find(key)->second;
    check_metadata_json(name, key, value);
  };
  json("objective", out.objective_json);
  json("training", out.training_json);
  json("audit", out.audit_json);
  if (out.input == ModelInput::Text) json("text", out.text_json);
  if (const auto target = file.metadata.find("target"); target != file.metadata.end())
    out.target = target->second;
  return out;
}

}  // namespace

void check_metadata_json(const std::string& file, const char* key, const std::string& json) {
  int depth = 0;
  bool is_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_string && c == '\\') ++i;
    if (c == '"') is_string = !is_string;
    if (is_string) continue;
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kDeepestMetadata) {
      throw Error(fmt::format("{}: metadata \"{}\" is nested more than {} deep; the file is damaged", file,
                              key, kDeepestMetadata));
    }
  }
  if (!nlohmann::json::accept(json)) {
    throw Error(fmt::format("{}: metadata \"{}\" is not JSON", file, key));
  }
}

void save_model(const ModelFile& model, const std::string& path) {
  const StoredModel stored(model, path);
  write_safetensors(path, stored.tensors(), metadata_of(model));
}

std::string model_bytes(const ModelFile& model, const std::string& name) {
  const StoredModel stored(model, name);
  std::vector<runtime::Tensor> tensors = stored.tensors();
  std::string out = safetensors_header(tensors, metadata_of(model));
  for (const runtime::Tensor& tensor : tensors)
    out.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return out;
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
