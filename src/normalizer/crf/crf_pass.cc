#include "normalizer/crf/crf_pass.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "normalizer/crf/attribute_uses.h"
#include "normalizer/crf/decode.h"
#include "normalizer/shared_visits.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kBlockBudget = 64u << 20;  // bytes of the derivatives of a block
constexpr size_t kPairBudget = 32u << 20;   // bytes of the sums of chunks
constexpr uint64_t kMaxChunks = 64;

struct Block {
  Range sentences, positions;
  AttributeUses unigrams;
  std::optional<AttributeUses> bigrams;
};

// L^T, at most UINT64_MAX.
uint64_t labellings(uint64_t labels, uint64_t length) {
  uint64_t n = 1;
  for (uint64_t t = 0; t < length && labels > 1; ++t) {
    if (n > UINT64_MAX / labels) return UINT64_MAX;
    n *= labels;
  }
  return n;
}

template <class Real>
class CrfPass final : public ExactPass<Real> {
 public:
  CrfPass(const Sequences& data, const CrfShape& shape) : data_(data), shape_(shape) {
    SELFNORM_CHECK(shape.labels > 0 && data.label.size() == data.positions());
    SELFNORM_CHECK(data.unigram.rows() == data.positions());
    SELFNORM_CHECK(!has_own_pairs() || data.bigram.rows() == data.positions());
    for (const uint32_t label : data.label) SELFNORM_CHECK(label < shape.labels);
    granules_ = (examples() + kGranule - 1) / kGranule;
    const size_t cells = size_t{shape.labels} * (shape.labels + 1);
    chunks_ = std::clamp<uint64_t>(kPairBudget / (cells * sizeof(double)), 8, kMaxChunks);
    chunks_ = std::min(chunks_, std::max<uint64_t>(granules_, 1));  // a minibatch is a granule
    cut();
  }

  uint64_t examples() const override { return data_.sentences(); }
  size_t parameters() const override { return shape_.size(); }
  size_t gradient_size() const override { return shape_.size(); }
  void run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
           std::span<Real> gradient) const override;
  void summarise(std::span<const Real> theta,
                 const std::function<void(uint64_t, const OutputSummary&)>& sink) const override;

 private:
  struct Worker;

  bool has_own_pairs() const { return data_.bigram.rows() > 0; }
  size_t labels() const { return shape_.labels; }
  size_t square() const { return labels() * labels(); }
  // v, expected pairs and derivatives at once
  void require_memory_of(Range sentences, Range positions) const {
    uint64_t longest = 0;
    for (uint64_t i = sentences.begin; i < sentences.end; ++i) longest = std::max(longest, data_.length(i));
    const double bytes = static_cast<double>(longest) * (sizeof(Real) + sizeof(double)) +
                         static_cast<double>(positions.size()) * sizeof(Real);
    require_pair_memory(longest, shape_.labels, bytes * static_cast<double>(square()));
  }
  void cut();
  template <class BeginOf>
  void gather_derivatives(const Block& block, const BeginOf& begin_of, std::vector<Real>& d,
                          std::vector<Real>& d_pair) const;

  const Sequences& data_;
  CrfShape shape_;
  uint64_t granules_ = 0, chunks_ = 0;
  std::vector<Block> blocks_;
};

// Blocks of whole granules whose derivatives fit the budget.
template <class Real>
void CrfPass<Real>::cut() {
  const size_t position_bytes = sizeof(Real) * (labels() + (has_own_pairs() ? square() : 0));
  Range sentences{0, 0};
  while (sentences.end < examples()) {
    sentences.end = std::min(examples(), sentences.end + kGranule);
    const uint64_t next = std::min(examples(), sentences.end + kGranule);
    const uint64_t first = data_.sentence_begin[sentences.begin];
    const uint64_t bytes = (data_.sentence_begin[next] - first) * position_bytes;
    if (sentences.end < examples() && bytes <= kBlockBudget) continue;
    const Range positions{first, data_.sentence_begin[sentences.end]};
    if (has_own_pairs()) require_memory_of(sentences, positions);
    blocks_.push_back({sentences, positions, AttributeUses(data_.unigram, positions, shape_.unigrams), {}});
    if (has_own_pairs()) blocks_.back().bigrams.emplace(data_.bigram, positions, shape_.bigrams);
    sentences.begin = sentences.end;
  }
}

// What one chunk of a block needs; `sums` are bias (L), then pairs (L x L).
template <class Real>
struct CrfPass<Real>::Worker {
  const CrfPass& pass;
  const PairFactors<Real>& shared;
  BasicCrfScorer<Real> scorer;
  BasicLattice<Real> lattice = {};
  std::vector<double> own_pairs = {};

  // d (T x L, zeros) and d_pair (T x L x L, zeros; null: no own pairs) of one sentence.
  void differentiate(uint64_t sentence, ScoreDerivatives by, const BasicCrfScores<Real>* scores,
                     std::span<double> sums, Real* d, Real* d_pair) {
    const size_t labels = pass.labels(), square = pass.square();
    const uint64_t first = pass.data_.sentence_begin[sentence], length = pass.data_.length(sentence);
    const uint32_t* label = pass.data_.label.data() + first;
    if (scores != nullptr && by.log_z != 0) {
      lattice.backward(*scores);
      const std::span<const Real> p = lattice.marginals();
      for (size_t i = 0; i < length * labels; ++i)
        d[i] = static_cast<Real>(by.log_z * static_cast<double>(p[i]));
      if (d_pair == nullptr) {
        lattice.add_pairs(*scores, by.log_z, sums.subspan(labels));
      } else {
        own_pairs.assign(length * square, 0);
        lattice.add_pairs(*scores, by.log_z, own_pairs);
        for (size_t i = 0; i < own_pairs.size(); ++i) {
          d_pair[i] = static_cast<Real>(own_pairs[i]);
          sums[labels + i % square] += own_pairs[i];
        }
      }
    }
    for (uint64_t t = 0; t < length; ++t) {
      d[t * labels + label[t]] += static_cast<Real>(by.score);
      for (size_t k = 0; k < labels; ++k) sums[k] += static_cast<double>(d[t * labels + k]);
      if (t == 0) continue;
      const size_t pair = label[t - 1] * labels + label[t];
      sums[labels + pair] += by.score;
      if (d_pair != nullptr) d_pair[t * square + pair] += static_cast<Real>(by.score);
    }
  }
};

// Of the sentences of a block, each in the process that had its chunk.
template <class Real>
template <class BeginOf>
void CrfPass<Real>::gather_derivatives(const Block& block, const BeginOf& begin_of, std::vector<Real>& d,
                                       std::vector<Real>& d_pair) const {
  Communicator* const all = sharing(chunks_);
  if (all == nullptr) return;
  const auto values = [&](std::vector<Real>& of, size_t each) {
    return shared_array(*all, chunks_, of.data(), [&, each](size_t chunk) {
      return (data_.sentence_begin[begin_of(chunk)] - block.positions.begin) * each;
    });
  };
  share_units(
      *all, chunks_, [](size_t) {}, values(d, labels()), values(d_pair, has_own_pairs() ? square() : 0));
}

template <class Real>
void CrfPass<Real>::run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                        std::span<Real> gradient) const {
  SELFNORM_CHECK(theta.size() == parameters());
  SELFNORM_CHECK(gradient.empty() || gradient.size() == gradient_size());
  const bool wants_gradient = !gradient.empty();
  const PairFactors<Real> shared = transition_factors(shape_, theta);
  const size_t cells = labels() + square();
  std::vector<double> sums(wants_gradient ? chunks_ * cells : 0);
  std::vector<Real> d, d_pair;
  for (const Block& block : blocks_) {
    if (wants_gradient) {
      d.assign(block.positions.size() * labels(), 0);
      if (has_own_pairs()) d_pair.assign(block.positions.size() * square(), 0);
    }
    const uint64_t granules = (block.sentences.size() + kGranule - 1) / kGranule;
    const auto begin_of = [&](size_t chunk) {
      return std::min(block.sentences.end, block.sentences.begin + chunk * granules / chunks_ * kGranule);
    };
    const auto run_chunk = [&](size_t chunk, const auto& see) {
      const uint64_t first = begin_of(chunk), last = begin_of(chunk + 1);
      if (first >= last) return;
      Worker worker{*this, shared, BasicCrfScorer<Real>(shape_, theta)};
      for (uint64_t i = first; i < last; ++i) {
        BasicCrfScores<Real> scores;
        double score = 0, log_z = std::numeric_limits<double>::quiet_NaN();
        if (i < normalised) {
          scores = worker.scorer(data_, i);
          if (!are_finite(scores)) {  // the loss says so
            see(i, log_z, log_z);
            continue;
          }
          log_z = worker.lattice.forward(scores, shared);
          score = crf_score<Real>(scores,
                                  std::span(data_.label).subspan(data_.sentence_begin[i], data_.length(i)));
        } else {
          score = worker.scorer.target_score(data_, i);
        }
        const ScoreDerivatives by = see(i, score, log_z);
        if (!wants_gradient) continue;
        const uint64_t at = data_.sentence_begin[i] - block.positions.begin;
        worker.differentiate(i, by, i < normalised ? &scores : nullptr,
                             std::span(sums).subspan(chunk * cells, cells), d.data() + at * labels(),
                             has_own_pairs() ? d_pair.data() + at * square() : nullptr);
      }
    };
    visit_in_units(chunks_, begin_of, visit, run_chunk);
    if (!wants_gradient) continue;
    gather_derivatives(block, begin_of, d, d_pair);
    block.unigrams.add_gradient(d, labels(), gradient.data());
    if (has_own_pairs()) block.bigrams->add_gradient(d_pair, square(), gradient.data() + shape_.pair());
  }
  if (!wants_gradient) return;
  if (Communicator* const all = sharing(chunks_))
    share_units(
        *all, chunks_, [](size_t) {},
        shared_array(*all, chunks_, sums.data(), [&](size_t chunk) { return chunk * cells; }));
  const auto add_sums = [&](size_t from, size_t count, size_t place) {
    for (size_t i = 0; i < count; ++i) {
      auto sum = static_cast<double>(gradient[place + i]);
      for (uint64_t chunk = 0; chunk < chunks_; ++chunk) sum += sums[chunk * cells + from + i];
      gradient[place + i] = static_cast<Real>(sum);
    }
  };
  add_sums(0, labels(), shape_.bias());
  if (shape_.has_transitions) add_sums(labels(), square(), shape_.transition());
}

template <class Real>
void CrfPass<Real>::summarise(std::span<const Real> theta,
                              const std::function<void(uint64_t, const OutputSummary&)>& sink) const {
  const PairFactors<Real> shared = transition_factors(shape_, theta);
  const auto begin_of = [&](size_t granule) { return std::min(examples(), granule * kGranule); };
  tell_in_units<OutputSummary>(granules_, begin_of, sink, [&](size_t granule, const auto& tell) {
    BasicCrfScorer<Real> scorer(shape_, theta);
    BasicLattice<Real> lattice;
    for (uint64_t i = begin_of(granule); i < begin_of(granule + 1); ++i) {
      const BasicCrfScores<Real> scores = scorer(data_, i);
      const auto target = std::span(data_.label).subspan(data_.sentence_begin[i], data_.length(i));
      OutputSummary out;
      out.score = crf_score<Real>(scores, target);
      out.log_z = lattice.forward(scores, shared);
      lattice.backward(scores);
      out.log_prob = lattice.log_prob(scores, target);
      out.entropy = lattice.entropy(scores);
      out.outputs = labellings(shape_.labels, scores.length);
      for (const Labelling& y : n_best(scores, kBetter)) {
        if (std::ranges::equal(y.labels, target)) break;
        out.better += y.score >= out.score ? 1 : 0;
      }
      tell(i, out);
    }
  });
}

}  // namespace

template <class Real>
std::unique_ptr<ExactPass<Real>> make_crf_pass(const Sequences& data, const CrfShape& shape) {
  return std::make_unique<CrfPass<Real>>(data, shape);
}

template std::unique_ptr<ExactPass<float>> make_crf_pass(const Sequences&, const CrfShape&);
template std::unique_ptr<ExactPass<double>> make_crf_pass(const Sequences&, const CrfShape&);

}  // namespace selfnorm
