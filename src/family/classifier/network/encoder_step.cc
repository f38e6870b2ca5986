#include "family/classifier/network/encoder_step.h"

#include <algorithm>

#include "math/gemm.h"
#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "math/random.h"

namespace selfnorm {
namespace {

constexpr uint64_t kLayerDropoutStream = 0x64726f7000000000;  // "drop"
constexpr size_t kEncoderRowsAtOnce = 64;
constexpr size_t kUnitsAtOnce = 32;

}  // namespace

EncoderStep::EncoderStep(const TrainOptions& options, Encoder& encoder)
    : encoder_(encoder),
      dropout_(options.encoder.dropout),
      seed_(options.seed),
      batch_(options.batch),
      embedding_(encoder.embedding, encoder.width, options.l2),
      used_(encoder.inputs) {
  if (encoder.hidden() == 0) return;
  hidden_.emplace_back(encoder.hidden_weight, encoder.pooled(), options.l2);
  hidden_.emplace_back(encoder.hidden_bias, 1, 0);
}

void EncoderStep::begin(const TokenRows& rows, uint64_t step) {
  rows_ = &rows;
  step_ = step;
  const size_t n = rows.rows();
  state_.is_sparse = false;
  state_.dense.rows = n;
  state_.dense.columns = encoder_.states();
  state_.dense.values.resize(n * encoder_.states());
  pooled_.resize(n * encoder_.pooled());
  d_pooled_.resize(pooled_.size());
  d_hidden_.resize(n * encoder_.hidden());
}

// Layer 0 is v, layer 1 the hidden units.
void EncoderStep::drop(uint64_t example, uint64_t layer, std::span<float> values) const {
  if (!(dropout_ > 0)) return;
  RandomStream random(seed_, kLayerDropoutStream + (step_ * batch_ + example) * 2 + layer);
  const auto kept = static_cast<float>(1 / (1 - dropout_));
  for (float& v : values) v = random.uniform() < dropout_ ? 0.0f : v * kept;
}

void EncoderStep::forward(Range examples) {
  const size_t p = encoder_.pooled(), m = encoder_.states();
  float* pooled = pooled_.data() + examples.begin * p;
  float* state = state_.dense.values.data() + examples.begin * m;
  pool(encoder_, *rows_, examples, pooled);
  for (uint64_t i = examples.begin; i < examples.end; ++i) drop(i, 0, {pooled_.data() + i * p, p});
  hidden_states(encoder_, examples.size(), pooled, state);
  if (encoder_.hidden() == 0) return;
  for (uint64_t i = examples.begin; i < examples.end; ++i)
    drop(i, 1, {state_.dense.values.data() + i * m, m});
}

void EncoderStep::backward(Range examples, float* d_state) {
  const size_t p = encoder_.pooled(), m = encoder_.states(), n = examples.size();
  float* d_pooled = d_pooled_.data() + examples.begin * p;
  if (encoder_.hidden() == 0) {
    std::copy_n(d_state, n * p, d_pooled);
  } else {
    const float* h = state_.dense.values.data() + examples.begin * m;
    float* d = d_hidden_.data() + examples.begin * m;
    for (size_t i = 0; i < n * m; ++i) d[i] = h[i] > 0 ? d_state[i] : 0.0f;
    for (uint64_t i = examples.begin; i < examples.end; ++i) drop(i, 1, {d_hidden_.data() + i * m, m});
    gemm(n, p, m, d, m, encoder_.hidden_weight.data(), p, 0.0f, d_pooled, p);
  }
  for (uint64_t i = examples.begin; i < examples.end; ++i) drop(i, 0, {d_pooled_.data() + i * p, p});
}

std::vector<ExampleArray> EncoderStep::written_forward() {
  return {ExampleArray::of(pooled_, encoder_.pooled()),
          ExampleArray::of(state_.dense.values, encoder_.states())};
}

std::vector<ExampleArray> EncoderStep::written_backward() {
  return {ExampleArray::of(d_pooled_, encoder_.pooled()), ExampleArray::of(d_hidden_, encoder_.hidden())};
}

void EncoderStep::update(double rate) {
  const size_t p = encoder_.pooled(), m = encoder_.hidden(), n = rows_->rows(), e = encoder_.width;
  for (TrainedRows& rows : hidden_) rows.begin_step(rate);
  if (m > 0) {
    hidden_gradient_.assign(m * p, 0);
    shared_ranges(
        m, kUnitsAtOnce,
        [&](size_t begin, size_t end) {
          gemm_transposed(end - begin, p, n, d_hidden_.data() + begin, m, pooled_.data(), p,
                          hidden_gradient_.data() + begin * p, p);
        },
        owned(hidden_gradient_, p));
    parallel_ranges(m, kUnitsAtOnce, [&](size_t begin, size_t end) {
      for (size_t j = begin; j < end; ++j) hidden_[0].update(j, hidden_gradient_.data() + j * p);
    });
    std::vector<float> d_bias(m);
    for (size_t i = 0; i < n; ++i) add_scaled(1, d_hidden_.data() + i * m, d_bias.data(), m);
    for (size_t j = 0; j < m; ++j) hidden_[1].update(j, &d_bias[j]);
  }

  embedding_.begin_step(rate);
  used_.group(rows_->id);
  example_.resize(rows_->id.size());
  for (uint32_t i = 0; i < n; ++i)
    std::fill(example_.begin() + static_cast<std::ptrdiff_t>(rows_->begin[i]),
              example_.begin() + static_cast<std::ptrdiff_t>(rows_->begin[i + 1]), i);
  const bool is_bag = encoder_.kind == EncoderKind::Bag;
  parallel_ranges(used_.size(), kEncoderRowsAtOnce, [&](size_t begin, size_t end) {
    std::vector<float> gradient(e);
    for (size_t slot = begin; slot < end; ++slot) {
      std::fill(gradient.begin(), gradient.end(), 0.0f);
      for (const uint32_t token : used_.positions(slot)) {
        const uint32_t i = example_[token];
        const size_t part = is_bag ? 0 : (token - rows_->begin[i]) * e;
        add_scaled(is_bag ? rows_->value[token] : 1.0f, d_pooled_.data() + i * p + part, gradient.data(), e);
      }
      embedding_.update(used_.row(slot), gradient.data());
    }
  });
}

void EncoderStep::settle() {
  embedding_.settle();
  for (TrainedRows& rows : hidden_) rows.settle();
}

void EncoderStep::state(CheckpointFields& fields) {
  embedding_.state("embedding", fields);
  for (size_t i = 0; i < hidden_.size(); ++i)
    hidden_[i].state(i == 0 ? "hidden_weight" : "hidden_bias", fields);
}

}  // namespace selfnorm
