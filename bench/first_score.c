/* first_score MODEL START: opens the model, scores class K/2 for x = 1, and prints the microseconds since
 * START, a CLOCK_MONOTONIC reading in nanoseconds that bench/score.cc takes before it starts this process. */
#define _POSIX_C_SOURCE 200809L
#include <selfnorm.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  static float x[4096];
  selfnorm_model* model = NULL;
  if (argc != 3 || selfnorm_open(argv[1], &model) != SELFNORM_OK) return 1;
  const size_t d = selfnorm_features(model);
  if (d > sizeof x / sizeof x[0]) return 1;
  for (size_t j = 0; j < d; ++j) x[j] = 1;
  const uint32_t k = selfnorm_classes(model) / 2;
  double out = 0;
  if (selfnorm_score_dense(model, x, d, &k, 1, SELFNORM_RAW, &out) != SELFNORM_OK) return 1;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long start = strtoll(argv[2], NULL, 10);
  printf("%.1f %.6f\n", (double)(now.tv_sec * 1000000000LL + now.tv_nsec - start) / 1000.0, out);
  selfnorm_close(model);
  return 0;
}
