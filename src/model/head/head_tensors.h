// What reading and writing a head share.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/array/array_file.h"
#include "model/head/head_file.h"

namespace selfnorm {

ElementType element_type(HeadKind kind);
runtime::Dtype dtype_of(const ElementType& type);

// The place of the first value that is not finite.
std::optional<size_t> first_not_finite(std::span<const float> values);

// Values as `type` stores them. Throws Error for one that is not finite there: "WHAT 3 is 70000, which ...".
std::vector<std::byte> narrowed(const ElementType& type, std::span<const float> values,
                                const std::string& what);

// A tensor to write, with bytes of its own or of the model.
struct HeadTensor {
  std::string name;
  ElementType type;
  std::string descr;  // for npz
  std::vector<uint64_t> shape;
  std::vector<std::byte> own;
  std::span<const std::byte> bytes;
};

// b(x) among the tensors of a head: selfnorm.normalizer.slope [d], .intercept [1] and, for a hidden layer,
// .hidden_weight [m, d], .hidden_bias [m], .output [m].
inline constexpr std::string_view kNormalizerTensors[] = {
    "selfnorm.normalizer.slope", "selfnorm.normalizer.intercept", "selfnorm.normalizer.hidden_weight",
    "selfnorm.normalizer.hidden_bias", "selfnorm.normalizer.output"};

// The ladder is one array of bytes, a safetensors file of its own (model/ladder.h).
inline constexpr std::string_view kLadderTensor = "selfnorm.ladder";

bool is_normalizer_tensor(std::string_view name);  // or the ladder
// Of a head whose b(x) is read already. Throws Error.
Ladder read_head_ladder(const ArrayFile& file, const ModelFile& head);
void add_head_ladder(const Ladder& ladder, uint32_t features, std::vector<HeadTensor>& out);
AmortisedNormalizer read_normalizer(const ArrayFile& file, uint32_t features);  // throws Error
void add_normalizer(const AmortisedNormalizer& normalizer, uint32_t features, std::vector<HeadTensor>& out);

}  // namespace selfnorm
