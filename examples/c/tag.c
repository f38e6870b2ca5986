/* Labels a sentence with a selfnorm chain, from plain C:
 *   printf 'U0:%%x[0,0]\nU1:%%x[-1,0]\nU2:%%x[1,0]\nB\n' > templates
 *   selfnorm train crf words.conll --template templates --out tagger
 *   cc -std=c11 tag.c -lselfnorm_runtime -o tag
 *   ./tag tagger/model.safetensors the cat sat
 * prints every word with its label and the label's marginal probability, then the raw and the exact
 * log-probability of all labels together. What the templates make of a position is written again in
 * attributes_of. */
#include <selfnorm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPLATES = 3 };

static int fail(void) {
  fprintf(stderr, "%s\n", selfnorm_error_message());
  return 1;
}

/* Word t + offset, or what stands for it beyond the sentence. */
static const char* word_at(char** words, int n, int at) {
  return at < 0 ? "_B-1" : at >= n ? "_B+1" : words[at];
}

/* The numbers of the attributes of position t; how many there are. Those that the model does not have are
 * left out. */
static size_t attributes_of(const selfnorm_model* model, char** words, int n, int t, uint32_t* number) {
  static const int offset[TEMPLATES] = {0, -1, 1};
  size_t count = 0;
  for (int i = 0; i < TEMPLATES; ++i) {
    char text[256];
    const int length = snprintf(text, sizeof text, "U%d:%s", i, word_at(words, n, t + offset[i]));
    if (length > 0 && (size_t)length < sizeof text &&
        selfnorm_attribute_id(model, text, (size_t)length, number + count) == SELFNORM_OK)
      ++count;
  }
  return count;
}

static int tag(const selfnorm_model* model, char** words, int n) {
  const size_t positions = (size_t)n, classes = selfnorm_classes(model);
  const size_t bytes = selfnorm_chain_workspace(model, positions);
  size_t* begin = calloc(positions + 1, sizeof *begin);
  uint32_t* number = malloc(positions * TEMPLATES * sizeof *number);
  uint32_t* labels = malloc(positions * sizeof *labels);
  double* marginals = malloc(positions * classes * sizeof *marginals);
  void* workspace = malloc(bytes);
  int status = 1;
  if (begin != NULL && number != NULL && labels != NULL && marginals != NULL && workspace != NULL) {
    for (int t = 0; t < n; ++t)
      begin[t + 1] = begin[t] + attributes_of(model, words, n, t, number + begin[t]);
    const selfnorm_sentence sentence = {.positions = positions, .unigram = {begin, number, NULL}};
    double raw = 0, exact = 0;
    if (begin[positions] == 0) {
      fprintf(stderr,
              "the model has none of the attributes U0:%s, ...; was it trained with the templates above?\n",
              words[0]);
    } else if (selfnorm_tag(model, &sentence, workspace, bytes, SELFNORM_EXACT, labels, &exact) !=
                   SELFNORM_OK ||
               selfnorm_score_labelling(model, &sentence, labels, SELFNORM_RAW, NULL, 0, &raw) !=
                   SELFNORM_OK ||
               selfnorm_marginals(model, &sentence, workspace, bytes, marginals) != SELFNORM_OK) {
      fail();
    } else {
      for (size_t t = 0; t < positions; ++t) {
        size_t length = 0;
        const char* label = selfnorm_label(model, labels[t], &length);
        printf("%s\t%.*s\t%.4f\n", words[t], (int)length, label ? label : "",
               marginals[t * classes + labels[t]]);
      }
      printf("raw %.5f  exact %.5f\n", raw, exact);
      status = 0;
    }
  }
  free(workspace);
  free(marginals);
  free(labels);
  free(number);
  free(begin);
  return status;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL WORD...\n", argv[0]);
    return 1;
  }
  selfnorm_model* model = NULL;
  if (selfnorm_open(argv[1], &model) != SELFNORM_OK) return fail();
  if (selfnorm_model_family(model) != SELFNORM_CHAIN) {
    fprintf(stderr, "%s is not a chain\n", argv[1]);
    return 1;
  }
  const int status = tag(model, argv + 2, argc - 2);
  selfnorm_close(model);
  return status;
}
