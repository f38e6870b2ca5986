#include "model/head/head_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "base/memory.h"
#include "data/array/named_arrays.h"
#include "data/example_source.h"
#include "data/write.h"
#include "math/parallel.h"
#include "model/head/head_tensors.h"
#include "model/stored_record.h"
#include "selfnorm/runtime/checksum.h"

namespace selfnorm {
namespace {

constexpr size_t kConversionGrain = size_t{1} << 18;
constexpr size_t kNone = std::numeric_limits<size_t>::max();

bool is_ours(const ArrayFile& file) {
  const auto format = file.metadata().find("format");
  return format != file.metadata().end() && format->second == runtime::kFormat;
}

[[noreturn]] void fail(const ArrayFile& file, const std::string& what) {
  throw_error("{}: {}", file.name(), what);
}

// Of a head that selfnorm wrote; others have no checksum.
void check_bytes(const ArrayFile& file) {
  with_plain_errors([&] { runtime::require_checksum(file.bytes(), file.name()); });
}

const ArrayEntry& weight_entry(const ArrayFile& file, const std::string& name) {
  const ArrayEntry* found = name.empty() ? nullptr : file.find(name);
  if (!name.empty() && !found)
    fail(file, worded("found no tensor '{}' (`weight-name`); found {}", name, list_of_names(file.entries())));
  for (const char* usual : {"weight", "W", "lm_head.weight"})
    if (!found) found = file.find(usual);
  if (found) return *found;
  size_t candidates = 0, data = 0;
  for (const ArrayEntry& entry : file.entries()) {
    const bool fits = entry.problem.empty() && entry.type.is_float() && entry.shape.size() == 2;
    if (!fits || is_normalizer_tensor(entry.name)) continue;
    if (is_name_of_data(entry.name)) {
      ++data;
      continue;
    }
    found = &entry;
    ++candidates;
  }
  if (candidates == 1) return *found;
  if (candidates == 0 && data > 0)
    fail(file,
         worded("found {}, which are data by their names, not a model; expected a file or run directory of "
                "'selfnorm train', or the weights of a softmax head (classes x features) called "
                "weight, W or lm_head.weight; other weights are named (`weight-name`)",
                list_of_names(file.entries())));
  fail(file, worded("found {}; expected the weights of a softmax head, called weight, W or "
                    "lm_head.weight or the only floats in two dimensions; name them (`weight-name`)",
                    list_of_names(file.entries())));
}

// "lm_head.weight" -> "lm_head.bias"; empty when there is no "weight" in it.
std::string bias_beside(std::string weight) {
  const size_t at = weight.rfind("weight");
  return at == std::string::npos ? std::string() : weight.replace(at, 6, "bias");
}

// Null when the file has none; then `name` is what it will be called.
const ArrayEntry* bias_entry(const ArrayFile& file, const std::string& weight, std::string& name) {
  const std::string beside = bias_beside(weight);
  const ArrayEntry* usual = nullptr;
  for (const std::string& candidate : {beside, std::string("bias"), std::string("b")})
    if (!usual && !candidate.empty() && candidate != weight) usual = file.find(candidate);
  if (name.empty()) {
    name = usual ? usual->name : beside.empty() ? "bias" : beside;
    return usual;
  }
  const ArrayEntry* named = file.find(name);
  if (!named && usual) fail(file, worded("found no tensor '{}' (`bias-name`), but '{}'", name, usual->name));
  return named;
}

HeadKind kind_of(const ArrayEntry& entry, const char* what) {
  if (!entry.problem.empty()) throw Error(entry.problem);
  if (entry.type.kind == ElementKind::bfloat) return HeadKind::Bfloat16;
  if (entry.type.kind == ElementKind::real && entry.type.size == 2) return HeadKind::Float16;
  if (entry.type.kind == ElementKind::real)
    return entry.type.size == 4 ? HeadKind::Float32 : HeadKind::Float64;
  throw_error("{}: found {} of {}, expected float64, float32, float16 or bfloat16; convert them", entry.place,
              what, entry.type.name());
}

// Widens and looks for the first value that is not finite.
std::vector<float> values_of(const ArrayFile& file, const ArrayEntry& entry) {
  const ArrayView view = file.view(entry);
  require_memory(4.0 * static_cast<double>(entry.elements), "the values of " + entry.place,
                 "take a smaller head");
  std::vector<float> out(entry.elements);
  parallel_ranges(out.size(), kConversionGrain, [&](size_t begin, size_t end) {
    view.widen(begin, std::span(out).subspan(begin, end - begin));
  });
  if (entry.fortran_order && entry.shape.size() == 2) {
    const uint64_t rows = entry.shape[0], columns = entry.shape[1];
    std::vector<float> turned(out.size());
    for (uint64_t r = 0; r < rows; ++r)
      for (uint64_t c = 0; c < columns; ++c) turned[r * columns + c] = out[c * rows + r];
    out.swap(turned);
  }
  if (const auto bad = first_not_finite(out)) {
    const uint64_t columns = entry.shape.back();
    const std::string place = entry.shape.size() == 2 ? fmt::format("{}, {}", *bad / columns, *bad % columns)
                                                      : fmt::format("{}", *bad);
    throw_error("{}: found {} at [{}], expected finite numbers", entry.place, out[*bad], place);
  }
  return out;
}

void check_weight_shape(const ArrayEntry& entry) {
  const auto fits = [](uint64_t n) { return n > 0 && n <= 0xFFFFFFFEu; };
  if (entry.shape.size() != 2)
    throw_error("{}: found shape {}, expected two dimensions, classes x features", entry.place,
                entry.shape_text());
  if (!fits(entry.shape[0]) || !fits(entry.shape[1]))
    throw_error("{}: found shape {}, expected 1 to 4294967294 classes and features", entry.place,
                entry.shape_text());
}

void check_bias_shape(const ArrayEntry& weight, const ArrayEntry& bias) {
  const uint64_t classes = weight.shape[0], features = weight.shape[1];
  if (bias.shape.size() == 1 && bias.shape[0] == classes) return;
  std::string what = fmt::format("{}: found shape {}, expected [{}], a bias for each class of the weights {}",
                                 bias.place, bias.shape_text(), classes, weight.shape_text());
  if (bias.shape.size() == 1 && bias.shape[0] == features)
    what += "; the weights seem to be transposed, features x classes: store them as classes x features";
  throw Error(what);
}

void round_values(HeadKind kind, std::vector<float>& values, const char* what) {
  const ElementType type = element_type(kind);
  const std::vector<std::byte> stored = narrowed(type, values, what);
  parallel_ranges(values.size(), kConversionGrain, [&](size_t begin, size_t end) {
    widen(type, std::span(stored).subspan(begin * type.size, (end - begin) * type.size),
          std::span(values).subspan(begin, end - begin));
  });
}

// The bytes of float32 are the model's own.
HeadTensor stored_tensor(const std::string& file, const std::string& name, const ArrayEntry& like,
                         std::vector<uint64_t> shape, std::span<const float> values) {
  HeadTensor out{name, like.type, like.descr, std::move(shape), {}, std::as_bytes(values)};
  if (like.type == ElementType{}) return out;
  out.own = narrowed(like.type, values, file + ": " + name);
  out.bytes = out.own;
  return out;
}

bool is_replaced(const std::string& name, std::span<const HeadTensor> tensors) {
  return is_normalizer_tensor(name) ||
         std::any_of(tensors.begin(), tensors.end(), [&](const HeadTensor& t) { return t.name == name; });
}

void save_safetensors(const std::string& path, std::span<const HeadTensor> tensors, const std::string& out) {
  with_plain_errors([&] {
    const runtime::MappedFile file(path);
    file.expect_scan();
    runtime::Safetensors contents = runtime::parse_safetensors(file.bytes(), path);
    std::erase_if(contents.tensors,
                  [&](const runtime::Tensor& tensor) { return is_replaced(tensor.name, tensors); });
    for (const HeadTensor& tensor : tensors)
      contents.tensors.push_back({tensor.name, dtype_of(tensor.type), tensor.shape, tensor.bytes});
    write_safetensors(out, std::move(contents.tensors), contents.metadata);
  });
}

void save_npz(const std::string& path, std::span<const HeadTensor> tensors, const std::string& out) {
  NpzChange change;
  for (const HeadTensor& tensor : tensors)
    change.put.push_back({tensor.name, tensor.descr, tensor.shape, tensor.bytes});
  change.leave_out.assign(std::begin(kNormalizerTensors), std::end(kNormalizerTensors));
  change.leave_out.emplace_back(kLadderTensor);
  rewrite_npz(path, change, out);
}

void check_head_finite(const std::string& out, const char* what, std::span<const float> values) {
  if (const auto bad = first_not_finite(values))
    throw_error("{}: cannot save a head whose {} {} is {}", out, what, *bad, values[*bad]);
}

void check_head_finite(const std::string& out, const AmortisedNormalizer& normalizer) {
  check_head_finite(out, "slope of the normalizer", normalizer.slope);
  check_head_finite(out, "hidden weight of the normalizer", normalizer.hidden_weight);
  check_head_finite(out, "hidden bias of the normalizer", normalizer.hidden_bias);
  check_head_finite(out, "output weight of the normalizer", normalizer.output);
  if (!std::isfinite(normalizer.intercept))
    throw_error("{}: cannot save a head whose intercept of the normalizer is {}", out, normalizer.intercept);
}

}  // namespace

runtime::Dtype dtype_of(const ElementType& type) {
  if (type.kind == ElementKind::bfloat) return runtime::Dtype::BF16;
  if (type.kind == ElementKind::natural) return runtime::Dtype::U8;
  return type.size == 2 ? runtime::Dtype::F16 : type.size == 4 ? runtime::Dtype::F32 : runtime::Dtype::F64;
}

ElementType element_type(HeadKind kind) {
  if (kind == HeadKind::Bfloat16) return {ElementKind::bfloat, 2, false};
  return {ElementKind::real, kind == HeadKind::Float16 ? 2u : kind == HeadKind::Float32 ? 4u : 8u, false};
}

std::optional<size_t> first_not_finite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7F800000u;
  const auto is_bad = [](float v) { return (std::bit_cast<uint32_t>(v) & kExponent) == kExponent; };
  std::vector<size_t> first((values.size() + kConversionGrain - 1) / kConversionGrain, kNone);
  parallel_ranges(values.size(), kConversionGrain, [&](size_t begin, size_t end) {
    uint32_t any = 0;
    for (size_t i = begin; i < end; ++i) any |= is_bad(values[i]) ? 1u : 0u;
    if (any == 0) return;
    const auto part = values.subspan(begin, end - begin);
    first[begin / kConversionGrain] =
        begin + static_cast<size_t>(std::find_if(part.begin(), part.end(), is_bad) - part.begin());
  });
  const auto found = std::find_if(first.begin(), first.end(), [](size_t i) { return i != kNone; });
  return found == first.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::byte> narrowed(const ElementType& type, std::span<const float> values,
                                const std::string& what) {
  std::vector<std::byte> out(values.size() * type.size);
  std::vector<size_t> bad((values.size() + kConversionGrain - 1) / kConversionGrain, kNone);
  parallel_ranges(values.size(), kConversionGrain, [&](size_t begin, size_t end) {
    const auto part = std::span(out).subspan(begin * type.size, (end - begin) * type.size);
    narrow(type, values.subspan(begin, end - begin), part);
    std::vector<float> back(end - begin);
    widen(type, part, back);
    if (const auto place = first_not_finite(back)) bad[begin / kConversionGrain] = begin + *place;
  });
  for (const size_t i : bad)
    if (i != kNone)
      throw_error("{} {} is {}, which does not fit in {}; store the head in a wider dtype", what, i,
                  values[i], type.name());
  return out;
}

bool is_head_file(const std::string& path) {
  if (!is_array_file(path)) return false;
  try {
    const ArrayFile file(path);
    return file.format() == ArrayFormat::npz || (file.format() == ArrayFormat::safetensors && !is_ours(file));
  } catch (const Error&) {
    return false;
  }
}

void refuse_npy_head(const std::string& path) {
  throw_error(
      "{}: found an npy file, one array without a name, which is no model; rows and states are given as "
      "data, "
      "after the model; the weights of a softmax head are read from npz or safetensors: "
      "numpy.savez('head.npz', W=W, b=b)",
      path);
}

Head load_head(const std::string& path, const HeadNames& names) {
  const ArrayFile file(path);
  if (file.format() == ArrayFormat::npy) refuse_npy_head(path);
  if (is_ours(file)) fail(file, "found a selfnorm model, expected a softmax head of another program");
  const ArrayEntry& weight = weight_entry(file, names.weight);
  Head head;
  head.path = path;
  head.format = file.format() == ArrayFormat::npz ? HeadFormat::Npz : HeadFormat::Safetensors;
  head.kind = head.bias_kind = kind_of(weight, "weights");
  check_weight_shape(weight);
  head.names = {weight.name, names.bias};
  const ArrayEntry* bias = bias_entry(file, weight.name, head.names.bias);
  head.has_bias = bias != nullptr;
  if (bias) {
    head.bias_kind = kind_of(*bias, "biases");
    check_bias_shape(weight, *bias);
  }
  ModelFile& model = head.model;
  model.input = ModelInput::Dense;
  model.classes = static_cast<uint32_t>(weight.shape[0]);
  model.features = static_cast<uint32_t>(weight.shape[1]);
  model.weight = values_of(file, weight);
  model.bias = bias ? values_of(file, *bias) : std::vector<float>(model.classes);
  model.normalizer = read_normalizer(file, model.features);
  model.ladder = read_head_ladder(file, model);
  if (file.format() == ArrayFormat::safetensors) check_bytes(file);
  return head;
}

void round_to_kind(HeadKind kind, ModelFile& model) {
  round_values(kind, model.weight, "weight");
  round_values(kind, model.bias, "bias");
}

void round_to_kind(Head& head) {
  round_values(head.kind, head.model.weight, "weight");
  round_values(head.bias_kind, head.model.bias, "bias");
}

void save_head(const Head& head, const std::string& out) {
  const ModelFile& model = head.model;
  const uint64_t classes = model.classes, features = model.features;
  SELFNORM_CHECK(model.weight.size() == classes * features && model.bias.size() == classes);
  SELFNORM_CHECK(model.log_normalizer == 0 && model.log_carrier.empty());
  check_head_finite(out, "weight", model.weight);
  check_head_finite(out, "bias", model.bias);
  check_head_finite(out, model.normalizer);

  const ArrayFile file(head.path);
  const ArrayEntry* weight = file.find(head.names.weight);
  const ArrayEntry* bias = file.find(head.names.bias);
  const bool is_same = weight && weight->shape == std::vector<uint64_t>{classes, features} &&
                       weight->type.is_float() && (bias != nullptr) == head.has_bias &&
                       (!bias || bias->type.is_float());
  if (!is_same) throw_error("{}: the file changed since the head was read; read it again", head.path);
  std::vector<HeadTensor> tensors;
  tensors.push_back(stored_tensor(out, head.names.weight, *weight, {classes, features}, model.weight));
  const bool has_bias =
      bias || std::any_of(model.bias.begin(), model.bias.end(), [](float b) { return b != 0; });
  if (has_bias)
    tensors.push_back(stored_tensor(out, head.names.bias, bias ? *bias : *weight, {classes}, model.bias));
  add_normalizer(model.normalizer, model.features, tensors);
  add_head_ladder(model.ladder, model.features, tensors);
  if (head.format == HeadFormat::Npz) {
    save_npz(head.path, tensors, out);
  } else {
    save_safetensors(head.path, tensors, out);
  }
}

}  // namespace selfnorm
