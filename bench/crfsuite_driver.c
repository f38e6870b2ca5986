// CRFsuite as the peer of bench/crf.py, through its own interfaces. Attribute files are label TAB
// attribute[:value] ..., '\:' and '\\' escaped, a blank line between sentences. Every position has one
// attribute more, BIAS, because selfnorm's chains have biases.
//   crfsuite_driver train FILE MODEL C2 ITERATIONS MEMORY
//       minimises sum_i nll_i + C2 |w|^2 by L-BFGS, all features possible. Lines "ITERATION SECONDS VALUE",
//       from the call of the trainer; 0 is where L-BFGS begins, after all set-up. The model, its text in
//       MODEL.txt
//   crfsuite_driver tag MODEL FILE          all read first: seconds of reading and of labelling
//   crfsuite_driver tag-stream MODEL FILE   sentence by sentence, labels to standard output
//       tag, tag-stream: one JSON object, to standard error; `open` is all before, the first sentence with it
//   crfsuite_driver nll MODEL FILE          one JSON object: -log p of the labels as they are, summed;
//   sentences with a label that
//                                           the model does not have are left out
//   crfsuite_driver gradient FILE ROUNDS    objective and gradient at w = sine_weight: value, seconds
#define _GNU_SOURCE
#include <crfsuite.h>
#include <os.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crf1d.h"
#include "crfsuite_internal.h"
#include "logging.h"
#include "params.h"

static const char kBias[] = "BIAS";

/* Processor time, which on a busy machine is what the wall clock shows on an idle one: there is one thread.
 */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char* what, const char* which) {
  fprintf(stderr, "crfsuite_driver: %s %s\n", what, which);
  exit(1);
}

/* Undoes the escapes in place and returns the value after the colon, 1 where there is none. */
static double split_value(char* field) {
  char *from = field, *to = field;
  for (; *from != '\0' && *from != ':'; ++from) {
    if (*from == '\\' && (from[1] == ':' || from[1] == '\\')) ++from;
    *to++ = *from;
  }
  const double value = *from == ':' ? strtod(from + 1, NULL) : 1;
  *to = '\0';
  return value;
}

typedef struct {
  FILE* file;
  crfsuite_dictionary_t *attributes, *labels;
  int learns; /* names that are new get numbers; otherwise they are left out, labels -1 */
  char* line;
  size_t room;
} reader_t;

static int number_of(const reader_t* reader, crfsuite_dictionary_t* names, const char* name) {
  return reader->learns ? names->get(names, name) : names->to_id(names, name);
}

static void add_attribute(const reader_t* reader, crfsuite_item_t* item, const char* name, double value) {
  const int id = number_of(reader, reader->attributes, name);
  if (id < 0) return;
  crfsuite_attribute_t attribute;
  crfsuite_attribute_set(&attribute, id, value);
  crfsuite_item_append_attribute(item, &attribute);
}

/* The next sentence into `sentence`, initialised here; its length, 0 at the end. */
static int read_sentence(reader_t* reader, crfsuite_instance_t* sentence) {
  crfsuite_instance_init(sentence);
  ssize_t size;
  while ((size = getline(&reader->line, &reader->room, reader->file)) >= 0) {
    if (size > 0 && reader->line[size - 1] == '\n') reader->line[--size] = '\0';
    if (size == 0) {
      if (sentence->num_items > 0) break;
      continue;
    }
    crfsuite_item_t item;
    crfsuite_item_init(&item);
    char *rest = reader->line, *label = strsep(&rest, "\t"), *field;
    while ((field = strsep(&rest, "\t")) != NULL) {
      const double value = split_value(field);
      add_attribute(reader, &item, field, value);
    }
    add_attribute(reader, &item, kBias, 1);
    crfsuite_instance_append(sentence, &item, number_of(reader, reader->labels, label));
    crfsuite_item_finish(&item);
  }
  return sentence->num_items;
}

static reader_t open_file(const char* path, crfsuite_dictionary_t* attributes, crfsuite_dictionary_t* labels,
                          int learns) {
  reader_t reader = {fopen(path, "r"), attributes, labels, learns, NULL, 0};
  if (reader.file == NULL) fail("cannot open", path);
  return reader;
}

static void read_all(const char* path, crfsuite_data_t* data, int learns) {
  reader_t reader = open_file(path, data->attrs, data->labels, learns);
  crfsuite_instance_t sentence;
  while (read_sentence(&reader, &sentence) > 0) {
    crfsuite_data_append(data, &sentence);
    crfsuite_instance_finish(&sentence);
  }
  fclose(reader.file);
  free(reader.line);
}

static void learn_all(const char* path, crfsuite_data_t* data) {
  crfsuite_data_init(data);
  if (!crfsuite_create_instance("dictionary", (void**)&data->attrs) ||
      !crfsuite_create_instance("dictionary", (void**)&data->labels))
    fail("no", "dictionary");
  read_all(path, data, 1);
}

typedef struct {
  double start;
  int iteration;
} progress_t;

/* The trainer tells its progress in words only; the values are taken before they are rounded to text. */
static int on_message(void* user, const char* format, va_list arguments) {
  progress_t* progress = user;
  if (strncmp(format, "L-BFGS optimization", 19) == 0) printf("0 %.6f nan\n", now() - progress->start);
  if (strncmp(format, "***** Iteration", 15) == 0) progress->iteration = va_arg(arguments, int);
  if (strncmp(format, "Loss:", 5) == 0)
    printf("%d %.6f %.9f\n", progress->iteration, now() - progress->start, va_arg(arguments, double));
  return 0;
}

static crfsuite_model_t* open_model(const char* path) {
  crfsuite_model_t* model = NULL;
  if (crfsuite_create_instance_from_file(path, (void**)&model) != 0) fail("cannot open the model", path);
  return model;
}

static void train(char** argument) {
  crfsuite_data_t data;
  crfsuite_trainer_t* trainer;
  learn_all(argument[0], &data);
  if (!crfsuite_create_instance("train/crf1d/lbfgs", (void**)&trainer)) fail("no", "trainer");
  crfsuite_params_t* params = trainer->params(trainer);
  params->set(params, "feature.possible_states", "1");
  params->set(params, "feature.possible_transitions", "1");
  params->set(params, "c2", argument[2]);
  params->set(params, "max_iterations", argument[3]);
  params->set(params, "num_memories", argument[4]);
  params->set(params, "delta", "0");
  params->set(params, "epsilon", "0");
  progress_t progress = {now(), 0};
  trainer->set_message_callback(trainer, &progress, on_message);
  if (trainer->train(trainer, &data, argument[1], -1) != 0) fail("training failed on", argument[0]);

  char* name;
  if (asprintf(&name, "%s.txt", argument[1]) < 0) fail("no memory for", argument[1]);
  FILE* text = fopen(name, "w");
  if (text == NULL) fail("cannot write", name);
  crfsuite_model_t* model = open_model(argument[1]);
  model->dump(model, text);
  fclose(text);
}

/* The tagger of a model; its names are those of `data`. */
static crfsuite_tagger_t* open_tagger(const char* path, crfsuite_data_t* data) {
  crfsuite_tagger_t* tagger;
  crfsuite_model_t* model = open_model(path);
  crfsuite_data_init(data);
  if (model->get_tagger(model, &tagger) || model->get_attrs(model, &data->attrs) ||
      model->get_labels(model, &data->labels))
    fail("cannot use the model", path);
  return tagger;
}

static long label_sentence(crfsuite_tagger_t* tagger, crfsuite_instance_t* sentence, int* labels) {
  double score;
  tagger->set(tagger, sentence);
  tagger->viterbi(tagger, labels, &score);
  return sentence->num_items;
}

static void tag(char** argument, int streams) {
  enum { kLongest = 100000 };
  int* labels = malloc(kLongest * sizeof(int));
  crfsuite_data_t data;
  crfsuite_tagger_t* tagger = open_tagger(argument[0], &data);
  long tokens = 0, right = 0;
  double start = now(), read = start;
  if (streams) {
    reader_t reader = open_file(argument[1], data.attrs, data.labels, 0);
    crfsuite_instance_t sentence;
    int length = read_sentence(&reader, &sentence);
    start = read = now();
    for (; length > 0; length = read_sentence(&reader, &sentence)) {
      if (length > kLongest) fail("too long a sentence in", argument[1]);
      tokens += label_sentence(tagger, &sentence, labels);
      for (int t = 0; t < sentence.num_items; ++t) {
        const char* name = NULL;
        data.labels->to_string(data.labels, labels[t], &name);
        puts(name);
        data.labels->free(data.labels, name);
        right += labels[t] == sentence.labels[t];
      }
      puts("");
      crfsuite_instance_finish(&sentence);
    }
    fflush(stdout);
  } else {
    read_all(argument[1], &data, 0);
    read = now();
    for (int i = 0; i < data.num_instances; ++i) {
      crfsuite_instance_t* sentence = &data.instances[i];
      if (sentence->num_items > kLongest) fail("too long a sentence in", argument[1]);
      tokens += label_sentence(tagger, sentence, labels);
      for (int t = 0; t < sentence->num_items; ++t) right += labels[t] == sentence->labels[t];
    }
  }
  fprintf(stderr, "{\"tokens\": %ld, \"right\": %ld, \"open\": %.6f, \"read\": %.6f, \"label\": %.6f}\n",
          tokens, right, start, read - start, now() - read);
}

static int has_all_labels(const crfsuite_instance_t* sentence) {
  for (int t = 0; t < sentence->num_items; ++t)
    if (sentence->labels[t] < 0) return 0;
  return 1;
}

static void nll(char** argument) {
  crfsuite_data_t data;
  crfsuite_tagger_t* tagger = open_tagger(argument[0], &data);
  read_all(argument[1], &data, 0);
  long sentences = 0, tokens = 0, right = 0;
  double sum = 0;
  for (int i = 0; i < data.num_instances; ++i) {
    crfsuite_instance_t* sentence = &data.instances[i];
    if (!has_all_labels(sentence)) continue;
    int* labels = malloc((size_t)sentence->num_items * sizeof(int));
    double score, log_z;
    tokens += label_sentence(tagger, sentence, labels);
    tagger->score(tagger, sentence->labels, &score);
    tagger->lognorm(tagger, &log_z);
    sum += log_z - score;
    ++sentences;
    for (int t = 0; t < sentence->num_items; ++t) right += labels[t] == sentence->labels[t];
    free(labels);
  }
  printf("{\"sentences\": %ld, \"tokens\": %ld, \"right\": %ld, \"nll\": %.6f}\n", sentences, tokens, right,
         sum);
}

/* The same numbers in bench/chain_gradient.cc; names are one letter and a number. */
static double sine_weight(int from, int to) { return 0.5 * __builtin_sin(1 + 0.7 * from + 1.3 * to); }

static int number_in(crfsuite_dictionary_t* names, int id) {
  const char* name = NULL;
  names->to_string(names, id, &name);
  const int number = strcmp(name, kBias) == 0 ? -1 : atoi(name + 1);
  names->free(names, name);
  return number;
}

static void gradient(char** argument) {
  crfsuite_data_t data;
  dataset_t set;
  learn_all(argument[0], &data);
  dataset_init_trainset(&set, &data, -1);
  encoder_t* encoder = crf1d_create_encoder();
  crfsuite_params_t* params = params_create_instance();
  encoder->exchange_options(encoder, params, 0);
  params->set(params, "feature.possible_states", "1");
  params->set(params, "feature.possible_transitions", "1");
  encoder->exchange_options(encoder, params, -1);
  logging_t log = {NULL, NULL, 0};
  encoder->initialize(encoder, &set, &log);

  /* Features in the order of crf1df_generate: by kind, source and label; here with all of them possible. */
  const int labels = data.labels->num(data.labels), attributes = data.attrs->num(data.attrs);
  if (encoder->num_features != (attributes + labels) * labels) fail("unexpected features in", argument[0]);
  double *w = calloc(encoder->num_features, sizeof(double)),
         *g = calloc(encoder->num_features, sizeof(double));
  for (int k = 0; k < encoder->num_features; ++k) {
    const int row = k / labels, to = number_in(data.labels, k % labels);
    const int from = row < attributes ? number_in(data.attrs, row) : number_in(data.labels, row - attributes);
    w[k] = from < 0 ? 0 : sine_weight(from, to);
  }
  for (int round = 0; round < atoi(argument[1]); ++round) {
    double value, start = now();
    encoder->objective_and_gradients_batch(encoder, &set, w, &value, g);
    printf("{\"value\": %.9f, \"seconds\": %.6f}\n", value, now() - start);
  }
}

int main(int count, char** argument) {
  if (count == 7 && strcmp(argument[1], "train") == 0)
    train(argument + 2);
  else if (count == 4 && strcmp(argument[1], "tag") == 0)
    tag(argument + 2, 0);
  else if (count == 4 && strcmp(argument[1], "tag-stream") == 0)
    tag(argument + 2, 1);
  else if (count == 4 && strcmp(argument[1], "nll") == 0)
    nll(argument + 2);
  else if (count == 4 && strcmp(argument[1], "gradient") == 0)
    gradient(argument + 2);
  else
    fail(
        "usage: train FILE MODEL C2 ITERATIONS MEMORY | tag MODEL FILE | tag-stream MODEL FILE | nll MODEL "
        "FILE |",
        "gradient FILE ROUNDS");
  return 0;
}
