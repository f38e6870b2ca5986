#include "selfnorm/runtime/state_encoder.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "stack_floats.h"

namespace selfnorm::runtime {
namespace {

bool all_bounded(const float* values, size_t n) {
  unsigned good = 1;
  for (size_t i = 0; i < n; ++i) good &= std::fabs(values[i]) <= FLT_MAX ? 1u : 0u;
  return good != 0;
}

}  // namespace

StateEncoder::StateEncoder(const EncoderLayout& layout, const Kernels& kernels)
    : layout_(layout), kernels_(&kernels) {}

// max(0, U v + t); a unit that is not finite would hide in the maximum.
bool StateEncoder::hidden(const float* v, float* h) const {
  const size_t m = layout_.hidden();
  kernels_->dot_f32({layout_.hidden_weight.data(), m, layout_.pooled(), v}, h);
  for (size_t i = 0; i < m; ++i) h[i] += layout_.hidden_bias[i];
  if (!all_bounded(h, m)) return false;
  for (size_t i = 0; i < m; ++i) h[i] = std::max(0.0f, h[i]);
  return true;
}

bool StateEncoder::bag(const Query& x, float* h) const {
  const size_t e = layout_.width;
  const auto pool = [&](float* v) {
    double total = 0;
    for (const float a : x.value) total += std::fabs(a);
    std::fill_n(v, e, 0.0f);
    if (!std::isfinite(total)) return false;
    for (size_t i = 0; i < x.value.size() && total > 0; ++i) {
      const auto a = static_cast<float>(x.value[i] / total);
      kernels_->add_scaled(a, layout_.embedding.data() + x.index[i] * e, e, v);
    }
    return all_bounded(v, e);
  };
  if (layout_.hidden() == 0) return pool(h);
  return with_floats(e, [&](float* v) { return pool(v) && hidden(v, h); });
}

bool StateEncoder::context(const uint32_t* words, float* h) const {
  if (table_.exists()) {
    const int16_t* rows[kMostPositions];
    kernels_->hidden(hidden_sum(words, rows), h);
    return true;
  }
  const size_t e = layout_.width;
  const auto concatenate = [&](float* v) {
    for (size_t i = 0; i < layout_.positions; ++i)
      std::copy_n(layout_.embedding.data() + words[i] * e, e, v + i * e);
    return all_bounded(v, layout_.pooled());
  };
  if (layout_.hidden() == 0) return concatenate(h);
  return with_floats(layout_.pooled(), [&](float* v) { return concatenate(v) && hidden(v, h); });
}

bool StateEncoder::precompute(unsigned threads) {
  return table_.exists() || HiddenTable::bytes(layout_) == 0 || table_.build(layout_, *kernels_, threads);
}

HiddenSum StateEncoder::hidden_sum(const uint32_t* words, const int16_t** rows) const {
  for (uint32_t i = 0; i < layout_.positions; ++i) rows[i] = table_.row(words[i], i);
  return {rows, layout_.positions, table_.scale(), layout_.hidden_bias.data(), layout_.hidden()};
}

}  // namespace selfnorm::runtime
