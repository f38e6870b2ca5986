// The part of selfnorm.h that scores features.
#include <algorithm>

#include "score_calls.h"
#include "stack_floats.h"

namespace selfnorm::runtime {
namespace {

// A sparse query with no entries still needs a non-null index to be told from a dense one.
constexpr uint32_t kNoIndex = 0;

Query sparse(const uint32_t* index, const float* value, size_t nnz) {
  return {{value, nnz}, nnz == 0 ? &kNoIndex : index};
}

// call(x) with the sparse x as the output layer takes it: as it is, or encoded.
template <class Call>
selfnorm_status with_state(const selfnorm_model* model, const Query& x, const Call& call) {
  if (x.value.size() > 0 && x.index == nullptr) return fail_null();
  if (model == nullptr || !model->layout.encoder.exists()) return call(x);
  return with_floats(model->layout.features, [&](float* h) {
    SELFNORM_TRY(encode(model, x, h));
    return call(Query{{h, model->layout.features}});
  });
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
