// The part of selfnorm.h that scores features. Arguments are checked here, so that Scorer sees only good
// ones.
#include <algorithm>
#include <cmath>

#include "open_model.h"

namespace selfnorm::runtime {
namespace {

enum class Scored { Classes, Alternatives };

// Not a CRF.
selfnorm_status check_classes(const selfnorm_model* model) {
  if (model == nullptr) return fail_null();
  if (!model->crf.exists()) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_FAMILY,
              "the model is a chain, which scores the labels of sentences: use selfnorm_score_labelling or "
              "selfnorm_tag");
}

selfnorm_status check_family(const selfnorm_model* model, Scored wanted) {
  SELFNORM_TRY(check_classes(model));
  const bool joint = model->layout.family == Family::Joint;
  if (joint == (wanted == Scored::Alternatives)) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_FAMILY, joint ? "a joint model scores alternatives, not classes"
                                           : "a multiclass model scores classes, not alternatives");
}

selfnorm_status check_indices(const Query& query, uint32_t inputs) {
  uint64_t least = 0;
  for (size_t i = 0; i < query.value.size(); ++i) {
    if (query.index[i] < least || query.index[i] >= inputs) {
      return fail(SELFNORM_ERROR_INDEX, "index[%zu] is %u, expected increasing indices below %u", i,
                  query.index[i], inputs);
    }
    least = uint64_t{query.index[i]} + 1;
  }
  return SELFNORM_OK;
}

selfnorm_status check_query(const selfnorm_model* model, const Query& query) {
  const size_t n = query.value.size();
  const uint32_t d = model->layout.features;
  if (n > 0 && query.value.data() == nullptr) return fail_null();
  if (query.index == nullptr) {
    if (n == d) return SELFNORM_OK;
    return fail(SELFNORM_ERROR_DIMENSION, "x has %zu values, expected the model's %u features", n, d);
  }
  return check_indices(query, d);
}

selfnorm_status fail_not_finite(const Query& query) {
  for (size_t i = 0; i < query.value.size(); ++i) {
    if (!std::isfinite(query.value[i]))
      return fail(SELFNORM_ERROR_NOT_FINITE, "value %zu of x is not finite", i);
  }
  return fail(SELFNORM_ERROR_NOT_FINITE,
              "the score is not finite: x or the model's weights are too large, or its file is damaged");
}

// Of a checked query.
selfnorm_status sum_of_classes(const selfnorm_model* model, const Query& query, LogSumExp* out) {
  if (model->layout.family == Family::Multiclass) model->expect_scan();
  return model->scorer.log_sum(query, out) ? SELFNORM_OK : fail_not_finite(query);
}

selfnorm_status log_sum(const selfnorm_model* model, const Query& query, double* out) {
  SELFNORM_TRY(check_family(model, Scored::Classes));
  SELFNORM_TRY(check_query(model, query));
  if (out == nullptr) return fail_null();
  LogSumExp total;
  SELFNORM_TRY(sum_of_classes(model, query, &total));
  *out = total.value();
  return SELFNORM_OK;
}

selfnorm_status amortised_normalizer(const selfnorm_model* model, const Query& query, double* out) {
  SELFNORM_TRY(check_family(model, Scored::Classes));
  SELFNORM_TRY(check_amortised(model));
  SELFNORM_TRY(check_query(model, query));
  if (out == nullptr) return fail_null();
  const double b = model->scorer.amortised_normalizer(query);
  if (!std::isfinite(b)) return fail_not_finite(query);
  *out = b;
  return SELFNORM_OK;
}

// b <- a(x) - c
selfnorm_status rung_normalizer(const selfnorm_model* model, const Query& query, const RungLayout& rung,
                                double* b) {
  if (!log_normalizer(model, query, rung, b)) return fail_not_finite(query);
  *b -= model->layout.log_normalizer;
  return SELFNORM_OK;
}

struct TopOutput {
  size_t n;
  uint32_t* classes;
  double* log_probs;
};

selfnorm_status top(const selfnorm_model* model, const Query& query, int kind, TopOutput out) {
  SELFNORM_TRY(check_family(model, Scored::Classes));
  SELFNORM_TRY(check_query(model, query));
  SELFNORM_TRY(check_kind(model, kind));
  if (out.n > model->layout.classes) {
    return fail(SELFNORM_ERROR_ARGUMENT, "top %zu of %u classes", out.n, model->layout.classes);
  }
  if (out.n > 0 && (out.classes == nullptr || out.log_probs == nullptr)) return fail_null();
  LogSumExp total;
  double b = 0;
  if (kind == SELFNORM_AUTO) kind = SELFNORM_EXACT;  // which costs no more here
  const ResolvedKind what = resolved(model, kind);
  kind = what.kind;
  if (kind == SELFNORM_AMORTISED) SELFNORM_TRY(amortised_normalizer(model, query, &b));
  if (what.rung != nullptr) SELFNORM_TRY(rung_normalizer(model, query, *what.rung, &b));
  model->expect_scan();
  if (!model->scorer.top(query, {{out.classes, out.n}, {out.log_probs, out.n}},
                         kind == SELFNORM_EXACT ? &total : nullptr)) {
    return fail_not_finite(query);
  }
  for (size_t i = 0; i < out.n; ++i) {
    double& s = out.log_probs[i];
    s = kind == SELFNORM_EXACT ? total.log_share(s) : what.served(s - model->layout.log_normalizer - b);
  }
  return SELFNORM_OK;
}

selfnorm_status score_alternative(const selfnorm_model* model, const Query& query, double* out) {
  SELFNORM_TRY(check_family(model, Scored::Alternatives));
  SELFNORM_TRY(check_query(model, query));
  if (out == nullptr) return fail_null();
  const double s = model->scorer.score(query, 0);
  if (!std::isfinite(s)) return fail_not_finite(query);
  *out = s - model->layout.log_normalizer;
  return SELFNORM_OK;
}

selfnorm_status error_bound(const selfnorm_model* model, const Query& query, uint32_t k, double* out) {
  SELFNORM_TRY(check_classes(model));
  if (out == nullptr) return fail_null();
  SELFNORM_TRY(check_query(model, query));
  SELFNORM_TRY(check_class(model, k));
  const double bound = model->scorer.error_bound(query, k);
  if (!std::isfinite(bound)) return fail_not_finite(query);
  *out = bound;
  return SELFNORM_OK;
}

selfnorm_status encode(const selfnorm_model* model, const Query& x, float* h) {
  if (model->layout.encoder.kind != EncoderKind::Bag) {
    return fail(SELFNORM_ERROR_FAMILY, model->layout.encoder.exists()
                                           ? "a language model takes words, not features"
                                           : "the model has no encoder");
  }
  if (!x.value.empty() && x.value.data() == nullptr) return fail_null();
  SELFNORM_TRY(check_indices(x, model->layout.encoder.inputs));
  return model->encoder.bag(x, h) ? SELFNORM_OK : fail_not_finite(x);
}

// A sparse query with no entries still needs a non-null index to be told from a dense one.
constexpr uint32_t kNoIndex = 0;

Query sparse(const uint32_t* index, const float* value, size_t nnz) {
  return {{value, nnz}, nnz == 0 ? &kNoIndex : index};
}

// call(x) with the sparse x as the output layer takes it: as it is, or encoded.
template <class Call>
selfnorm_status with_state(const selfnorm_model* model, const Query& x, const Call& call) {
  if (!x.value.empty() && x.index == nullptr) return fail_null();
  if (model == nullptr || !model->layout.encoder.exists()) return call(x);
  return with_floats(model->layout.features, [&](float* h) {
    SELFNORM_TRY(encode(model, x, h));
    return call(Query{{h, model->layout.features}});
  });
}

}  // namespace

selfnorm_status check_amortised(const selfnorm_model* model) {
  if (model->has_normalizer()) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_ARGUMENT,
              "the model has no amortised normalizer; expected SELFNORM_RAW or SELFNORM_EXACT, or a model "
              "written by 'selfnorm normalize --amortise'");
}

selfnorm_status check_class(const selfnorm_model* model, uint32_t k) {
  const uint32_t classes = model->layout.family == Family::Joint ? 1 : model->layout.classes;
  if (k < classes) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_CLASS, "class %u, expected one below %u", k, classes);
}

selfnorm_status score(const selfnorm_model* model, const Query& query, ClassList list, int kind,
                      double* out) {
  SELFNORM_TRY(check_family(model, Scored::Classes));
  SELFNORM_TRY(check_query(model, query));
  SELFNORM_TRY(check_kind(model, kind));
  if (list.n > 0 && (list.classes == nullptr || out == nullptr)) return fail_null();
  for (size_t i = 0; i < list.n; ++i) SELFNORM_TRY(check_class(model, list.classes[i]));
  LogSumExp total;
  const ResolvedKind what = resolved(model, kind);
  kind = what.kind;
  if (kind == SELFNORM_EXACT) SELFNORM_TRY(sum_of_classes(model, query, &total));
  double b = 0;
  if (kind == SELFNORM_AMORTISED) SELFNORM_TRY(amortised_normalizer(model, query, &b));
  if (what.rung != nullptr) SELFNORM_TRY(rung_normalizer(model, query, *what.rung, &b));
  for (size_t i = 0; i < list.n; ++i) {
    const double s = model->scorer.score(query, list.classes[i]);
    if (!std::isfinite(s)) return fail_not_finite(query);
    out[i] = kind == SELFNORM_EXACT ? total.log_share(s) : what.served(s - model->layout.log_normalizer - b);
  }
  return SELFNORM_OK;
}

}  // namespace selfnorm::runtime

using namespace selfnorm::runtime;

extern "C" {

selfnorm_status selfnorm_score_dense(const selfnorm_model* model, const float* x, size_t d,
                                     const uint32_t* classes, size_t n, int kind, double* out) {
  return score(model, {{x, d}}, {classes, n}, kind, out);
}
selfnorm_status selfnorm_score_sparse(const selfnorm_model* model, const uint32_t* index, const float* value,
                                      size_t nnz, const uint32_t* classes, size_t n, int kind, double* out) {
  return with_state(model, sparse(index, value, nnz), [&](const Query& x) {
    return score(model, x, {classes, n}, kind, out);
  });
}

selfnorm_status selfnorm_log_normalizer_dense(const selfnorm_model* model, const float* x, size_t d,
                                              double* out) {
  return log_sum(model, {{x, d}}, out);
}
selfnorm_status selfnorm_log_normalizer_sparse(const selfnorm_model* model, const uint32_t* index,
                                               const float* value, size_t nnz, double* out) {
  return with_state(model, sparse(index, value, nnz), [&](const Query& x) { return log_sum(model, x, out); });
}

selfnorm_status selfnorm_amortised_normalizer_dense(const selfnorm_model* model, const float* x, size_t d,
                                                    double* out) {
  return amortised_normalizer(model, {{x, d}}, out);
}
selfnorm_status selfnorm_amortised_normalizer_sparse(const selfnorm_model* model, const uint32_t* index,
                                                     const float* value, size_t nnz, double* out) {
  return with_state(model, sparse(index, value, nnz),
                    [&](const Query& x) { return amortised_normalizer(model, x, out); });
}

selfnorm_status selfnorm_top_dense(const selfnorm_model* model, const float* x, size_t d, size_t n, int kind,
                                   uint32_t* classes, double* log_probs) {
  return top(model, {{x, d}}, kind, {n, classes, log_probs});
}
selfnorm_status selfnorm_top_sparse(const selfnorm_model* model, const uint32_t* index, const float* value,
                                    size_t nnz, size_t n, int kind, uint32_t* classes, double* log_probs) {
  return with_state(model, sparse(index, value, nnz), [&](const Query& x) {
    return top(model, x, kind, {n, classes, log_probs});
  });
}

selfnorm_status selfnorm_encode_sparse(const selfnorm_model* model, const uint32_t* index, const float* value,
                                       size_t nnz, float* h) {
  if (model == nullptr || h == nullptr || (nnz > 0 && index == nullptr)) return fail_null();
  return with_floats(model->layout.encoder.states(), [&](float* state) {
    SELFNORM_TRY(encode(model, sparse(index, value, nnz), state));
    std::copy_n(state, model->layout.features, h);
    return SELFNORM_OK;
  });
}

selfnorm_status selfnorm_score_alternative_dense(const selfnorm_model* model, const float* x, size_t d,
                                                 double* out) {
  return score_alternative(model, {{x, d}}, out);
}
selfnorm_status selfnorm_score_alternative_sparse(const selfnorm_model* model, const uint32_t* index,
                                                  const float* value, size_t nnz, double* out) {
  return with_state(model, sparse(index, value, nnz),
                    [&](const Query& x) { return score_alternative(model, x, out); });
}

selfnorm_status selfnorm_score_error_bound_dense(const selfnorm_model* model, const float* x, size_t d,
                                                 uint32_t class_index, double* out) {
  return error_bound(model, {{x, d}}, class_index, out);
}
selfnorm_status selfnorm_score_error_bound_sparse(const selfnorm_model* model, const uint32_t* index,
                                                  const float* value, size_t nnz, uint32_t class_index,
                                                  double* out) {
  return with_state(model, sparse(index, value, nnz),
                    [&](const Query& x) { return error_bound(model, x, class_index, out); });
}

}  // extern "C"
