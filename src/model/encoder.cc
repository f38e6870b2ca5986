#include "model/encoder.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "math/gemm.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kRowsAtOnce = 64;

class CorpusStates final : public ExampleSource {
 public:
  CorpusStates(const Encoder& encoder, TokenCorpus corpus) : encoder_(encoder), corpus_(std::move(corpus)) {}

  uint64_t examples() const override { return corpus_.examples(); }
  uint32_t columns() const override { return encoder_.states(); }
  bool has_targets() const override { return true; }

  Dataset gather(std::span<const uint64_t> examples) const override {
    TokenRows rows;
    gather_contexts(corpus_, examples, encoder_.positions, rows);
    Dataset out;
    out.features = encode(encoder_, rows);
    for (const uint64_t i : examples) out.target.push_back(corpus_.target(i));
    return out;
  }

 private:
  const Encoder& encoder_;
  TokenCorpus corpus_;
};

class BagStates final : public ExampleSource {
 public:
  BagStates(const Encoder& encoder, std::unique_ptr<ExampleSource> inputs)
      : encoder_(encoder), inputs_(std::move(inputs)) {}

  uint64_t examples() const override { return inputs_->examples(); }
  uint32_t columns() const override { return encoder_.states(); }
  bool has_targets() const override { return inputs_->has_targets(); }
  uint64_t number(uint64_t example) const override { return inputs_->number(example); }

  Dataset block(uint64_t begin, uint64_t end) const override { return encoded(inputs_->block(begin, end)); }
  Dataset gather(std::span<const uint64_t> examples) const override {
    return encoded(inputs_->gather(examples));
  }

 private:
  Dataset encoded(Dataset data) const {
    data.features = encode(encoder_, data.features);
    return data;
  }

  const Encoder& encoder_;
  std::unique_ptr<ExampleSource> inputs_;
};

}  // namespace

void TokenRows::clear() {
  begin.assign(1, 0);
  id.clear();
  value.clear();
}

void append_bag(const SparseMatrix& x, uint64_t row, TokenRows& out) {
  double sum = 0;
  for (uint64_t j = x.begin[row]; j < x.begin[row + 1]; ++j) sum += std::abs(static_cast<double>(x.value[j]));
  for (uint64_t j = x.begin[row]; sum > 0 && j < x.begin[row + 1]; ++j) {
    out.id.push_back(x.column[j]);
    out.value.push_back(static_cast<float>(static_cast<double>(x.value[j]) / sum));
  }
  out.begin.push_back(out.id.size());
}

void pool(const Encoder& encoder, const TokenRows& rows, Range range, float* out) {
  const size_t e = encoder.width, p = encoder.pooled();
  const float* table = encoder.embedding.data();
  for (uint64_t i = range.begin; i < range.end; ++i, out += p) {
    if (encoder.kind == EncoderKind::Context) {
      for (size_t j = 0; j < encoder.positions; ++j)
        std::copy_n(table + rows.id[rows.begin[i] + j] * e, e, out + j * e);
      continue;
    }
    std::fill_n(out, p, 0.0f);
    const uint64_t begin = rows.begin[i], size = rows.begin[i + 1] - begin;
    add_sparse_product({rows.id.data() + begin, rows.value.data() + begin, size}, table, e, nullptr, out, e);
  }
}

void hidden_states(const Encoder& encoder, uint64_t rows, const float* pooled, float* out) {
  const size_t m = encoder.hidden(), p = encoder.pooled();
  if (m == 0) {
    std::copy_n(pooled, rows * p, out);
    return;
  }
  for (uint64_t i = 0; i < rows; ++i) std::copy_n(encoder.hidden_bias.data(), m, out + i * m);
  gemm_by_rows(rows, m, p, pooled, p, encoder.hidden_weight.data(), p, out, m);
  for (size_t i = 0; i < rows * m; ++i) out[i] = std::max(0.0f, out[i]);
}

Features encode(const Encoder& encoder, const TokenRows& rows) {
  const size_t p = encoder.pooled(), m = encoder.states();
  Features out;
  out.is_sparse = false;
  out.dense = {rows.rows(), encoder.states(), std::vector<float>(rows.rows() * m)};
  parallel_ranges(rows.rows(), kRowsAtOnce, [&](size_t begin, size_t end) {
    std::vector<float> pooled((end - begin) * p);
    pool(encoder, rows, {begin, end}, pooled.data());
    hidden_states(encoder, end - begin, pooled.data(), out.dense.values.data() + begin * m);
  });
  return out;
}

Features encode(const Encoder& encoder, const Features& x) {
  SELFNORM_CHECK(x.is_sparse && x.columns() <= encoder.inputs);
  TokenRows rows;
  for (uint64_t i = 0; i < x.rows(); ++i) append_bag(x.sparse, i, rows);
  return encode(encoder, rows);
}

void gather_contexts(const TokenCorpus& corpus, std::span<const uint64_t> examples, uint32_t positions,
                     TokenRows& out) {
  out.clear();
  out.id.resize(examples.size() * positions);
  for (size_t i = 0; i < examples.size(); ++i) {
    corpus.context(examples[i], std::span(out.id).subspan(i * positions, positions));
    out.begin.push_back((i + 1) * positions);
  }
}

std::unique_ptr<ExampleSource> corpus_states(const Encoder& encoder, TokenCorpus corpus) {
  SELFNORM_CHECK(encoder.kind == EncoderKind::Context && encoder.inputs == corpus.vocabulary() + 1);
  return std::make_unique<CorpusStates>(encoder, std::move(corpus));
}

std::unique_ptr<ExampleSource> bag_states(const Encoder& encoder, std::unique_ptr<ExampleSource> inputs) {
  SELFNORM_CHECK(encoder.kind == EncoderKind::Bag);
  if (inputs->is_joint()) throw Error("the data has qid: groups, but the model is a multiclass classifier");
  return std::make_unique<BagStates>(encoder, std::move(inputs));
}

}  // namespace selfnorm
