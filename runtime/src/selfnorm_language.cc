// The part of selfnorm.h about language models.
#include <algorithm>
#include <cmath>
#include <new>

#include "open_model.h"

namespace selfnorm::runtime {
namespace {

static_assert(kMostPositions == SELFNORM_MAX_ORDER - 1);

// Contexts whose rows are asked for before the one that is scored.
constexpr size_t kAhead = 2;

uint32_t positions_of(const selfnorm_model* model) { return model->layout.encoder.positions; }

selfnorm_status check_language(const selfnorm_model* model) {
  if (model == nullptr) return fail_null();
  if (model->layout.encoder.kind == EncoderKind::Context) return SELFNORM_OK;
  return fail(SELFNORM_ERROR_FAMILY, "the model is not a language model");
}

selfnorm_status check_context(const selfnorm_model* model, const uint32_t* words) {
  const uint32_t inputs = model->layout.encoder.inputs;
  for (uint32_t i = 0; i < positions_of(model); ++i) {
    if (words[i] >= inputs)
      return fail(SELFNORM_ERROR_CLASS, "word %u of the context is %u, expected one below %u", i, words[i],
                  inputs);
  }
  return SELFNORM_OK;
}

selfnorm_status check_state(const selfnorm_model* model, const selfnorm_state* state) {
  SELFNORM_TRY(check_language(model));
  if (state == nullptr) return fail_null();
  if (state->positions != positions_of(model)) {
    return fail(SELFNORM_ERROR_ARGUMENT,
                "the state holds %u words, expected the model's %u: begin with selfnorm_begin_sentence",
                state->positions, positions_of(model));
  }
  return check_context(model, state->words);
}

selfnorm_status fail_overflow() {
  return fail(SELFNORM_ERROR_NOT_FINITE,
              "the score is not finite: the model's weights are too large, or its file is damaged");
}

// Of checked words.
selfnorm_status score_classes(const selfnorm_model* model, const uint32_t* context, ClassList list, int kind,
                              double* out) {
  return with_floats(model->layout.features, [&](float* h) {
    if (!model->encoder.context(context, h)) return fail_overflow();
    return score(model, {{h, model->layout.features}}, list, kind, out);
  });
}

bool is_fused(const selfnorm_model* model, int kind) {
  return kind == SELFNORM_RAW && model->encoder.table().exists() &&
         model->layout.family == Family::Multiclass;
}

// Raw scores of checked pairs, by the table.
selfnorm_status score_by_table(const selfnorm_model* model, const uint32_t* contexts, ClassList words,
                               const ResolvedKind& what, double* out) {
  const uint32_t positions = positions_of(model);
  const HiddenTable& table = model->encoder.table();
  const int16_t* rows[kMostPositions];
  for (size_t i = 0; i < words.n; ++i) {
    if (const size_t next = i + kAhead; next < words.n) {
      for (uint32_t j = 0; j < positions; ++j)
        prefetch_row(table.row(contexts[next * positions + j], j), model->layout.features);
      model->scorer.prefetch(words.classes[next]);
    }
    const double s =
        model->scorer.score(model->encoder.hidden_sum(contexts + i * positions, rows), words.classes[i]);
    if (!std::isfinite(s)) return fail_overflow();
    out[i] = what.served(s - model->layout.log_normalizer);
  }
  return SELFNORM_OK;
}

selfnorm_status score_pairs(const selfnorm_model* model, const uint32_t* contexts, ClassList words, int kind,
                            double* out) {
  SELFNORM_TRY(check_kind(model, kind));
  const uint32_t positions = positions_of(model);
  for (size_t i = 0; i < words.n; ++i) {
    SELFNORM_TRY(check_context(model, contexts + i * positions));
    SELFNORM_TRY(check_class(model, words.classes[i]));
  }
  const ResolvedKind what = resolved(model, kind);
  if (is_fused(model, what.kind)) return score_by_table(model, contexts, words, what, out);
  for (size_t i = 0, end; i < words.n; i = end) {  // neighbours of one context share its normalizer
    const uint32_t* context = contexts + i * positions;
    for (end = i + 1; end < words.n; ++end)
      if (!std::equal(context, context + positions, contexts + end * positions)) break;
    SELFNORM_TRY(score_classes(model, context, {words.classes + i, end - i}, kind, out + i));
  }
  return SELFNORM_OK;
}

std::string_view unknown_word(const selfnorm_model* model) {
  const auto place = model->file.metadata.find("unknown");
  return place == model->file.metadata.end() ? std::string_view("<unk>") : place->second;
}

selfnorm_status find_label(const selfnorm_model* model, std::string_view label, uint32_t* word) {
  const uint32_t k = class_of(model->layout, label);
  if (k == kEmptySlot) return fail_quoted(SELFNORM_ERROR_CLASS, "the model has no word", label);
  *word = k;
  return SELFNORM_OK;
}

}  // namespace
}  // namespace selfnorm::runtime

using namespace selfnorm::runtime;

extern "C" {

uint32_t selfnorm_order(const selfnorm_model* model) {
  return model->layout.encoder.kind == EncoderKind::Context ? positions_of(model) + 1 : 0;
}

selfnorm_status selfnorm_word_id(const selfnorm_model* model, const char* text, size_t length,
                                 uint32_t* word) {
  SELFNORM_TRY(check_language(model));
  if ((text == nullptr && length > 0) || word == nullptr) return fail_null();
  const uint32_t k = class_of(model->layout, {text == nullptr ? "" : text, length});
  if (k == kEmptySlot) return find_label(model, unknown_word(model), word);
  *word = k;
  return SELFNORM_OK;
}

selfnorm_status selfnorm_end_of_sentence(const selfnorm_model* model, uint32_t* word) {
  SELFNORM_TRY(check_language(model));
  if (word == nullptr) return fail_null();
  return find_label(model, "</s>", word);
}

selfnorm_status selfnorm_begin_sentence(const selfnorm_model* model, selfnorm_state* state) {
  SELFNORM_TRY(check_language(model));
  if (state == nullptr) return fail_null();
  *state = {};
  state->positions = positions_of(model);
  std::fill_n(state->words, state->positions, model->layout.classes);
  return SELFNORM_OK;
}

selfnorm_status selfnorm_score_word(const selfnorm_model* model, const selfnorm_state* in, uint32_t word,
                                    int kind, double* log_prob, selfnorm_state* out) {
  SELFNORM_TRY(check_state(model, in));
  if (log_prob == nullptr) return fail_null();
  SELFNORM_TRY(score_pairs(model, in->words, {&word, 1}, kind, log_prob));
  if (out == nullptr) return SELFNORM_OK;
  if (out != in) *out = *in;
  std::copy(out->words + 1, out->words + out->positions, out->words);
  out->words[out->positions - 1] = word;
  return SELFNORM_OK;
}

selfnorm_status selfnorm_score_words(const selfnorm_model* model, const selfnorm_state* in,
                                     const uint32_t* words, size_t n, int kind, double* out) {
  SELFNORM_TRY(check_state(model, in));
  return score_classes(model, in->words, {words, n}, kind, out);
}

selfnorm_status selfnorm_score_contexts(const selfnorm_model* model, const uint32_t* contexts,
                                        const uint32_t* words, size_t count, int kind, double* out) {
  SELFNORM_TRY(check_language(model));
  if (count > 0 && (contexts == nullptr || words == nullptr || out == nullptr)) return fail_null();
  return score_pairs(model, contexts, {words, count}, kind, out);
}

selfnorm_status selfnorm_encode_context(const selfnorm_model* model, const uint32_t* context, float* h) {
  SELFNORM_TRY(check_language(model));
  if (context == nullptr || h == nullptr) return fail_null();
  SELFNORM_TRY(check_context(model, context));
  return with_floats(model->layout.features, [&](float* state) {
    if (!model->encoder.context(context, state)) return fail_overflow();
    std::copy_n(state, model->layout.features, h);
    return SELFNORM_OK;
  });
}

uint64_t selfnorm_precompute_bytes(const selfnorm_model* model) {
  return HiddenTable::bytes(model->layout.encoder);
}

selfnorm_status selfnorm_precompute(selfnorm_model* model, unsigned threads) {
  SELFNORM_TRY(check_language(model));
  try {
    model->expect_scan();
    return model->encoder.precompute(threads) ? SELFNORM_OK : fail_overflow();
  } catch (const std::bad_alloc&) {
    return fail(SELFNORM_ERROR_MEMORY, "pre-computation needs %llu bytes, which the machine does not have",
                static_cast<unsigned long long>(selfnorm_precompute_bytes(model)));
  }
}

}  // extern "C"
