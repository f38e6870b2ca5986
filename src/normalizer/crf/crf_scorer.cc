#include "normalizer/crf/crf_scorer.h"

#include <algorithm>

#include "math/crf_kernels.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/crf_layout.h"

namespace selfnorm {
namespace {

RowList row_list(const AttributeRows& rows, uint64_t row) {
  const uint64_t begin = rows.begin[row];
  return {rows.attribute.data() + begin, rows.value.empty() ? nullptr : rows.value.data() + begin,
          rows.begin[row + 1] - begin, rows.attribute.size() - begin};
}

runtime::AttributeList attribute_list(const AttributeRows& rows, uint64_t row) {
  const RowList list = row_list(rows, row);
  return {list.row, list.value, list.count};
}

}  // namespace

template <class Real>
BasicCrfScorer<Real>::BasicCrfScorer(const CrfShape& shape, std::span<const Real> theta)
    : shape_(shape), theta_(theta) {
  SELFNORM_CHECK(theta.size() == shape.size());
  if (!shape.has_transitions) pair_.resize(size_t{shape.labels} * shape.labels);
}

template <class Real>
BasicCrfScores<Real> BasicCrfScorer<Real>::operator()(const Sequences& data, uint64_t sentence) {
  const size_t labels = shape_.labels, square = labels * labels;
  const uint64_t first = data.sentence_begin[sentence], length = data.length(sentence);
  const Real* bias = theta_.data() + shape_.bias();
  const double pairs = static_cast<double>(length) * static_cast<double>(square);
  if (data.bigram.rows() > 0 && pairs > static_cast<double>(pair_.capacity()))
    require_pair_memory(length, shape_.labels, pairs * sizeof(Real));
  unary_.resize(length * labels);
  for (uint64_t t = 0; t < length; ++t) {
    Real* u = unary_.data() + t * labels;
    std::copy_n(bias, labels, u);
    add_rows(row_list(data.unigram, first + t), theta_.data(), labels, u);
  }
  const std::span<const Real> shared =
      shape_.has_transitions ? theta_.subspan(shape_.transition(), square) : std::span(pair_).first(square);
  if (data.bigram.rows() == 0) return {shape_.labels, length, unary_, shared, false};
  const size_t none = shape_.has_transitions ? 0 : square;  // zeros, kept before the pairs
  pair_.resize(none + length * square);
  for (uint64_t t = 1; t < length; ++t) {
    Real* v = pair_.data() + none + t * square;
    std::copy_n(none == 0 ? shared.data() : pair_.data(), square, v);
    add_rows(row_list(data.bigram, first + t), theta_.data() + shape_.pair(), square, v);
  }
  return {shape_.labels, length, unary_, std::span(pair_).subspan(none), true};
}

template <class Real>
PairFactors<Real> transition_factors(const CrfShape& shape, std::span<const Real> theta) {
  PairFactors<Real> out;
  const std::vector<Real> none(shape.has_transitions ? 0 : size_t{shape.labels} * shape.labels);
  out.assign(shape.has_transitions ? theta.data() + shape.transition() : none.data(), shape.labels);
  return out;
}

template <class Real>
double BasicCrfScorer<Real>::target_score(const Sequences& data, uint64_t sentence) const {
  const Real* theta = theta_.data();
  const runtime::CrfWeights<Real> weights{shape_.labels, theta + shape_.bias(), theta,
                                          shape_.has_transitions ? theta + shape_.transition() : nullptr,
                                          theta + shape_.pair()};
  const uint64_t first = data.sentence_begin[sentence];
  return runtime::labelling_score(
      weights, std::span(data.label).subspan(first, data.length(sentence)), [&](uint64_t t) {
        runtime::PositionAttributes at{attribute_list(data.unigram, first + t), {nullptr, nullptr, 0}};
        if (data.bigram.rows() > 0) at.bigram = attribute_list(data.bigram, first + t);
        return at;
      });
}

template PairFactors<float> transition_factors(const CrfShape&, std::span<const float>);
template PairFactors<double> transition_factors(const CrfShape&, std::span<const double>);
template class BasicCrfScorer<float>;
template class BasicCrfScorer<double>;

}  // namespace selfnorm
