#include "selfnorm/runtime/model_layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "selfnorm/runtime/file_error.h"

namespace selfnorm::runtime {
namespace {

constexpr std::array<std::string_view, 2> kFamilies = {"multiclass", "joint"};
constexpr std::array<std::string_view, 3> kInputs = {"dense", "sparse", "text"};
constexpr std::array<std::string_view, 3> kWeights = {"float32", "bfloat16", "int8"};
constexpr std::array<Dtype, 3> kWeightDtypes = {Dtype::F32, Dtype::BF16, Dtype::I8};
constexpr std::array<std::string_view, 5> kNormalizerTensors = {
    "normalizer.slope", "normalizer.intercept", "normalizer.hidden_weight", "normalizer.hidden_bias",
    "normalizer.output"};
constexpr std::array<std::string_view, 11> kTensors = {"weight",
                                                       "weight_scale",
                                                       "bias",
                                                       "log_carrier",
                                                       "idf",
                                                       "labels.bytes",
                                                       "labels.offsets",
                                                       "feature_names.bytes",
                                                       "feature_names.offsets",
                                                       "vocabulary.bytes",
                                                       "vocabulary.offsets"};

struct Reader {
  const Safetensors& file;
  const std::string& name;

  [[noreturn]] void fail(const std::string& what) const { throw FormatError(name + ": " + what); }

  std::string_view metadata(std::string_view key) const {
    const auto place = file.metadata.find(key);
    if (place == file.metadata.end()) fail("no metadata \"" + std::string(key) + "\"; not a selfnorm model");
    return place->second;
  }

  template <size_t N>
  size_t choice(std::string_view key, const std::array<std::string_view, N>& names) const {
    const std::string_view value = metadata(key);
    std::string expected;
    for (size_t i = 0; i < N; ++i) {
      if (names[i] == value) return i;
      expected += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    fail("metadata \"" + std::string(key) + "\" is \"" + std::string(value) + "\", expected one of " +
         expected);
  }

  template <class T>
  T number(std::string_view key) const {
    const std::string_view text = metadata(key);
    T value{};
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || last != text.data() + text.size()) {
      fail("metadata \"" + std::string(key) + "\" is \"" + std::string(text) +
           "\", expected a number below " + (std::is_integral_v<T> ? "2^32" : "1e308"));
    }
    return value;
  }

  // A tensor of the given dtype and shape; read in place.
  template <class T>
  std::span<const T> tensor(std::string_view key, Dtype dtype, std::vector<uint64_t> shape) const {
    const Tensor* found = file.find(key);
    const Tensor expected{std::string(key), dtype, std::move(shape), {}};
    if (found == nullptr) fail("no tensor \"" + expected.name + "\"");
    if (found->dtype != dtype || found->shape != expected.shape) {
      fail("tensor \"" + expected.name + "\" is " + std::string(dtype_name(found->dtype)) + " " +
           found->shape_text() + ", expected " + std::string(dtype_name(dtype)) + " " +
           expected.shape_text());
    }
    if (!found->is_aligned()) {
      fail("tensor \"" + expected.name + "\" is not aligned to " + std::to_string(item_size(dtype)) +
           " bytes; write the file with a padded header, or pass memory aligned to 8 bytes");
    }
    return {reinterpret_cast<const T*>(found->data.data()), static_cast<size_t>(found->elements())};
  }

  std::span<const float> optional_floats(std::string_view key, uint64_t n) const {
    return file.find(key) == nullptr ? std::span<const float>() : tensor<float>(key, Dtype::F32, {n});
  }

  StringTable strings(const std::string& key, uint64_t n) const {
    const Tensor* bytes = file.find(key + ".bytes");
    const Tensor* offsets = file.find(key + ".offsets");
    if (bytes == nullptr && offsets == nullptr) return {};
    if (bytes == nullptr || offsets == nullptr)
      fail("expected both " + key + ".bytes and " + key + ".offsets");
    return {tensor<uint8_t>(key + ".bytes", Dtype::U8, {bytes->data.size()}),
            tensor<uint64_t>(key + ".offsets", Dtype::U64, {n + 1})};
  }
};

void read_metadata(const Reader& reader, ModelLayout& out) {
  if (reader.metadata("format") != kFormat) {
    reader.fail("metadata \"format\" is \"" + std::string(reader.metadata("format")) +
                "\", expected \"selfnorm\"; not a selfnorm model");
  }
  if (reader.metadata("format_version") != kFormatVersion) {
    reader.fail(
        "model format version " + std::string(reader.metadata("format_version")) +
        ", this selfnorm reads version 1; update selfnorm or write the model again with this version");
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
  for (const char* key : {"objective", "training", "audit"}) reader.metadata(key);
  if ((out.input == Input::Text) != reader.file.metadata.contains("text")) {
    reader.fail("expected metadata \"text\" when, and only when, the input is text");
  }
}

void check_tensor_names(const Reader& reader, const ModelLayout& layout) {
  const auto forbid = [&reader](std::string_view key, bool allowed, const char* when) {
    if (!allowed && reader.file.find(key) != nullptr) {
      reader.fail("tensor \"" + std::string(key) + "\" is expected only in " + when);
    }
  };
  for (const Tensor& tensor : reader.file.tensors) {
    bool known = false;
    for (const std::string_view key : kTensors) known = known || tensor.name == key;
    for (const std::string_view key : kNormalizerTensors) known = known || tensor.name == key;
    if (!known) reader.fail("unexpected tensor \"" + tensor.name + "\"");
  }
  forbid("weight_scale", layout.weights == WeightKind::Int8, "int8 models");
  for (const char* key : {"bias", "log_carrier", "labels.bytes", "labels.offsets"}) {
    forbid(key, layout.family == Family::Multiclass, "multiclass models");
  }
  for (const std::string_view key : kNormalizerTensors) {
    forbid(key, layout.family == Family::Multiclass, "multiclass models");
  }
  for (const char* key : {"idf", "vocabulary.bytes"}) forbid(key, layout.input == Input::Text, "text models");
}

NormalizerLayout read_normalizer(const Reader& reader, uint64_t features) {
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

}  // namespace

std::string_view name(Family family) { return kFamilies[static_cast<size_t>(family)]; }
std::string_view name(Input input) { return kInputs[static_cast<size_t>(input)]; }
std::string_view name(WeightKind kind) { return kWeights[static_cast<size_t>(kind)]; }

bool StringTable::get(uint64_t i, std::string_view& out) const {
  if (i >= size()) return false;
  const uint64_t begin = offsets[i], end = offsets[i + 1];
  if (begin > end || end > bytes.size()) return false;
  out = {reinterpret_cast<const char*>(bytes.data()) + begin, end - begin};
  return true;
}

ModelLayout read_layout(const Safetensors& file, const std::string& file_name) {
  const Reader reader{file, file_name};
  ModelLayout out;
  read_metadata(reader, out);
  check_tensor_names(reader, out);
  const std::vector<uint64_t> shape = {out.rows(), out.features};
  const Dtype dtype = kWeightDtypes[static_cast<size_t>(out.weights)];
  if (out.weights == WeightKind::Float32) out.weight_f32 = reader.tensor<float>("weight", dtype, shape);
  if (out.weights == WeightKind::Bfloat16) out.weight_bf16 = reader.tensor<uint16_t>("weight", dtype, shape);
  if (out.weights == WeightKind::Int8) {
    out.weight_i8 = reader.tensor<int8_t>("weight", dtype, shape);
    out.weight_scale = reader.tensor<float>("weight_scale", Dtype::F32, {out.rows()});
  }
  if (out.family == Family::Multiclass) {
    out.bias = reader.tensor<float>("bias", Dtype::F32, {out.classes});
    out.log_carrier = reader.optional_floats("log_carrier", out.classes);
    out.labels = reader.strings("labels", out.classes);
  }
  out.feature_names = reader.strings("feature_names", out.features);
  out.vocabulary = reader.strings("vocabulary", out.features);
  out.idf = reader.optional_floats("idf", out.features);
  out.normalizer = read_normalizer(reader, out.features);
  return out;
}

}  // namespace selfnorm::runtime
