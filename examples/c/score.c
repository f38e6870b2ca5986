/* Scores one dense input with a selfnorm model, from plain C:
 *   cc -std=c11 score.c -lselfnorm_runtime -o score
 *   ./score model.safetensors 0.5 1 -2        (as many values as the model has features)
 * prints the three best classes with raw and exact log-probabilities, and with amortised ones when the model
 * has a cheap b(x) to subtract from the raw ones. */
#include <inttypes.h>
#include <selfnorm.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(void) {
  fprintf(stderr, "%s\n", selfnorm_error_message());
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL VALUE...\n", argv[0]);
    return 1;
  }
  selfnorm_model* model = NULL;
  if (selfnorm_open(argv[1], &model) != SELFNORM_OK || selfnorm_verify(model) == SELFNORM_ERROR_CHECKSUM)
    return fail();

  const size_t d = (size_t)argc - 2;
  float* x = malloc(d * sizeof *x);
  if (x == NULL) return 1;
  for (size_t j = 0; j < d; ++j) x[j] = strtof(argv[j + 2], NULL);

  uint32_t best[3];
  double raw[3], exact[3], amortised[3];
  const size_t n = selfnorm_classes(model) < 3 ? selfnorm_classes(model) : 3;
  if (selfnorm_top_dense(model, x, d, n, SELFNORM_RAW, best, raw) != SELFNORM_OK ||
      selfnorm_score_dense(model, x, d, best, n, SELFNORM_EXACT, exact) != SELFNORM_OK) {
    return fail();
  }
  const int has_b = selfnorm_has_amortised_normalizer(model);
  if (has_b && selfnorm_score_dense(model, x, d, best, n, SELFNORM_AMORTISED, amortised) != SELFNORM_OK) {
    return fail();
  }
  printf("class  raw        exact      %slabel\n", has_b ? "amortised  " : "");
  for (size_t i = 0; i < n; ++i) {
    size_t length = 0;
    const char* label = selfnorm_label(model, best[i], &length);
    printf("%-5" PRIu32 "  %9.6f  %9.6f  ", best[i], raw[i], exact[i]);
    if (has_b) printf("%9.6f  ", amortised[i]);
    printf("%.*s\n", (int)length, label ? label : "");
  }
  free(x);
  selfnorm_close(model);
  return 0;
}
