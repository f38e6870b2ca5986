/* Mean, 90% interval and log-density of a regressor for rows on standard input, a value a column, blanks
 * between them; a value that is no number is a category, NA is missing.
 *     cc predict.c $(pkg-config --cflags --libs selfnorm) -o predict && ./predict out/house-snl < rows.txt */
#include <math.h>
#include <selfnorm_table.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(void) {
  fprintf(stderr, "predict: %s\n", selfnorm_error_message());
  return 1;
}

int main(int argc, char** argv) {
  selfnorm_table* model;
  const double levels[] = {0.05, 0.95};
  char line[65536];
  if (argc != 2) {
    fputs("usage: predict RUN < ROWS\n", stderr);
    return 1;
  }
  if (selfnorm_table_open(argv[1], &model) != SELFNORM_OK) return fail();
  const size_t columns = selfnorm_table_columns(model), bytes = selfnorm_table_workspace(model);
  double* x = malloc((columns + 1) * sizeof *x);
  void* workspace = malloc(bytes); /* once: no call allocates */
  printf("columns:");
  for (size_t j = 0; j < columns; ++j) {
    size_t length;
    const char* name = selfnorm_table_column(model, j, &length);
    printf(" %.*s", (int)length, name ? name : "");
  }
  putchar('\n');
  while (fgets(line, sizeof line, stdin) != NULL) {
    size_t n = 0;
    for (char* word = strtok(line, " \t\n"); word != NULL && n < columns; word = strtok(NULL, " \t\n")) {
      char* end;
      x[n] = strcmp(word, "NA") == 0 ? NAN : strtod(word, &end);
      if (!isnan(x[n]) && *end != '\0') x[n] = selfnorm_table_level(model, n, word, strlen(word));
      ++n;
    }
    selfnorm_prediction p;
    double q[2], log_density;
    if (selfnorm_table_predict(model, x, n, levels, 2, workspace, bytes, &p, q) != SELFNORM_OK) return fail();
    if (selfnorm_table_log_density_of(model, x, n, p.mean, SELFNORM_EXACT, workspace, bytes, &log_density) !=
        SELFNORM_OK)
      return fail();
    printf("mean %.6g  90%% of values in %.6g .. %.6g  log-density at the mean %.4f\n", p.mean, q[0], q[1],
           log_density);
  }
  free(workspace);
  free(x);
  selfnorm_table_close(model);
  return 0;
}
