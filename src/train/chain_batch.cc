#include "selfnorm/train/chain_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace selfnorm {
namespace {

constexpr uint32_t kUnusedAttribute = std::numeric_limits<uint32_t>::max();

void append_rows(const AttributeRows& from, uint64_t begin, uint64_t end, AttributeRows& to) {
  const auto first = static_cast<ptrdiff_t>(from.begin[begin]),
             last = static_cast<ptrdiff_t>(from.begin[end]);
  const uint64_t base = to.attribute.size() - from.begin[begin];  // modulo 2^64
  for (uint64_t t = begin; t < end; ++t) to.begin.push_back(base + from.begin[t + 1]);
  to.attribute.insert(to.attribute.end(), from.attribute.begin() + first, from.attribute.begin() + last);
  if (!from.value.empty())
    to.value.insert(to.value.end(), from.value.begin() + first, from.value.begin() + last);
}

}  // namespace

Sequences subset(const Sequences& data, std::span<const uint64_t> sentences) {
  Sequences out;
  out.unseen = data.unseen;
  for (const uint64_t i : sentences) {
    const uint64_t begin = data.sentence_begin[i], end = data.sentence_begin[i + 1];
    append_rows(data.unigram, begin, end, out.unigram);
    if (data.bigram.rows() > 0) append_rows(data.bigram, begin, end, out.bigram);
    out.label.insert(out.label.end(), data.label.begin() + static_cast<ptrdiff_t>(begin),
                     data.label.begin() + static_cast<ptrdiff_t>(end));
    out.sentence_begin.push_back(out.label.size());
  }
  return out;
}

ChainBatchMaker::ChainBatchMaker(const Sequences& data, const ChainShape& shape)
    : data_(data),
      shape_(shape),
      local_unigram_(shape.unigrams, kUnusedAttribute),
      local_bigram_(shape.bigrams, kUnusedAttribute) {}

std::vector<uint32_t> ChainBatchMaker::renumber(AttributeRows& rows, std::vector<uint32_t>& local) const {
  std::vector<uint32_t> used;
  for (const uint32_t a : rows.attribute) {
    if (local[a] != kUnusedAttribute) continue;
    local[a] = 0;
    used.push_back(a);
  }
  std::sort(used.begin(), used.end());
  for (uint32_t j = 0; j < used.size(); ++j) local[used[j]] = j;
  for (uint32_t& a : rows.attribute) a = local[a];
  for (const uint32_t a : used) local[a] = kUnusedAttribute;
  return used;
}

ChainBatch ChainBatchMaker::make(std::span<const uint64_t> sentences) {
  ChainBatch batch;
  batch.data = subset(data_, sentences);
  batch.unigrams = renumber(batch.data.unigram, local_unigram_);
  batch.bigrams = renumber(batch.data.bigram, local_bigram_);
  batch.shape = {shape_.labels, batch.unigrams.size(), batch.bigrams.size(), shape_.has_transitions};
  return batch;
}

std::vector<ChainBlock> ChainBatchMaker::blocks(const ChainBatch& batch) const {
  const ChainShape& local = batch.shape;
  const size_t row = shape_.labels, square = row * row;
  std::vector<ChainBlock> out;
  for (size_t j = 0; j < batch.unigrams.size(); ++j) out.push_back({j * row, batch.unigrams[j] * row, row});
  if (shape_.has_transitions) out.push_back({local.transition(), shape_.transition(), square});
  for (size_t j = 0; j < batch.bigrams.size(); ++j)
    out.push_back({local.pair() + j * square, shape_.pair() + batch.bigrams[j] * square, square});
  out.push_back({local.bias(), shape_.bias(), row});
  return out;
}

std::vector<double> touch_probability(const Sequences& data, const AttributeRows& rows, uint64_t attributes,
                                      uint64_t batch) {
  std::vector<double> probability(attributes);
  std::vector<uint64_t> last(attributes, UINT64_MAX);  // sentence that has it
  for (uint64_t i = 0; rows.rows() > 0 && i < data.sentences(); ++i) {
    for (uint64_t t = data.sentence_begin[i]; t < data.sentence_begin[i + 1]; ++t) {
      for (const uint32_t a : rows.attributes(t)) {
        if (last[a] == i) continue;
        last[a] = i;
        probability[a] += 1;
      }
    }
  }
  const auto n = static_cast<double>(data.sentences());
  for (double& p : probability) p = 1 - std::pow(1 - p / n, static_cast<double>(batch));
  return probability;
}

double position_norm(const AttributeRows& unigram) {
  double squares = unigram.value.empty() ? static_cast<double>(unigram.attribute.size()) : 0;
  for (const float v : unigram.value) squares += static_cast<double>(v) * static_cast<double>(v);
  return squares > 0 ? std::sqrt(squares / static_cast<double>(unigram.rows())) : 1;
}

}  // namespace selfnorm
