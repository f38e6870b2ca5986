#include "family/crf/crf_gauge.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "audit/gauge.h"
#include "audit/iterative_least_squares.h"
#include "family/crf/crf_evaluation.h"
#include "math/parallel.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Sums of values by attribute over the positions of one sentence, appended in increasing order.
void append_counts(const AttributeRows& rows, uint64_t begin, uint64_t end, uint32_t first_column,
                   SparseMatrix& out) {
  std::vector<std::pair<uint32_t, double>> entries;
  for (uint64_t t = begin; t < end; ++t) {
    const std::span<const uint32_t> attributes = rows.attributes(t);
    const std::span<const float> values = rows.values(t);
    for (size_t i = 0; i < attributes.size(); ++i)
      entries.emplace_back(attributes[i], values.empty() ? 1.0 : static_cast<double>(values[i]));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < entries.size();) {
    double sum = 0;
    const uint32_t attribute = entries[i].first;
    for (; i < entries.size() && entries[i].first == attribute; ++i) sum += entries[i].second;
    out.column.push_back(first_column + attribute);
    out.value.push_back(static_cast<float>(sum));
  }
}

// x_i <- x_i - by for a run of parameters.
void shift(std::span<float> x, double by) {
  for (float& v : x) v = static_cast<float>(static_cast<double>(v) - by);
}

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

Dataset sentence_features(const Sequences& data, const CrfShape& shape, CrfFeatures features) {
  const uint64_t bigrams = features == CrfFeatures::all ? shape.bigrams : 0;
  const uint64_t attributes = shape.unigrams + bigrams;
  if (attributes >= UINT32_MAX) throw Error("chains of 2^32 attributes or more have no regression");
  Dataset out;
  SparseMatrix& x = out.features.sparse;
  x.columns = static_cast<uint32_t>(attributes + 1);
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const uint64_t begin = data.sentence_begin[i], end = data.sentence_begin[i + 1];
    append_counts(data.unigram, begin, end, 0, x);
    if (bigrams > 0 && data.bigram.rows() > 0)
      append_counts(data.bigram, begin, end, static_cast<uint32_t>(shape.unigrams), x);
    x.column.push_back(static_cast<uint32_t>(attributes));
    x.value.push_back(static_cast<float>(end - begin));
    x.begin.push_back(x.column.size());
  }
  return out;
}

LinearFit crf_gauge(const Sequences& data, const CrfShape& shape, std::span<const double> log_z,
                    CrfFeatures features, CrfFitPurpose purpose) {
  SELFNORM_CHECK(log_z.size() == data.sentences());
  const auto source = make_example_source(sentence_features(data, shape, features));
  // Counts are in one unit; standardised, the rare ones, nearly all, would be fitted as early as T.
  if (purpose == CrfFitPurpose::prediction && source->columns() > kLargestRegression)
    return iterative_fit_for_prediction(*source, log_z, ColumnScale::natural);
  GaugeRegression regression(*source, source->columns());
  regression.add(source->block(0, source->examples()), log_z);
  return purpose == CrfFitPurpose::fit ? regression.fit() : regression.fit_for_prediction();
}

void apply_crf_gauge(const LinearFit& fit, CrfModel& model) {
  const CrfShape& shape = model.shape;
  SELFNORM_CHECK(fit.slope.size() == shape.unigrams + shape.bigrams + 1);
  const size_t labels = shape.labels, square = labels * labels;
  const std::span<float> theta(model.theta);
  for (size_t a = 0; a < shape.unigrams; ++a) shift(theta.subspan(a * labels, labels), fit.slope[a]);
  for (size_t a = 0; a < shape.bigrams; ++a)
    shift(theta.subspan(shape.pair() + a * square, square), fit.slope[shape.unigrams + a]);
  const double intercept = shape.has_transitions ? fit.intercept : 0;
  if (shape.has_transitions) shift(theta.subspan(shape.transition(), square), -intercept);
  shift(theta.subspan(shape.bias(), labels), fit.slope.back() + intercept);
  model.normalizer = {};
  if (!shape.has_transitions && fit.intercept != 0) model.normalizer = {true, 0, fit.intercept, {}};
}

CrfNormalizer amortised_crf(const LinearFit& fit) {
  SELFNORM_CHECK(!fit.slope.empty());
  return {true, fit.slope.back(), fit.intercept, {fit.slope.begin(), fit.slope.end() - 1}};
}

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
