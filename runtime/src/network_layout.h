// The parts of a model file that are networks.
#pragma once

#include "selfnorm/runtime/layout_reader.h"

namespace selfnorm::runtime {

inline constexpr std::array<std::string_view, 5> kNormalizerTensors = {
    "normalizer.slope", "normalizer.intercept", "normalizer.hidden_weight", "normalizer.hidden_bias",
    "normalizer.output"};
inline constexpr std::array<std::string_view, 3> kEncoderTensors = {
    "encoder.embedding", "encoder.hidden_weight", "encoder.hidden_bias"};

// `layout` has the metadata of the file.
NormalizerLayout read_normalizer(const LayoutReader& reader, uint64_t features);
EncoderLayout read_encoder(const LayoutReader& reader, const ModelLayout& layout);

}  // namespace selfnorm::runtime
