// Any bytes as a model file: the C runtime and the library refuse them or use them, and agree on which.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "model/text_model.h"
#include "selfnorm.h"
#include "selfnorm/error.h"

namespace {

void score(const selfnorm_model* model) {
  const uint32_t d = selfnorm_features(model), classes = selfnorm_classes(model);
  const std::vector<float> x(d, 0.5f);
  const uint32_t index[] = {selfnorm_inputs(model) - 1}, list[] = {0, classes / 2};
  uint32_t best[2];
  double out[2];
  size_t length = 0;
  selfnorm_score_dense(model, x.data(), d, list, 2, SELFNORM_EXACT, out);
  selfnorm_score_sparse(model, index, x.data(), 1, list, 2, SELFNORM_RAW, out);
  selfnorm_top_dense(model, x.data(), d, 2, SELFNORM_EXACT, best, out);
  selfnorm_score_dense(model, x.data(), d, list, 2, SELFNORM_AMORTISED, out);
  selfnorm_top_sparse(model, index, x.data(), 1, 2, SELFNORM_AMORTISED, best, out);
  selfnorm_score_alternative_dense(model, x.data(), d, out);
  selfnorm_score_error_bound_dense(model, x.data(), d, 0, out);
  selfnorm_class_of_label(model, "b", 1, best);
  for (uint32_t i = 0; i < 8; ++i) {
    selfnorm_label(model, i, &length);
    selfnorm_feature_name(model, i, &length);
    selfnorm_word(model, i, &length);
  }
  selfnorm_metadata(model, "audit", &length);
  double eps = 0, rho = 0;
  for (size_t i = 0; i < selfnorm_rungs(model); ++i) {
    if (selfnorm_score_dense(model, x.data(), d, list, 2, SELFNORM_RUNG(i), out) == SELFNORM_OK &&
        !std::isfinite(out[0]))
      std::abort();
    selfnorm_score_sparse(model, index, x.data(), 1, list, 2, SELFNORM_RUNG(i), out);
    selfnorm_error_bound(model, SELFNORM_RUNG(i), &eps, &rho);
  }
  selfnorm_score_dense(model, x.data(), d, list, 2, SELFNORM_AUTO, out);
  std::vector<float> h(d);
  selfnorm_encode_sparse(model, index, x.data(), 1, h.data());
}

// A sentence with and without the table, which is built when it is small.
void speak(selfnorm_model* model) {
  constexpr uint64_t kLargestTable = 1 << 20;
  selfnorm_state state;
  uint32_t word = 0;
  if (selfnorm_begin_sentence(model, &state) != SELFNORM_OK) return;
  for (int round = 0; round < 2; ++round) {
    double out[2];
    const uint32_t list[] = {0, selfnorm_classes(model) - 1};
    selfnorm_word_id(model, "a", 1, &word);
    for (const int kind : {SELFNORM_RAW, SELFNORM_EXACT, SELFNORM_AMORTISED}) {
      if (selfnorm_score_word(model, &state, word, kind, out, &state) == SELFNORM_OK &&
          !std::isfinite(out[0]))
        std::abort();
      selfnorm_score_words(model, &state, list, 2, kind, out);
    }
    selfnorm_end_of_sentence(model, &word);
    if (selfnorm_precompute_bytes(model) > kLargestTable) return;
    selfnorm_precompute(model, 1);
  }
}

// Every feature of a text is one that the model has.
void encode(const selfnorm::ModelFile& file) {
  for (const uint32_t column : selfnorm::restored_text(file, "fuzz").encode("x y z").column)
    if (column >= file.inputs()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint64_t> memory(size / 8 + 1);
  if (size > 0) std::memcpy(memory.data(), data, size);
  selfnorm_model* model = nullptr;
  const selfnorm_status status = selfnorm_open_memory(memory.data(), size, &model);
  if (status == SELFNORM_OK) {
    score(model);
    speak(model);
  }
  selfnorm_close(model);
  try {
    const selfnorm::ModelFile file =
        selfnorm::parse_model(std::as_bytes(std::span(memory)).first(size), "fuzz");
    if (status != SELFNORM_OK) std::abort();
    if (file.input == selfnorm::ModelInput::Text) encode(file);
  } catch (const selfnorm::Error&) {
  }
  return 0;
}
