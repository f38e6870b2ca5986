// The loss is sum_i c_i . h_i, so the derivative with respect to the states is c.
#include "family/classifier/network/encoder_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "random_data.h"

namespace selfnorm {
namespace {

constexpr uint32_t kInputs = 9, kEncoderWidth = 3, kEncoderExamples = 8;
constexpr double kEncoderScale = 0.01;  // of c: gradients of the size of AdaGrad's G0

struct Shape {
  EncoderKind kind = EncoderKind::Bag;
  uint32_t hidden = 0;
  double dropout = 0;
  double l2 = 0;
};

class Encoding {
 public:
  explicit Encoding(const Shape& shape) {
    options_.encoder.dropout = shape.dropout;
    options_.l2 = shape.l2;
    options_.seed = 5;
    encoder_.kind = shape.kind;
    encoder_.inputs = kInputs;
    encoder_.width = kEncoderWidth;
    encoder_.positions = shape.kind == EncoderKind::Context ? 2 : 1;
    encoder_.embedding = random_vector<float>(kInputs * kEncoderWidth, 1);
    encoder_.hidden_weight = random_vector<float>(size_t{shape.hidden} * encoder_.pooled(), 2);
    encoder_.hidden_bias = random_vector<float>(shape.hidden, 3);
    // Ids below kInputs - 1, in several examples and twice in one; the last of them an empty bag.
    for (uint32_t i = 0; i < kEncoderExamples; ++i) {
      const bool is_bag = shape.kind == EncoderKind::Bag;
      for (uint32_t j = 0; j < (is_bag ? (i + 1 == kEncoderExamples ? 0 : i % 3 + 1) : encoder_.positions);
           ++j) {
        rows_.id.push_back((i * 3 + j * (i % 2)) % (kInputs - 1));
        if (is_bag) rows_.value.push_back(j % 2 == 0 ? 0.5f : -0.25f);
      }
      rows_.begin.push_back(rows_.id.size());
    }
    c_ = random_vector<float>(size_t{kEncoderExamples} * encoder_.states(), 4, kEncoderScale);
    step_ = std::make_unique<EncoderStep>(options_, encoder_);
  }
  Encoding(const Encoding&) = delete;
  Encoding& operator=(const Encoding&) = delete;

  double loss(uint64_t step = 0) {
    step_->begin(rows_, step);
    step_->forward({3, kEncoderExamples});  // in any order
    step_->forward({0, 3});
    double sum = 0;
    for (size_t j = 0; j < c_.size(); ++j) sum += double{c_[j]} * double{step_->states().dense.values[j]};
    return sum;
  }
  void update(double rate, uint64_t step = 0) {
    loss(step);
    std::vector<float> d_state = c_;
    step_->backward({3, kEncoderExamples}, d_state.data() + 3 * encoder_.states());
    step_->backward({0, 3}, d_state.data());
    step_->update(rate);
  }
  // Central differences; the loss is piecewise linear in one parameter, so a step of 1e-3 is exact but for
  // rounding and kinks.
  double difference(float& x) {
    const float at = x;
    x = at + 1e-3f;
    const double above = loss(), high = double{x};
    x = at - 1e-3f;
    const double below = loss(), low = double{x};
    x = at;
    return (above - below) / (high - low);
  }
  std::vector<double> differences(std::vector<float>& values) {
    std::vector<double> out;
    for (float& v : values) out.push_back(difference(v));
    return out;
  }

  TrainOptions options_;
  Encoder encoder_;
  TokenRows rows_;
  std::vector<float> c_;
  std::unique_ptr<EncoderStep> step_;
};

// A first step of AdaGrad with rate 1 moves a row by delta = -g / sqrt(G0 + |g|^2 / n).
void expect_step(std::span<const float> before, std::span<const float> after, std::span<const double> g) {
  double square = 0;
  for (const double v : g) square += v * v;
  const double root = std::sqrt(TrainedRows::kInitialSquare + square / static_cast<double>(g.size()));
  for (size_t j = 0; j < g.size(); ++j)
    EXPECT_NEAR(double{after[j]} - double{before[j]}, -g[j] / root, 2e-3) << "column " << j;
}

std::vector<Shape> all_shapes() {
  std::vector<Shape> out;
  for (const EncoderKind kind : {EncoderKind::Bag, EncoderKind::Context})
    for (const uint32_t hidden : {0u, 5u})
      for (const double dropout : {0.0, 0.4}) out.push_back({kind, hidden, dropout});
  return out;
}

TEST(EncoderStep, GradientsOfAllParameters) {
  for (const Shape& shape : all_shapes()) {
    Encoding x(shape);
    Encoder& encoder = x.encoder_;
    const std::vector<double> d_embedding = x.differences(encoder.embedding),
                              d_weight = x.differences(encoder.hidden_weight),
                              d_bias = x.differences(encoder.hidden_bias);
    const Encoder before = encoder;
    x.update(1);
    for (uint32_t r = 0; r < kInputs; ++r) {
      expect_step(std::span(before.embedding).subspan(r * kEncoderWidth, kEncoderWidth),
                  std::span(encoder.embedding).subspan(r * kEncoderWidth, kEncoderWidth),
                  std::span(d_embedding).subspan(r * kEncoderWidth, kEncoderWidth));
    }
    const size_t p = encoder.pooled();
    for (uint32_t k = 0; k < encoder.hidden(); ++k) {
      expect_step(std::span(before.hidden_weight).subspan(k * p, p),
                  std::span(encoder.hidden_weight).subspan(k * p, p), std::span(d_weight).subspan(k * p, p));
      expect_step(std::span(before.hidden_bias).subspan(k, 1), std::span(encoder.hidden_bias).subspan(k, 1),
                  std::span(d_bias).subspan(k, 1));
    }
  }
}

TEST(EncoderStep, StatesAreThoseOfTheEncoderWithoutDropout) {
  for (const Shape& shape : all_shapes()) {
    if (shape.dropout > 0) continue;
    Encoding x(shape);
    x.loss();
    EXPECT_EQ(x.step_->states().dense.values, encode(x.encoder_, x.rows_).dense.values);
  }
}

TEST(EncoderStep, MovesTheRowsItUsedAlone) {
  for (const EncoderKind kind : {EncoderKind::Bag, EncoderKind::Context}) {
    Encoding x({.kind = kind, .l2 = 0.1});
    const Encoder before = x.encoder_;
    x.update(0.1);
    const std::set<uint32_t> used(x.rows_.id.begin(), x.rows_.id.end());
    for (uint32_t r = 0; r < kInputs; ++r) {
      const bool stayed = std::equal(before.embedding.begin() + r * kEncoderWidth,
                                     before.embedding.begin() + (r + 1) * kEncoderWidth,
                                     x.encoder_.embedding.begin() + r * kEncoderWidth);
      EXPECT_EQ(stayed, !used.contains(r)) << r;
    }
    x.step_->settle();  // decay reaches the others, by 1 - rate * l2
    const size_t last = (kInputs - 1) * kEncoderWidth;
    EXPECT_NEAR(double{x.encoder_.embedding[last]}, 0.99 * double{before.embedding[last]}, 1e-6);
  }
}

// An input is left out with probability 0.4, all others are divided by 0.6: the mean over 4000 steps is the
// state without dropout, and each mean has the standard error sqrt(0.4 / 0.6 / 4000) |h|, of which five.
TEST(EncoderStep, DropoutKeepsTheExpectation) {
  Encoding plain({}), dropped({.dropout = 0.4});
  plain.loss();
  const std::vector<float>& h = plain.step_->states().dense.values;
  std::vector<double> sum(h.size());
  uint64_t zeros = 0, there = 0;
  for (uint64_t step = 0; step < 4000; ++step) {
    dropped.loss(step);
    const std::vector<float>& state = dropped.step_->states().dense.values;
    for (size_t j = 0; j < h.size(); ++j) {
      sum[j] += double{state[j]};
      if (h[j] == 0) continue;
      ++there;
      zeros += state[j] == 0;
      ASSERT_NEAR(double{state[j]}, state[j] == 0 ? 0 : double{h[j]} / 0.6, 1e-5);
    }
  }
  for (size_t j = 0; j < h.size(); ++j)
    EXPECT_NEAR(sum[j] / 4000, double{h[j]}, 5 * std::sqrt(0.4 / 0.6 / 4000) * std::abs(double{h[j]}));
  const double share = static_cast<double>(zeros) / static_cast<double>(there);
  EXPECT_NEAR(share, 0.4, 5 * std::sqrt(0.24 / static_cast<double>(there)));
}

TEST(EncoderStep, DropoutIsThatOfItsStep) {
  for (const uint32_t hidden : {0u, 5u}) {
    Encoding x({.hidden = hidden, .dropout = 0.4});
    x.loss(7);
    const std::vector<float> first = x.step_->states().dense.values;
    x.loss(8);
    EXPECT_NE(x.step_->states().dense.values, first);
    x.loss(7);
    EXPECT_EQ(x.step_->states().dense.values, first);
    x.options_.seed = 6;
    x.step_ = std::make_unique<EncoderStep>(x.options_, x.encoder_);
    x.loss(7);
    EXPECT_NE(x.step_->states().dense.values, first);
  }
}

// What is 0 by itself was not left out.
TEST(EncoderStep, AnEmbeddingOfZeroLearnsInSpiteOfDropout) {
  Encoding x({.dropout = 0.4});
  std::fill(x.encoder_.embedding.begin(), x.encoder_.embedding.end(), 0.0f);
  x.update(0.1);
  const auto still = std::count(x.encoder_.embedding.begin(), x.encoder_.embedding.end(), 0.0f);
  EXPECT_LT(still, static_cast<std::ptrdiff_t>(x.encoder_.embedding.size() / 2));
}

TEST(EncoderStep, ARestoredStepContinuesWithTheSameBits) {
  for (const EncoderKind kind : {EncoderKind::Bag, EncoderKind::Context}) {
    const Shape shape{kind, 5, 0.3, 0.1};
    Encoding whole(shape), rest(shape);
    whole.update(0.1, 0);
    Checkpoint checkpoint;
    CheckpointFields written(checkpoint);
    whole.step_->state(written);
    CheckpointFields read(std::as_const(checkpoint));
    rest.step_->state(read);
    whole.update(0.1, 1);
    rest.update(0.1, 1);
    whole.step_->settle();
    rest.step_->settle();
    EXPECT_TRUE(whole.encoder_ == rest.encoder_);
  }
}

}  // namespace
}  // namespace selfnorm
