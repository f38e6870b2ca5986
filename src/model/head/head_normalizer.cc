#include <algorithm>
#include <cstring>

#include "base/failure.h"
#include "model/head/head_tensors.h"
#include "model/stored_record.h"

namespace selfnorm {
namespace {

constexpr std::string_view kSlopeTensor = kNormalizerTensors[0], kIntercept = kNormalizerTensors[1],
                           kHiddenWeight = kNormalizerTensors[2], kHiddenBias = kNormalizerTensors[3],
                           kOutput = kNormalizerTensors[4];

const ArrayEntry& need(const ArrayFile& file, std::string_view name) {
  const ArrayEntry* entry = file.find(name);
  if (!entry)
    throw_error("{}: found part of an amortised normalizer but no tensor '{}'; the file is damaged",
                file.name(), name);
  if (!entry->problem.empty()) throw Error(entry->problem);
  return *entry;
}

std::vector<float> floats(const ArrayFile& file, std::string_view name, const std::vector<uint64_t>& shape) {
  const ArrayEntry& entry = need(file, name);
  if (!entry.type.is_float() || entry.shape != shape || entry.fortran_order)
    throw_error("{}: found {} of {}, expected floats in C order of shape [{}]", entry.place,
                entry.shape_text(), entry.type.name(), fmt::join(shape, ", "));
  std::vector<float> out(entry.elements);
  file.view(entry).widen(0, out);
  if (const auto bad = first_not_finite(out))
    throw_error("{}: found {} at {}, expected finite numbers", entry.place, out[*bad], *bad);
  return out;
}

double intercept(const ArrayFile& file) {
  const float rounded = floats(file, kIntercept, {1})[0];
  const ArrayEntry& entry = need(file, kIntercept);
  if (entry.type != ElementType{ElementKind::real, 8, false}) return rounded;
  double exact = 0;
  std::memcpy(&exact, file.view(entry).bytes.data(), sizeof exact);
  return exact;
}

template <class T>
HeadTensor tensor(std::string_view name, std::vector<uint64_t> shape, std::span<const T> values) {
  return {std::string(name),
          {ElementKind::real, sizeof(T), false},
          fmt::format("<f{}", sizeof(T)),
          std::move(shape),
          {},
          std::as_bytes(values)};
}

}  // namespace

bool is_normalizer_tensor(std::string_view name) {
  return name == kLadderTensor || std::find(std::begin(kNormalizerTensors), std::end(kNormalizerTensors),
                                            name) != std::end(kNormalizerTensors);
}

Ladder read_head_ladder(const ArrayFile& file, const ModelFile& head) {
  const ArrayEntry* entry = file.find(kLadderTensor);
  if (!entry) return {};
  if (!entry->problem.empty()) throw Error(entry->problem);
  if (entry->type != ElementType{ElementKind::natural, 1, false})
    throw_error("{}: found {}, expected uint8, the bytes of a ladder; the file is damaged", entry->place,
                entry->type.name());
  return parse_ladder(file.view(*entry).bytes, entry->place, head);
}

void add_head_ladder(const Ladder& ladder, uint32_t features, std::vector<HeadTensor>& out) {
  if (!ladder.exists()) return;
  const std::string bytes = ladder_bytes(ladder, features);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  HeadTensor tensor{
      std::string(kLadderTensor), {ElementKind::natural, 1, false}, "|u1", {bytes.size()}, {}, {}};
  tensor.own.assign(begin, begin + bytes.size());
  tensor.bytes = tensor.own;
  out.push_back(std::move(tensor));
}

AmortisedNormalizer read_normalizer(const ArrayFile& file, uint32_t features) {
  AmortisedNormalizer out;
  if (std::none_of(file.entries().begin(), file.entries().end(), [](const ArrayEntry& entry) {
        return entry.name != kLadderTensor && is_normalizer_tensor(entry.name);
      }))
    return out;
  out.slope = floats(file, kSlopeTensor, {features});
  out.intercept = intercept(file);
  if (!file.find(kHiddenWeight) && !file.find(kHiddenBias) && !file.find(kOutput)) return out;
  const uint64_t hidden = need(file, kOutput).elements;
  if (hidden == 0 || hidden > 0xFFFFFFFEu)
    throw_error("{}: found {} hidden units, expected at least 1", need(file, kOutput).place, hidden);
  out.output = floats(file, kOutput, {hidden});
  out.hidden_bias = floats(file, kHiddenBias, {hidden});
  out.hidden_weight = floats(file, kHiddenWeight, {hidden, features});
  return out;
}

void add_normalizer(const AmortisedNormalizer& b, uint32_t features, std::vector<HeadTensor>& out) {
  if (!b.exists()) return;
  SELFNORM_CHECK(b.slope.size() == features && b.hidden_bias.size() == b.output.size());
  SELFNORM_CHECK(b.hidden_weight.size() == size_t{b.hidden()} * features);
  out.push_back(tensor<float>(kSlopeTensor, {features}, b.slope));
  out.push_back(tensor<double>(kIntercept, {1}, std::span(&b.intercept, 1)));
  if (b.hidden() == 0) return;
  out.push_back(tensor<float>(kHiddenWeight, {b.hidden(), features}, b.hidden_weight));
  out.push_back(tensor<float>(kHiddenBias, {b.hidden()}, b.hidden_bias));
  out.push_back(tensor<float>(kOutput, {b.hidden()}, b.output));
}

}  // namespace selfnorm
