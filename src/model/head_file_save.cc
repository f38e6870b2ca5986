#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "head_tensors.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/npz_writer.h"
#include "selfnorm/model/safetensors_writer.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm {
namespace {

// The bytes of float32 are the model's own.
HeadTensor stored_tensor(const std::string& file, const std::string& name, const ArrayEntry& like,
                         std::vector<uint64_t> shape, std::span<const float> values) {
  HeadTensor out{name, like.type, like.descr, std::move(shape), {}, std::as_bytes(values)};
  if (like.type == ElementType{}) return out;
  out.own = narrowed(like.type, values, file + ": " + name);
  out.bytes = out.own;
  return out;
}

runtime::Dtype dtype_of(const ElementType& type) {
  if (type.kind == ElementKind::bfloat) return runtime::Dtype::BF16;
  return type.size == 2 ? runtime::Dtype::F16 : type.size == 4 ? runtime::Dtype::F32 : runtime::Dtype::F64;
}

bool is_replaced(const std::string& name, std::span<const HeadTensor> tensors) {
  return is_normalizer_tensor(name) ||
         std::any_of(tensors.begin(), tensors.end(), [&](const HeadTensor& t) { return t.name == name; });
}

void save_safetensors(const std::string& path, std::span<const HeadTensor> tensors, const std::string& out) {
  try {
    const runtime::MappedFile file(path);
    file.expect_scan();
    runtime::Safetensors contents = runtime::parse_safetensors(file.bytes(), path);
    std::erase_if(contents.tensors,
                  [&](const runtime::Tensor& tensor) { return is_replaced(tensor.name, tensors); });
    for (const HeadTensor& tensor : tensors)
      contents.tensors.push_back({tensor.name, dtype_of(tensor.type), tensor.shape, tensor.bytes});
    write_safetensors(out, std::move(contents.tensors), contents.metadata);
  } catch (const runtime::FormatError& error) {
    throw Error(error.what());
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

void save_npz(const std::string& path, std::span<const HeadTensor> tensors, const std::string& out) {
  NpzChange change;
  for (const HeadTensor& tensor : tensors)
    change.put.push_back({tensor.name, tensor.descr, tensor.shape, tensor.bytes});
  change.leave_out.assign(std::begin(kNormalizerTensors), std::end(kNormalizerTensors));
  rewrite_npz(path, change, out);
}

void check_head_finite(const std::string& out, const char* what, std::span<const float> values) {
  if (const auto bad = first_not_finite(values))
    throw Error(fmt::format("{}: cannot save a head whose {} {} is {}", out, what, *bad, values[*bad]));
}

void check_head_finite(const std::string& out, const AmortisedNormalizer& normalizer) {
  check_head_finite(out, "slope of the normalizer", normalizer.slope);
  check_head_finite(out, "hidden weight of the normalizer", normalizer.hidden_weight);
  check_head_finite(out, "hidden bias of the normalizer", normalizer.hidden_bias);
  check_head_finite(out, "output weight of the normalizer", normalizer.output);
  if (!std::isfinite(normalizer.intercept))
    throw Error(fmt::format("{}: cannot save a head whose intercept of the normalizer is {}", out,
                            normalizer.intercept));
}

}  // namespace

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
  if (!is_same)
    throw Error(fmt::format("{}: the file changed since the head was read; read it again", head.path));
  std::vector<HeadTensor> tensors;
  tensors.push_back(stored_tensor(out, head.names.weight, *weight, {classes, features}, model.weight));
  const bool has_bias =
      bias || std::any_of(model.bias.begin(), model.bias.end(), [](float b) { return b != 0; });
  if (has_bias)
    tensors.push_back(stored_tensor(out, head.names.bias, bias ? *bias : *weight, {classes}, model.bias));
  add_normalizer(model.normalizer, model.features, tensors);
  if (head.format == HeadFormat::Npz) {
    save_npz(head.path, tensors, out);
  } else {
    save_safetensors(head.path, tensors, out);
  }
}

}  // namespace selfnorm
