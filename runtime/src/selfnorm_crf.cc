// The part of selfnorm.h about CRFs.
#include <cmath>

#include "open_model.h"

namespace selfnorm::runtime {
namespace {

struct Workspace {
  void* memory;
  size_t bytes;
};

selfnorm_status check_crf(const selfnorm_model* model) {
  if (model == nullptr) return fail_null();
  if (model->crf.exists()) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_FAMILY, "the model is not a chain, which labels sentences");
}

// One of the two lists of a sentence, from the first position that it is used at.
struct NamedRows {
  const char* name;
  const selfnorm_attribute_rows& rows;
  uint32_t attributes;
  size_t first;
};

struct SentenceRows {
  NamedRows unigram, bigram;
  SentenceRows(const selfnorm_model* model, const selfnorm_sentence& x)
      : unigram{"unigram", x.unigram, model->crf.unigrams.size, 0},
        bigram{"bigram", x.bigram, model->crf.bigrams.size, 1} {}
};

selfnorm_status check_rows(const NamedRows& list, size_t positions) {
  const selfnorm_attribute_rows& rows = list.rows;
  if (rows.begin == nullptr || positions <= list.first) return SELFNORM_OK;
  for (size_t t = list.first; t < positions; ++t) {
    if (rows.begin[t] > rows.begin[t + 1]) {
      return fail(SELFNORM_ERROR_ARGUMENT,
                  "begin[%zu] of the %s attributes is %zu and begin[%zu] is %zu, expected no less", t,
                  list.name, rows.begin[t], t + 1, rows.begin[t + 1]);
    }
  }
  if (rows.begin[list.first] < rows.begin[positions] && rows.number == nullptr) return fail_null();
  for (size_t i = rows.begin[list.first]; i < rows.begin[positions]; ++i) {
    if (rows.number[i] >= list.attributes) {
      return fail(SELFNORM_ERROR_ATTRIBUTE,
                  "%s attribute %u, expected one below the model's %u; leave out attributes that it does not "
                  "have",
                  list.name, rows.number[i], list.attributes);
    }
  }
  return SELFNORM_OK;
}

selfnorm_status check_sentence(const selfnorm_model* model, const selfnorm_sentence* x) {
  SELFNORM_TRY(check_crf(model));
  if (x == nullptr) return fail_null();
  const SentenceRows lists(model, *x);
  SELFNORM_TRY(check_rows(lists.unigram, x->positions));
  return check_rows(lists.bigram, x->positions);
}

selfnorm_status check_workspace(const selfnorm_model* model, const selfnorm_sentence& x,
                                const Workspace& workspace) {
  const size_t wanted = model->crf_scorer.workspace(x.positions);
  if (workspace.memory == nullptr) return fail_null();
  if (workspace.bytes >= wanted && wanted < SIZE_MAX) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_ARGUMENT,
              "a workspace of %zu bytes, expected the %zu of selfnorm_chain_workspace for %zu positions",
              workspace.bytes, wanted, x.positions);
}

selfnorm_status fail_not_finite(const selfnorm_model* model, const selfnorm_sentence& x) {
  const SentenceRows lists(model, x);
  for (const NamedRows* list : {&lists.unigram, &lists.bigram}) {
    const selfnorm_attribute_rows& rows = list->rows;
    if (rows.begin == nullptr || rows.value == nullptr || x.positions <= list->first) continue;
    for (size_t i = rows.begin[list->first]; i < rows.begin[x.positions]; ++i) {
      if (!std::isfinite(rows.value[i]))
        return fail(SELFNORM_ERROR_NOT_FINITE, "value %zu of the %s attributes is not finite", i, list->name);
    }
  }
  return fail(SELFNORM_ERROR_NOT_FINITE,
              "a score is not finite: values or the model's weights are too large, or its file is damaged");
}

// b(x) where the kind is amortised, otherwise 0.
selfnorm_status amortised_level(const selfnorm_model* model, const selfnorm_sentence& x, int kind,
                                double* out) {
  *out = 0;
  if (kind != SELFNORM_AMORTISED) return SELFNORM_OK;
  SELFNORM_TRY(check_amortised(model));
  const double b = model->crf_scorer.amortised_normalizer(x);
  if (!std::isfinite(b)) return fail_not_finite(model, x);
  *out = b;
  return SELFNORM_OK;
}

selfnorm_status find_attribute(const AttributeTable& table, std::string_view text, uint32_t* number) {
  const uint32_t found = table.find(text);
  if (found == kEmptySlot) return fail_quoted(SELFNORM_ERROR_ATTRIBUTE, "the model has no attribute", text);
  *number = found;
  return SELFNORM_OK;
}

}  // namespace
}  // namespace selfnorm::runtime

using namespace selfnorm::runtime;

extern "C" {

uint32_t selfnorm_attributes(const selfnorm_model* model) { return model->crf.unigrams.size; }
uint32_t selfnorm_pair_attributes(const selfnorm_model* model) { return model->crf.bigrams.size; }

selfnorm_status selfnorm_attribute_id(const selfnorm_model* model, const char* text, size_t length,
                                      uint32_t* number) {
  SELFNORM_TRY(check_crf(model));
  if ((text == nullptr && length > 0) || number == nullptr) return fail_null();
  return find_attribute(model->crf.unigrams, {text == nullptr ? "" : text, length}, number);
}
selfnorm_status selfnorm_pair_attribute_id(const selfnorm_model* model, const char* text, size_t length,
                                           uint32_t* number) {
  SELFNORM_TRY(check_crf(model));
  if ((text == nullptr && length > 0) || number == nullptr) return fail_null();
  return find_attribute(model->crf.bigrams, {text == nullptr ? "" : text, length}, number);
}

size_t selfnorm_chain_workspace(const selfnorm_model* model, size_t positions) {
  return model->crf.exists() ? model->crf_scorer.workspace(positions) : 0;
}

selfnorm_status selfnorm_tag(const selfnorm_model* model, const selfnorm_sentence* sentence, void* workspace,
                             size_t bytes, int kind, uint32_t* labels, double* log_prob) {
  SELFNORM_TRY(check_sentence(model, sentence));
  SELFNORM_TRY(check_workspace(model, *sentence, {workspace, bytes}));
  if (labels == nullptr && sentence->positions > 0) return fail_null();
  double b = 0;
  SELFNORM_TRY(check_kind(model, kind));
  kind = resolved(model, kind).kind;
  if (log_prob != nullptr) SELFNORM_TRY(amortised_level(model, *sentence, kind, &b));
  const CrfScorer& scorer = model->crf_scorer;
  if (!scorer.best_labels(*sentence, workspace, labels)) return fail_not_finite(model, *sentence);
  if (log_prob != nullptr)
    *log_prob = kind == SELFNORM_EXACT ? scorer.exact_log_prob(*sentence, workspace, labels)
                                       : scorer.score(*sentence, labels) - b;
  return SELFNORM_OK;
}

selfnorm_status selfnorm_score_labelling(const selfnorm_model* model, const selfnorm_sentence* sentence,
                                         const uint32_t* labels, int kind, void* workspace, size_t bytes,
                                         double* out) {
  SELFNORM_TRY(check_sentence(model, sentence));
  if (out == nullptr || (labels == nullptr && sentence->positions > 0)) return fail_null();
  for (size_t t = 0; t < sentence->positions; ++t) SELFNORM_TRY(check_class(model, labels[t]));
  double b = 0;
  SELFNORM_TRY(check_kind(model, kind));
  kind = resolved(model, kind).kind;
  if (kind == SELFNORM_EXACT) SELFNORM_TRY(check_workspace(model, *sentence, {workspace, bytes}));
  SELFNORM_TRY(amortised_level(model, *sentence, kind, &b));
  const CrfScorer& scorer = model->crf_scorer;
  const double log_prob = kind == SELFNORM_EXACT ? scorer.exact_log_prob(*sentence, workspace, labels)
                                                 : scorer.score(*sentence, labels) - b;
  if (!std::isfinite(log_prob)) return fail_not_finite(model, *sentence);
  *out = log_prob;
  return SELFNORM_OK;
}

selfnorm_status selfnorm_chain_log_normalizer(const selfnorm_model* model, const selfnorm_sentence* sentence,
                                              void* workspace, size_t bytes, double* out) {
  SELFNORM_TRY(check_sentence(model, sentence));
  if (out == nullptr) return fail_null();
  SELFNORM_TRY(check_workspace(model, *sentence, {workspace, bytes}));
  const double a = model->crf_scorer.log_normalizer(*sentence, workspace);
  if (!std::isfinite(a)) return fail_not_finite(model, *sentence);
  *out = a;
  return SELFNORM_OK;
}

selfnorm_status selfnorm_chain_amortised_normalizer(const selfnorm_model* model,
                                                    const selfnorm_sentence* sentence, double* out) {
  SELFNORM_TRY(check_sentence(model, sentence));
  if (out == nullptr) return fail_null();
  double b = 0;
  SELFNORM_TRY(amortised_level(model, *sentence, SELFNORM_AMORTISED, &b));
  *out = b;
  return SELFNORM_OK;
}

selfnorm_status selfnorm_marginals(const selfnorm_model* model, const selfnorm_sentence* sentence,
                                   void* workspace, size_t bytes, double* out) {
  SELFNORM_TRY(check_sentence(model, sentence));
  SELFNORM_TRY(check_workspace(model, *sentence, {workspace, bytes}));
  if (out == nullptr && sentence->positions > 0) return fail_null();
  if (!model->crf_scorer.marginals(*sentence, workspace, out)) return fail_not_finite(model, *sentence);
  return SELFNORM_OK;
}

}  // extern "C"
