// A random softmax head and hidden states as other programs would store them.
#pragma once

#include <string>
#include <vector>

#include "cli/program.h"
#include "math/half.h"
#include "math/random.h"
#include "model/safetensors_writer.h"

namespace selfnorm::cli {

struct RandomHead {
  uint64_t classes = 40, features = 6;
  std::vector<float> weight, bias;

  explicit RandomHead(uint64_t seed = 1) {
    RandomStream random(seed);
    for (uint64_t i = 0; i < classes * features; ++i) weight.push_back(static_cast<float>(random.normal()));
    for (uint64_t k = 0; k < classes; ++k) bias.push_back(static_cast<float>(random.normal()));
  }

  // Tensors "lm_head.weight", "lm_head.bias" and one that has nothing to do with it.
  void write(const std::string& path, runtime::Dtype dtype = runtime::Dtype::F32,
             bool with_bias = true) const {
    std::vector<uint16_t> half_weight, half_bias;
    std::vector<runtime::Tensor> tensors;
    const std::vector<float> other = {1, 2, 3};
    const auto add = [&](const char* name, const std::vector<float>& values, std::vector<uint16_t>& halves,
                         std::vector<uint64_t> shape) {
      if (dtype == runtime::Dtype::F32) {
        tensors.push_back(make_tensor(name, dtype, std::move(shape), std::span<const float>(values)));
        return;
      }
      for (const float v : values)
        halves.push_back(dtype == runtime::Dtype::BF16 ? to_bfloat16(v) : to_float16(v));
      tensors.push_back(make_tensor(name, dtype, std::move(shape), std::span<const uint16_t>(halves)));
    };
    add("lm_head.weight", weight, half_weight, {classes, features});
    if (with_bias) add("lm_head.bias", bias, half_bias, {classes});
    tensors.push_back(make_tensor("final_norm", runtime::Dtype::F32, {3}, std::span<const float>(other)));
    write_safetensors(path, std::move(tensors), {{"made_by", "somebody else"}});
  }
};

// n states of 6 numbers as safetensors "hidden_states", with labels 0..39 when asked for.
inline void write_states(const std::string& path, uint64_t n, bool labelled, uint64_t seed = 2) {
  RandomStream random(seed);
  std::vector<float> h(n * 6);
  for (float& v : h) v = static_cast<float>(random.normal());
  std::vector<int64_t> y(n);
  for (int64_t& v : y) v = static_cast<int64_t>(random.below(40));
  std::vector<runtime::Tensor> tensors = {
      make_tensor("hidden_states", runtime::Dtype::F32, {n, 6}, std::span<const float>(h))};
  if (labelled)
    tensors.push_back(make_tensor("labels", runtime::Dtype::I64, {n}, std::span<const int64_t>(y)));
  write_safetensors(path, std::move(tensors), {});
}

}  // namespace selfnorm::cli
