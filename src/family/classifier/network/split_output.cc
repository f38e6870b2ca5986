// Output layers whose rows are split over processes (model/class_shard.h). Every process has the states of
// all examples, the scores of its own classes, and what they send back to the states:
//     d h_i = sum over blocks of classes of sum_{k in block} d_ik w_k,
// added block by block in the order of the classes. Rows of W never travel.
#include <algorithm>
#include <cmath>

#include "family/classifier/learned_normalizer.h"
#include "family/classifier/network/output_step.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "normalizer/shard_softmax.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr size_t kSplitTile = 128;  // classes of a unit of work

// What blocks of classes send back to the states of these rows: add(b, part) adds to part (rows x m), which
// is 0.
template <class Add>
void return_to_states(const ClassShard& shard, size_t m, std::span<float> d_state, const Add& add) {
  const UnitShare own = shard.own_blocks();
  std::vector<std::vector<float>> parts(own.size());
  parallel_units(own.size(), [&](size_t i) {
    parts[i].resize(d_state.size());
    add(own.begin + i, parts[i].data());
  });
  std::ranges::fill(d_state, 0.0f);
  shard.add_in_order(d_state, 16 * m, [&](size_t b, size_t begin, size_t end) {
    add_scaled(1, parts[b - own.begin].data() + begin, d_state.data() + begin, end - begin);
  });
}

// exact, penalty: the examples as a pass over them, a strip at a time.
class SplitEnumeration final : public CentredOutput {
 public:
  SplitEnumeration(const ClassShard& shard, const TrainOptions& options, ModelFile& model)
      : CentredOutput(options, model, shard),
        shard_(shard),
        model_(model),
        objective_(make_objective(options.objective)) {}

  void begin(const StateBatch& batch) override {
    batch_ = &batch;
    gradient_.assign(model_.weight.size(), 0);
    d_bias_.assign(model_.bias.size(), 0);
  }
  LossSum block(Range, float*) override { throw Bug("a split layer takes all examples at once"); }
  std::vector<ExampleArray> written() override { return {}; }
  bool is_split() const override { return true; }

  LossSum whole(float* d_state) override {
    const Pass pass(*this, d_state);
    const LossSum sum = value_and_gradient<float>(
        pass, *objective_, {.weight = batch_->weight, .centre = centre(), .gradient_scale = batch_->scale},
        {}, {});
    d_centre_ = sum.d_centre * batch_->scale / static_cast<double>(batch_->target.size());
    return sum;
  }

  void update(double rate) override {
    layer_.begin_step(rate);
    parallel_ranges(shard_.own().size(), kSplitTile, [&](size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k)
        layer_.update(k, gradient_.data() + k * layer_.states(), d_bias_[k]);
    });
    centre_.update(std::span(&d_centre_, 1), rate);
  }

 private:
  class Pass final : public ExactPass<float> {
   public:
    Pass(SplitEnumeration& step, float* d_state) : step_(step), d_state_(d_state) {}
    uint64_t examples() const override { return step_.batch_->target.size(); }
    size_t parameters() const override { return 0; }
    size_t gradient_size() const override { return 0; }
    void run(std::span<const float>, uint64_t, const Visit& visit, std::span<float>) const override {
      const size_t m = step_.layer_.states();
      const StateBatch& batch = *step_.batch_;
      const std::span<const float> states = batch.state.dense.values;
      ShardSoftmax<float> softmax = shard_of_head(step_.shard_, step_.model_, states);
      std::vector<ScoreDerivatives> d;
      for (uint64_t first = 0; first < examples(); first += kShardStrip) {
        const Range rows{first, std::min(examples(), first + kShardStrip)};
        const auto target = batch.target.subspan(first, rows.size());
        const std::vector<ShardSum> sums = softmax.run(rows, target);
        d.clear();
        for (uint64_t i = 0; i < rows.size(); ++i)
          d.push_back(visit(first + i, sums[i].target, sums[i].total.value()));
        return_to_states(step_.shard_, m, {d_state_ + first * m, rows.size() * m},
                         [&](size_t b, float* part) {
                           step_.differentiate(b, softmax.differentiate(b, sums, target, d, {0, rows.size()}),
                                               {states.data() + first * m, rows.size() * m}, part);
                         });
      }
    }
    void summarise(std::span<const float>,
                   const std::function<void(uint64_t, const OutputSummary&)>&) const override {}

   private:
    SplitEnumeration& step_;
    float* d_state_;
  };

  // Of the derivatives d of a block (rows x classes): its part of the gradient, and of that of the states.
  void differentiate(size_t b, const float* d, std::span<const float> states, float* part) {
    const size_t m = layer_.states(), rows = states.size() / m;
    const Range own = shard_.own_block(b);
    const size_t width = own.size();
    gemm_transposed(width, m, rows, d, width, states.data(), m, gradient_.data() + own.begin * m, m);
    for (size_t i = 0; i < rows; ++i) add_scaled(1, d + i * width, d_bias_.data() + own.begin, width);
    gemm(rows, m, width, d, width, layer_.weight(own.begin), m, 0.0f, part, m);
  }

  const ClassShard& shard_;
  ModelFile& model_;
  std::unique_ptr<Objective> objective_;

  // Of the current step.
  const StateBatch* batch_ = nullptr;
  std::vector<float> gradient_, d_bias_;  // of the own classes
  double d_centre_ = 0;
};

// Noise that a minibatch shares: every process scores the draws that are its own, and has the scores of all.
class SplitCandidates final : public NoiseOutput {
 public:
  SplitCandidates(const ClassShard& shard, const TrainOptions& options, ModelFile& model,
                  std::span<const uint64_t> counts)
      : NoiseOutput(options, model, counts, shard), shard_(shard), used_(shard.own().size()) {}

  // The draws of a block of classes stand together, in the order in which they were drawn.
  void begin(const StateBatch& batch) override {
    batch_ = &batch;
    noise_.draw(batch.step, batch.target);
    const auto classes = noise_.classes();
    begin_.assign(shard_.blocks() + 1, 0);
    for (const uint32_t k : classes) ++begin_[shard_.block_of(k) + 1];
    for (size_t b = 0; b < shard_.blocks(); ++b) begin_[b + 1] += begin_[b];
    std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
    place_.resize(classes.size());
    sorted_.resize(classes.size());
    for (size_t j = 0; j < classes.size(); ++j) {
      place_[j] = next[shard_.block_of(classes[j])]++;
      sorted_[place_[j]] = classes[j];
    }
    b_ = normalizer_.values(batch.state, nullptr);
  }
  LossSum block(Range, float*) override { throw Bug("a split layer takes all examples at once"); }
  std::vector<ExampleArray> written() override { return {}; }
  bool is_split() const override { return true; }

  LossSum whole(float* d_state) override {
    const size_t m = layer_.states(), n = batch_->target.size();
    const float* states = batch_->state.dense.values.data();
    const UnitShare own = shard_.own_blocks();
    scores_.resize(n * sorted_.size());
    rows_.resize((begin_[own.end] - begin_[own.begin]) * m);
    const auto score_own = [&] {
      parallel_units(own.size(), [&](size_t i) { score(own.begin + i, states); });
    };
    if (Communicator* const all = sharing(shard_.blocks()))
      all->share_work(score_own, {shared_array(*all, shard_.blocks(), scores_.data(),
                                               [&](size_t b) { return n * begin_[b]; })});
    else
      score_own();
    std::vector<double> target_score(n);
    shard_.add_in_order(std::span(target_score), kShardRows, [&](size_t b, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        if (shard_.block_of(batch_->target[i]) == b)
          target_score[i] += layer_.score(local(batch_->target[i]), states + i * m);
    });
    d_target_.assign(n, 0);
    d_normalizer_.assign(n, 0);
    std::vector<LossSum> parts((n + kShardRows - 1) / kShardRows);
    parallel_ranges(n, kShardRows, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) differentiate(i, target_score[i], parts[begin / kShardRows]);
    });
    LossSum sum;
    for (const LossSum& part : parts) sum += part;
    for (size_t first = 0; first < n; first += kShardStrip) {
      const size_t last = std::min<size_t>(n, first + kShardStrip);
      return_to_states(shard_, m, {d_state + first * m, (last - first) * m}, [&](size_t b, float* part) {
        const size_t k = width(b);
        if (k > 0) gemm(last - first, m, k, block_scores(b) + first * k, k, own_rows(b), m, 0.0f, part, m);
        for (size_t i = first; i < last; ++i)
          if (shard_.block_of(batch_->target[i]) == b)
            add_scaled(d_target_[i], layer_.weight(local(batch_->target[i])), part + (i - first) * m, m);
      });
    }
    return sum;
  }

  void update(double rate) override {
    layer_.begin_step(rate);
    const size_t m = layer_.states(), n = batch_->target.size();
    const float* states = batch_->state.dense.values.data();
    const UnitShare own = shard_.own_blocks();
    const size_t draws = begin_[own.end] - begin_[own.begin];
    std::vector<float> offsets(draws);
    parallel_units(own.size(), [&](size_t at) {
      const size_t b = own.begin + at, k = width(b), first = begin_[b] - begin_[own.begin];
      std::fill_n(own_rows(b), k * m, 0.0f);
      if (k > 0) gemm_transposed(k, m, n, block_scores(b), k, states, m, own_rows(b), m);
      for (size_t i = 0; i < n; ++i) add_scaled(1, block_scores(b) + i * k, offsets.data() + first, k);
    });
    list_.clear();
    for (size_t j = begin_[own.begin]; j < begin_[own.end]; ++j)
      list_.push_back(static_cast<uint32_t>(local(sorted_[j])));
    std::vector<uint32_t> example;
    for (uint32_t i = 0; i < n; ++i)
      if (shard_.has(batch_->target[i])) {
        list_.push_back(static_cast<uint32_t>(local(batch_->target[i])));
        example.push_back(i);
      }
    used_.group(list_);
    layer_.update_used(used_, [&](uint32_t p, float* gradient, float& d_bias) {
      const uint32_t i = p < draws ? 0 : example[p - draws];
      add_scaled(p < draws ? 1 : d_target_[i], p < draws ? rows_.data() + p * m : states + i * m, gradient,
                 m);
      d_bias += p < draws ? offsets[p] : d_target_[i];
    });
    normalizer_.update(batch_->state, nullptr, d_normalizer_, rate);
  }

 private:
  size_t local(uint32_t k) const { return k - shard_.own().begin; }
  size_t width(size_t b) const { return begin_[b + 1] - begin_[b]; }
  float* block_scores(size_t b) { return scores_.data() + batch_->target.size() * begin_[b]; }
  float* own_rows(size_t b) {
    return rows_.data() + (begin_[b] - begin_[shard_.own_blocks().begin]) * layer_.states();
  }

  void score(size_t b, const float* states) {
    const size_t m = layer_.states(), n = batch_->target.size(), k = width(b);
    if (k == 0) return;
    float* const out = block_scores(b);
    for (size_t j = 0; j < k; ++j) {
      const size_t row = local(sorted_[begin_[b] + j]);
      std::copy_n(layer_.weight(row), m, own_rows(b) + j * m);
      out[j] = layer_.offset(row);
    }
    for (size_t i = 1; i < n; ++i) std::copy_n(out, k, out + i * k);
    gemm_by_rows(n, k, m, states, m, own_rows(b), m, out, k);
  }

  // The scores of example i become its derivatives.
  void differentiate(uint64_t i, double target_score, LossSum& sum) {
    const NoiseDraw::View view = noise_.view(i);
    const auto at = [&](size_t j) -> float& {
      const size_t b = shard_.block_of(noise_.classes()[j]);
      return block_scores(b)[i * width(b) + place_[j] - begin_[b]];
    };
    std::vector<double> score, d_sample;
    for (size_t j = view.begin; j < view.end; ++j)
      if (j != view.hole) score.push_back(static_cast<double>(at(j)));
    if (view.hole < view.end) at(view.hole) = 0;
    if (score.empty()) return;  // in-batch and alone
    const uint32_t y = batch_->target[i];
    const auto t = example_(noise_, view, {y, target_score, noise_.log_prob(y), b_[i]}, score, d_sample);
    const double w = batch_->weight.empty() ? 1 : static_cast<double>(batch_->weight[i]);
    sum.add(t, w, b_[i]);
    const double factor = w * batch_->scale * t.limit;
    d_target_[i] = static_cast<float>(factor * t.d_score);
    d_normalizer_[i] = w * batch_->scale * t.d_log_normalizer;
    const double* d = d_sample.data();
    for (size_t j = view.begin; j < view.end; ++j)
      if (j != view.hole) at(j) = static_cast<float>(factor * *d++);
  }

  const ClassShard& shard_;
  Occurrences used_;

  // Of the current step.
  const StateBatch* batch_ = nullptr;
  std::vector<uint32_t> sorted_;       // draws by block
  std::vector<size_t> place_, begin_;  // of a draw among them; where a block begins
  std::vector<float> scores_;          // then derivatives: block after block, examples x its draws
  std::vector<float> rows_;            // of the own draws: weights, then gradients
  std::vector<float> d_target_;
  std::vector<double> d_normalizer_, b_;
  std::vector<uint32_t> list_;
};

}  // namespace

std::unique_ptr<OutputStep> make_split_output(const ClassShard& shard, const TrainOptions& options,
                                              ModelFile& model, std::span<const uint64_t> counts) {
  if (objective_entry(options.objective.name).seam == ObjectiveSeam::candidates)
    return std::make_unique<SplitCandidates>(shard, options, model, counts);
  return std::make_unique<SplitEnumeration>(shard, options, model);
}

}  // namespace selfnorm
