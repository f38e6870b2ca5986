#include "family/crf/crf_normalization.h"

#include <algorithm>
#include <cmath>

#include "family/crf/crf_evaluation.h"
#include "math/parallel.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kSentencesPerPass = 16;

// One model on a sentence after the other.
class ExactCrf {
 public:
  explicit ExactCrf(const CrfModel& model)
      : scorer_(model.shape, model.theta), factors_(transition_factors<float>(model.shape, model.theta)) {}

  void read(const Sequences& data, uint64_t sentence) {
    scores_ = scorer_(data, sentence);
    lattice_.forward(scores_, factors_);
    lattice_.backward(scores_);
  }
  uint32_t labels() const { return scores_.labels; }
  std::span<const float> marginals() const { return lattice_.marginals(); }
  double log_probability(std::span<const uint32_t> labels) const {
    return lattice_.log_prob(scores_, labels);
  }
  std::vector<uint32_t> best() const { return viterbi<float>(scores_).labels; }

 private:
  CrfScorer scorer_;
  PairFactors<float> factors_;
  CrfScores scores_;
  Lattice lattice_;
};

// After both have read the sentence with these labels.
void add_difference(const ExactCrf& p, const ExactCrf& q, std::span<const uint32_t> labels,
                    CrfDifference& out) {
  const std::span<const float> a = p.marginals(), b = q.marginals();
  for (size_t i = 0; i < a.size(); ++i)
    out.probability =
        std::max(out.probability, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  const auto compare = [&](std::span<const uint32_t> y) {
    out.log_probability =
        std::max(out.log_probability, std::abs(p.log_probability(y) - q.log_probability(y)));
  };
  compare(p.best());
  if (std::ranges::all_of(labels, [&p](uint32_t k) { return k < p.labels(); })) compare(labels);
}

}  // namespace

NormalizedCrf normalize_crf(const CrfModel& model, const Sequences& data, const CrfProgress& progress) {
  const std::vector<double> log_z = crf_log_z(model, data, 0, progress);
  const auto fitted = [&](CrfFitPurpose purpose) {
    return crf_gauge(data, model.shape, log_z, CrfFeatures::all, purpose);
  };
  NormalizedCrf out{model, fitted(CrfFitPurpose::prediction), fitted(CrfFitPurpose::fit)};
  apply_crf_gauge(out.gauge, out.model);
  return out;
}

double amortise_crf(const Sequences& data, CrfModel& model, const CrfProgress& progress) {
  std::vector<double> log_z = crf_log_z(model, data, 0, progress);
  model.normalizer =
      amortised_crf(crf_gauge(data, model.shape, log_z, CrfFeatures::unigrams, CrfFitPurpose::prediction));
  for (uint64_t i = 0; i < log_z.size(); ++i) log_z[i] -= crf_normalizer(model.normalizer, data, i);
  return describe(std::move(log_z)).rms;
}

CrfDifference crf_difference(const CrfModel& p, const CrfModel& q, const Sequences& data) {
  SELFNORM_CHECK(p.shape.size() == q.shape.size() && p.shape.labels == q.shape.labels);
  check_sequences(data, p.shape, "the data", NeededLabels::none);
  std::vector<CrfDifference> parts((data.sentences() + kSentencesPerPass - 1) / kSentencesPerPass);
  parallel_ranges(data.sentences(), kSentencesPerPass, [&](size_t begin, size_t end) {
    ExactCrf one(p), other(q);
    for (size_t i = begin; i < end; ++i) {
      one.read(data, i);
      other.read(data, i);
      add_difference(one, other, std::span(data.label).subspan(data.sentence_begin[i], data.length(i)),
                     parts[begin / kSentencesPerPass]);
    }
  });
  CrfDifference out;
  for (const CrfDifference& part : parts) {
    out.probability = std::max(out.probability, part.probability);
    out.log_probability = std::max(out.log_probability, part.log_probability);
  }
  return out;
}

}  // namespace selfnorm
