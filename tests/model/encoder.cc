#include "model/encoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

Encoder random_encoder(EncoderKind kind, uint32_t hidden) {
  Encoder out;
  out.kind = kind;
  out.inputs = 7;
  out.width = 3;
  out.positions = kind == EncoderKind::Context ? 4 : 1;
  out.embedding = random_vector<float>(size_t{out.inputs} * out.width, 1);
  out.hidden_weight = random_vector<float>(size_t{hidden} * out.pooled(), 2);
  out.hidden_bias = random_vector<float>(hidden, 3);
  return out;
}

// 150 rows, more than one unit of parallel work; bags of 0 to 4 ids, some of them twice.
TokenRows random_rows(const Encoder& encoder) {
  RandomStream random(4);
  TokenRows rows;
  for (uint64_t i = 0; i < 150; ++i) {
    const uint64_t size = encoder.kind == EncoderKind::Context ? encoder.positions : random.below(5);
    for (uint64_t j = 0; j < size; ++j) {
      rows.id.push_back(static_cast<uint32_t>(random.below(encoder.inputs)));
      if (encoder.kind == EncoderKind::Bag) rows.value.push_back(j % 2 == 0 ? 0.25f : -0.25f);
    }
    rows.begin.push_back(rows.id.size());
  }
  return rows;
}

// The formulas of encoder.h in double precision.
std::vector<double> state_oracle(const Encoder& encoder, const TokenRows& rows, uint64_t i) {
  const size_t e = encoder.width, p = encoder.pooled();
  std::vector<double> v(p), h;
  for (uint64_t j = rows.begin[i]; j < rows.begin[i + 1]; ++j) {
    const bool is_bag = encoder.kind == EncoderKind::Bag;
    const size_t part = is_bag ? 0 : (j - rows.begin[i]) * e;
    for (size_t a = 0; a < e; ++a)
      v[part + a] += (is_bag ? double{rows.value[j]} : 1) * double{encoder.embedding[rows.id[j] * e + a]};
  }
  if (encoder.hidden() == 0) return v;
  for (size_t k = 0; k < encoder.hidden(); ++k) {
    double s = double{encoder.hidden_bias[k]};
    for (size_t a = 0; a < p; ++a) s += double{encoder.hidden_weight[k * p + a]} * v[a];
    h.push_back(std::max(0.0, s));
  }
  return h;
}

TEST(Encoder, StatesAreTheFormulas) {
  for (const EncoderKind kind : {EncoderKind::Bag, EncoderKind::Context}) {
    for (const uint32_t hidden : {0u, 5u}) {
      const Encoder encoder = random_encoder(kind, hidden);
      const TokenRows rows = random_rows(encoder);
      const Features h = encode(encoder, rows);
      ASSERT_FALSE(h.is_sparse);
      ASSERT_EQ(h.rows(), rows.rows());
      ASSERT_EQ(h.columns(), encoder.states());
      for (uint64_t i = 0; i < rows.rows(); ++i) {
        const std::vector<double> expected = state_oracle(encoder, rows, i);
        for (size_t a = 0; a < expected.size(); ++a)
          EXPECT_NEAR(double{h.dense.row(i)[a]}, expected[a], 1e-5) << "row " << i;
      }
    }
  }
}

TEST(Encoder, PoolOfARangeIsThePartOfTheWhole) {
  const Encoder encoder = random_encoder(EncoderKind::Bag, 0);
  const TokenRows rows = random_rows(encoder);
  const Features whole = encode(encoder, rows);
  std::vector<float> part(4 * encoder.pooled(), 9);
  pool(encoder, rows, {10, 14}, part.data());
  for (size_t a = 0; a < part.size(); ++a) EXPECT_EQ(part[a], whole.dense.values[10 * encoder.pooled() + a]);
}

TEST(Encoder, AnEmptyBagIsZeroAndMeetsTheHiddenBias) {
  Encoder encoder = random_encoder(EncoderKind::Bag, 2);
  encoder.hidden_bias = {0.5f, -0.5f};
  TokenRows rows;
  rows.begin.push_back(0);
  EXPECT_EQ(encode(encoder, rows).dense.values, (std::vector<float>{0.5f, 0.0f}));
  encoder.hidden_bias.clear();
  encoder.hidden_weight.clear();
  EXPECT_EQ(encode(encoder, rows).dense.values, (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(encode(encoder, TokenRows{}).rows(), 0u);
}

TEST(Encoder, BagsAreDividedByTheirMagnitude) {
  const SparseMatrix x{
      .columns = 5, .begin = {0, 2, 2, 3, 5}, .column = {1, 4, 2, 0, 3}, .value = {3, -1, 0, 3e38f, 3e38f}};
  TokenRows rows;
  for (uint64_t i = 0; i < x.rows(); ++i) append_bag(x, i, rows);
  EXPECT_EQ(rows.begin, (std::vector<uint64_t>{0, 2, 2, 2, 4}));  // no features and a value of 0: empty
  EXPECT_EQ(rows.id, (std::vector<uint32_t>{1, 4, 0, 3}));
  EXPECT_EQ(rows.value, (std::vector<float>{0.75f, -0.25f, 0.5f, 0.5f}));
  rows.clear();
  EXPECT_EQ(rows.rows(), 0u);
  EXPECT_TRUE(rows.id.empty() && rows.value.empty());
}

TEST(Encoder, SparseFeaturesAreBags) {
  const Encoder encoder = random_encoder(EncoderKind::Bag, 3);
  const Dataset data =
      random_dataset({.rows = 90, .features = encoder.inputs, .classes = 2, .sparse = true}, 5);
  TokenRows rows;
  for (uint64_t i = 0; i < data.examples(); ++i) append_bag(data.features.sparse, i, rows);
  EXPECT_EQ(encode(encoder, data.features).dense.values, encode(encoder, rows).dense.values);
  const Dataset wide = random_dataset({.rows = 2, .features = 8, .classes = 2, .sparse = true}, 5);
  EXPECT_ANY_THROW(encode(encoder, wide.features));
}

}  // namespace
}  // namespace selfnorm
