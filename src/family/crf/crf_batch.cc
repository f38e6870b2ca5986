#include "family/crf/crf_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/parallel.h"
#include "math/vector.h"
#include "normalizer/crf/crf_pass.h"
#include "objective/registry.h"

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

constexpr size_t kBlocksAtOnce = 64;
// Of AdaGrad's default for rows: a position shares its steps with the others of its sentence.
constexpr double kPositionRate = 0.5;

class CrfStep final : public MinibatchStep<float> {
 public:
  CrfStep(const Sequences& train, const CrfShape& shape, const TrainOptions& options, uint64_t batch)
      : options_(options),
        shape_(shape),
        objective_(make_objective(options.objective)),
        maker_(train, shape),
        unigram_touch_(touch_probability(train, train.unigram, shape.unigrams, batch)),
        bigram_touch_(touch_probability(train, train.bigram, shape.bigrams, batch)) {}

  LossSum gradient(std::span<const uint64_t> sentences, uint64_t /*step*/,
                   std::span<const float> theta) override {
    batch_ = maker_.make(sentences);
    blocks_ = maker_.blocks(batch_);
    local_.resize(batch_.shape.size());
    for (const CrfBlock& block : blocks_)
      std::copy_n(theta.data() + block.global, block.size, local_.data() + block.local);
    gradient_.assign(local_.size(), 0);
    const auto count = static_cast<double>(sentences.size());
    return value_and_gradient<float>(
        *make_crf_pass<float>(batch_.data, batch_.shape), *objective_,
        {.normalised = objective_->normalised(sentences.size()), .gradient_scale = 1 / count}, local_,
        gradient_);
  }

  double gradient_norm() const override {
    const std::span<const float> gradient(gradient_);
    return std::sqrt(inner_product(gradient, gradient));
  }

  // L2 is added on touched rows only, divided by their probability: on average the full gradient.
  void update(std::span<float> theta, Adaptive<float>& optimiser, double rate) override {
    parallel_ranges(blocks_.size(), kBlocksAtOnce, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const CrfBlock& block = blocks_[i];
        const std::span<float> gradient = std::span(gradient_).subspan(block.local, block.size);
        const bool penalised = block.global < shape_.bias();
        const double often = penalised ? touch(block.global) : 1;
        if (penalised && options_.l2 > 0)
          add_scaled(static_cast<float>(options_.l2 / often), theta.data() + block.global, gradient.data(),
                     block.size);
        optimiser.update(theta, block.global, gradient, rate, penalised ? options_.l1 / often : 0);
      }
    });
  }

  Subtracted subtracted(std::span<const float> /*theta*/) const override { return {}; }

  double rate_factor() const override { return kPositionRate * rate_of_objective(*objective_); }
  bool is_lazy() const override { return true; }
  const char* remedy() const override { return "a smaller `learning-rate` or a larger `alpha`"; }

 private:
  double touch(size_t place) const {
    if (place < shape_.transition()) return unigram_touch_[place / shape_.labels];
    if (place < shape_.pair()) return 1;
    return bigram_touch_[(place - shape_.pair()) / (size_t{shape_.labels} * shape_.labels)];
  }

  const TrainOptions& options_;
  CrfShape shape_;
  std::unique_ptr<Objective> objective_;
  CrfBatchMaker maker_;
  std::vector<double> unigram_touch_, bigram_touch_;
  CrfBatch batch_;
  std::vector<CrfBlock> blocks_;
  std::vector<float> local_, gradient_;
};

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

CrfBatchMaker::CrfBatchMaker(const Sequences& data, const CrfShape& shape)
    : data_(data),
      shape_(shape),
      local_unigram_(shape.unigrams, kUnusedAttribute),
      local_bigram_(shape.bigrams, kUnusedAttribute) {}

std::vector<uint32_t> CrfBatchMaker::renumber(AttributeRows& rows, std::vector<uint32_t>& local) const {
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

CrfBatch CrfBatchMaker::make(std::span<const uint64_t> sentences) {
  CrfBatch batch;
  batch.data = subset(data_, sentences);
  batch.unigrams = renumber(batch.data.unigram, local_unigram_);
  batch.bigrams = renumber(batch.data.bigram, local_bigram_);
  batch.shape = {shape_.labels, batch.unigrams.size(), batch.bigrams.size(), shape_.has_transitions};
  return batch;
}

std::vector<CrfBlock> CrfBatchMaker::blocks(const CrfBatch& batch) const {
  const CrfShape& local = batch.shape;
  const size_t row = shape_.labels, square = row * row;
  std::vector<CrfBlock> out;
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

std::unique_ptr<MinibatchStep<float>> make_crf_step(const Sequences& train, const CrfShape& shape,
                                                    const TrainOptions& options, uint64_t batch) {
  return std::make_unique<CrfStep>(train, shape, options, batch);
}

}  // namespace selfnorm
