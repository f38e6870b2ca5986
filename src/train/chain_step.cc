#include "selfnorm/train/chain_step.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/math/parallel.h"
#include "selfnorm/math/vector.h"
#include "selfnorm/normalizer/chain/chain_pass.h"
#include "selfnorm/objective/registry.h"
#include "selfnorm/train/chain_batch.h"

namespace selfnorm {
namespace {

constexpr size_t kBlocksAtOnce = 64;
// Of AdaGrad's default for rows: a position shares its steps with the others of its sentence.
constexpr double kPositionRate = 0.5;

class ChainStep final : public MinibatchStep<float> {
 public:
  ChainStep(const Sequences& train, const ChainShape& shape, const TrainOptions& options, uint64_t batch)
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
    for (const ChainBlock& block : blocks_)
      std::copy_n(theta.data() + block.global, block.size, local_.data() + block.local);
    gradient_.assign(local_.size(), 0);
    const auto count = static_cast<double>(sentences.size());
    return value_and_gradient<float>(
        *make_chain_pass<float>(batch_.data, batch_.shape), *objective_,
        {.normalised = objective_->normalised(sentences.size()), .gradient_scale = 1 / count}, local_,
        gradient_);
  }

  double gradient_norm() const override {
    const std::span<const float> gradient(gradient_);
    return std::sqrt(inner_product(gradient, gradient));
  }

  // L2 is added on touched rows only, divided by the probability of being touched: its expectation is the
  // full gradient.
  void update(std::span<float> theta, Adaptive<float>& optimiser, double rate) override {
    parallel_ranges(blocks_.size(), kBlocksAtOnce, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const ChainBlock& block = blocks_[i];
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
  const char* remedy() const override { return "a smaller --learning-rate or a larger --alpha"; }

 private:
  double touch(size_t place) const {
    if (place < shape_.transition()) return unigram_touch_[place / shape_.labels];
    if (place < shape_.pair()) return 1;
    return bigram_touch_[(place - shape_.pair()) / (size_t{shape_.labels} * shape_.labels)];
  }

  const TrainOptions& options_;
  ChainShape shape_;
  std::unique_ptr<Objective> objective_;
  ChainBatchMaker maker_;
  std::vector<double> unigram_touch_, bigram_touch_;
  ChainBatch batch_;
  std::vector<ChainBlock> blocks_;
  std::vector<float> local_, gradient_;
};

}  // namespace

std::unique_ptr<MinibatchStep<float>> make_chain_step(const Sequences& train, const ChainShape& shape,
                                                      const TrainOptions& options, uint64_t batch) {
  return std::make_unique<ChainStep>(train, shape, options, batch);
}

}  // namespace selfnorm
