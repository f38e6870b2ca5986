#include "family/crf/crf_gauge.h"

#include <algorithm>
#include <vector>

#include "audit/gauge.h"
#include "audit/iterative_least_squares.h"
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

}  // namespace selfnorm
