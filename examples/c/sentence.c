/* Scores a sentence with a selfnorm language model, from plain C:
 *   cc -std=c11 sentence.c -lselfnorm_runtime -o sentence
 *   ./sentence model.safetensors the cat sat
 * prints the raw and the exact log-probability of every word and of the end of the sentence, and their sums.
 */
#include <selfnorm.h>
#include <stdio.h>
#include <string.h>

static int fail(void) {
  fprintf(stderr, "%s\n", selfnorm_error_message());
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL WORD...\n", argv[0]);
    return 1;
  }
  selfnorm_model* model = NULL;
  selfnorm_state state;
  /* Pre-computation pays for itself after some ten thousand words; one sentence would not need it. */
  if (selfnorm_open(argv[1], &model) != SELFNORM_OK || selfnorm_precompute(model, 1) != SELFNORM_OK ||
      selfnorm_begin_sentence(model, &state) != SELFNORM_OK) {
    return fail();
  }
  double total_raw = 0, total_exact = 0;
  for (int i = 2; i <= argc; ++i) {
    const char* text = i < argc ? argv[i] : "</s>";
    uint32_t word = 0;
    double raw = 0, exact = 0;
    if (selfnorm_word_id(model, text, strlen(text), &word) != SELFNORM_OK ||
        selfnorm_score_words(model, &state, &word, 1, SELFNORM_EXACT, &exact) != SELFNORM_OK ||
        selfnorm_score_word(model, &state, word, SELFNORM_RAW, &raw, &state) != SELFNORM_OK) {
      return fail();
    }
    printf("%9.5f  %9.5f  %s\n", raw, exact, text);
    total_raw += raw;
    total_exact += exact;
  }
  printf("%9.5f  %9.5f  in all\n", total_raw, total_exact);
  selfnorm_close(model);
  return 0;
}
