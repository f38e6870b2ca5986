// The part of selfnorm.h that scores. Arguments are checked here, so that Scorer sees only good ones.
#include <cmath>

#include "open_model.h"

namespace selfnorm::runtime {
namespace {

selfnorm_status check_family(const selfnorm_model* model, Family wanted) {
  if (model == nullptr) return fail_null();
  if (model->layout.family == wanted) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_FAMILY, wanted == Family::Joint
                                         ? "a multiclass model scores classes, not alternatives"
                                         : "a joint model scores alternatives, not classes");
}

selfnorm_status check_query(const selfnorm_model* model, const Query& query) {
  const size_t n = query.value.size();
  const uint32_t d = model->layout.features;
  if (n > 0 && query.value.data() == nullptr) return fail_null();
  if (query.index == nullptr) {
    if (n == d) return SELFNORM_OK;
    return fail(SELFNORM_ERROR_DIMENSION, "x has %zu values, expected the model's %u features", n, d);
  }
  uint64_t least = 0;
  for (size_t i = 0; i < n; ++i) {
    if (query.index[i] < least || query.index[i] >= d) {
      return fail(SELFNORM_ERROR_INDEX, "index[%zu] is %u, expected increasing indices below %u", i,
                  query.index[i], d);
    }
    least = uint64_t{query.index[i]} + 1;
  }
  return SELFNORM_OK;
}

selfnorm_status fail_not_finite(const Query& query) {
  for (size_t i = 0; i < query.value.size(); ++i) {
    if (!std::isfinite(query.value[i]))
      return fail(SELFNORM_ERROR_NOT_FINITE, "value %zu of x is not finite", i);
  }
  return fail(SELFNORM_ERROR_NOT_FINITE, "the score is not finite: x or the model's weights are too large");
}

selfnorm_status check_amortised(const selfnorm_model* model) {
  if (model->layout.normalizer.exists()) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_ARGUMENT,
              "the model has no amortised normalizer; expected SELFNORM_RAW or SELFNORM_EXACT, or a model "
              "written by 'selfnorm normalize --amortise'");
}

selfnorm_status check_kind(const selfnorm_model* model, int kind) {
  if (kind == SELFNORM_RAW || kind == SELFNORM_EXACT) return SELFNORM_OK;
  if (kind == SELFNORM_AMORTISED) return check_amortised(model);
  return fail(SELFNORM_ERROR_ARGUMENT,
              "kind is %d, expected SELFNORM_RAW, SELFNORM_EXACT or SELFNORM_AMORTISED", kind);
}

selfnorm_status check_class(const selfnorm_model* model, uint32_t k) {
  if (k < model->layout.rows()) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_CLASS, "class %u, expected one below %u", k,
              static_cast<uint32_t>(model->layout.rows()));
}

#define SELFNORM_TRY(call) \
  if (const selfnorm_status status = (call); status != SELFNORM_OK) return status

selfnorm_status log_sum(const selfnorm_model* model, const Query& query, double* out) {
  SELFNORM_TRY(check_family(model, Family::Multiclass));
  SELFNORM_TRY(check_query(model, query));
  if (out == nullptr) return fail_null();
  model->expect_scan();
  const double a = model->scorer.log_sum(query);
  if (!std::isfinite(a)) return fail_not_finite(query);
  *out = a;
  return SELFNORM_OK;
}

selfnorm_status amortised_normalizer(const selfnorm_model* model, const Query& query, double* out) {
  SELFNORM_TRY(check_family(model, Family::Multiclass));
  SELFNORM_TRY(check_amortised(model));
  SELFNORM_TRY(check_query(model, query));
  if (out == nullptr) return fail_null();
  const double b = model->scorer.amortised_normalizer(query);
  if (!std::isfinite(b)) return fail_not_finite(query);
  *out = b;
  return SELFNORM_OK;
}

struct ClassList {
  const uint32_t* classes;
  size_t n;
};

selfnorm_status score(const selfnorm_model* model, const Query& query, ClassList list, int kind,
                      double* out) {
  SELFNORM_TRY(check_family(model, Family::Multiclass));
  SELFNORM_TRY(check_query(model, query));
  SELFNORM_TRY(check_kind(model, kind));
  if (list.n > 0 && (list.classes == nullptr || out == nullptr)) return fail_null();
  for (size_t i = 0; i < list.n; ++i) SELFNORM_TRY(check_class(model, list.classes[i]));
  double shift = model->layout.log_normalizer;
  if (kind == SELFNORM_EXACT) SELFNORM_TRY(log_sum(model, query, &shift));
  double b = 0;
  if (kind == SELFNORM_AMORTISED) SELFNORM_TRY(amortised_normalizer(model, query, &b));
  for (size_t i = 0; i < list.n; ++i) {
    const double s = model->scorer.score(query, list.classes[i]);
    if (!std::isfinite(s)) return fail_not_finite(query);
    out[i] = s - shift - b;
  }
  return SELFNORM_OK;
}

struct TopOutput {
  size_t n;
  uint32_t* classes;
  double* log_probs;
};

selfnorm_status top(const selfnorm_model* model, const Query& query, int kind, TopOutput out) {
  SELFNORM_TRY(check_family(model, Family::Multiclass));
  SELFNORM_TRY(check_query(model, query));
  SELFNORM_TRY(check_kind(model, kind));
  if (out.n > model->layout.classes) {
    return fail(SELFNORM_ERROR_ARGUMENT, "top %zu of %u classes", out.n, model->layout.classes);
  }
  if (out.n > 0 && (out.classes == nullptr || out.log_probs == nullptr)) return fail_null();
  double shift = model->layout.log_normalizer, b = 0;
  if (kind == SELFNORM_AMORTISED) SELFNORM_TRY(amortised_normalizer(model, query, &b));
  model->expect_scan();
  if (!model->scorer.top(query, {{out.classes, out.n}, {out.log_probs, out.n}},
                         kind == SELFNORM_EXACT ? &shift : nullptr)) {
    return fail_not_finite(query);
  }
  for (size_t i = 0; i < out.n; ++i) out.log_probs[i] = out.log_probs[i] - shift - b;
  return SELFNORM_OK;
}

selfnorm_status score_alternative(const selfnorm_model* model, const Query& query, double* out) {
  SELFNORM_TRY(check_family(model, Family::Joint));
  SELFNORM_TRY(check_query(model, query));
  if (out == nullptr) return fail_null();
  const double s = model->scorer.score(query, 0);
  if (!std::isfinite(s)) return fail_not_finite(query);
  *out = s - model->layout.log_normalizer;
  return SELFNORM_OK;
}

selfnorm_status error_bound(const selfnorm_model* model, const Query& query, uint32_t k, double* out) {
  if (model == nullptr || out == nullptr) return fail_null();
  SELFNORM_TRY(check_query(model, query));
  SELFNORM_TRY(check_class(model, k));
  const double bound = model->scorer.error_bound(query, k);
  if (!std::isfinite(bound)) return fail_not_finite(query);
  *out = bound;
  return SELFNORM_OK;
}

#undef SELFNORM_TRY

// A sparse query with no entries still needs a non-null index to be told from a dense one.
constexpr uint32_t kNoIndex = 0;

Query sparse(const uint32_t* index, const float* value, size_t nnz) {
  return {{value, nnz}, nnz == 0 ? &kNoIndex : index};
}

}  // namespace
}  // namespace selfnorm::runtime

using namespace selfnorm::runtime;

extern "C" {

selfnorm_status selfnorm_score_dense(const selfnorm_model* model, const float* x, size_t d,
                                     const uint32_t* classes, size_t n, int kind, double* out) {
  return score(model, {{x, d}}, {classes, n}, kind, out);
}
selfnorm_status selfnorm_score_sparse(const selfnorm_model* model, const uint32_t* index, const float* value,
                                      size_t nnz, const uint32_t* classes, size_t n, int kind, double* out) {
  if (nnz > 0 && index == nullptr) return fail_null();
  return score(model, sparse(index, value, nnz), {classes, n}, kind, out);
}

selfnorm_status selfnorm_log_normalizer_dense(const selfnorm_model* model, const float* x, size_t d,
                                              double* out) {
  return log_sum(model, {{x, d}}, out);
}
selfnorm_status selfnorm_log_normalizer_sparse(const selfnorm_model* model, const uint32_t* index,
                                               const float* value, size_t nnz, double* out) {
  if (nnz > 0 && index == nullptr) return fail_null();
  return log_sum(model, sparse(index, value, nnz), out);
}

selfnorm_status selfnorm_amortised_normalizer_dense(const selfnorm_model* model, const float* x, size_t d,
                                                    double* out) {
  return amortised_normalizer(model, {{x, d}}, out);
}
selfnorm_status selfnorm_amortised_normalizer_sparse(const selfnorm_model* model, const uint32_t* index,
                                                     const float* value, size_t nnz, double* out) {
  if (nnz > 0 && index == nullptr) return fail_null();
  return amortised_normalizer(model, sparse(index, value, nnz), out);
}

selfnorm_status selfnorm_top_dense(const selfnorm_model* model, const float* x, size_t d, size_t n, int kind,
                                   uint32_t* classes, double* log_probs) {
  return top(model, {{x, d}}, kind, {n, classes, log_probs});
}
selfnorm_status selfnorm_top_sparse(const selfnorm_model* model, const uint32_t* index, const float* value,
                                    size_t nnz, size_t n, int kind, uint32_t* classes, double* log_probs) {
  if (nnz > 0 && index == nullptr) return fail_null();
  return top(model, sparse(index, value, nnz), kind, {n, classes, log_probs});
}

selfnorm_status selfnorm_score_alternative_dense(const selfnorm_model* model, const float* x, size_t d,
                                                 double* out) {
  return score_alternative(model, {{x, d}}, out);
}
selfnorm_status selfnorm_score_alternative_sparse(const selfnorm_model* model, const uint32_t* index,
                                                  const float* value, size_t nnz, double* out) {
  if (nnz > 0 && index == nullptr) return fail_null();
  return score_alternative(model, sparse(index, value, nnz), out);
}

selfnorm_status selfnorm_score_error_bound_dense(const selfnorm_model* model, const float* x, size_t d,
                                                 uint32_t class_index, double* out) {
  return error_bound(model, {{x, d}}, class_index, out);
}
selfnorm_status selfnorm_score_error_bound_sparse(const selfnorm_model* model, const uint32_t* index,
                                                  const float* value, size_t nnz, uint32_t class_index,
                                                  double* out) {
  if (nnz > 0 && index == nullptr) return fail_null();
  return error_bound(model, sparse(index, value, nnz), class_index, out);
}

}  // extern "C"
