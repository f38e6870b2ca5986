/* selfnorm runtime: opens a selfnorm model file (memory-mapped) and scores with it. C11; needs only the C and
 * C++ standard libraries.
 *
 * Raw log-probability of class k given x:  raw_k = log_carrier_k + w_k . x + bias_k - c
 * Exact log-normalizer:                    A(x)  = log sum_k exp(log_carrier_k + w_k . x + bias_k)
 * Exact log-probability:                   raw_k - (A(x) - c), at most 0; exp of all sums to 1, however large
 *                                          the scores
 * Amortised log-probability:               raw_k - b(x),  b(x) ~ A(x) - c a cheap function stored in the
 * model: b(x)  = a + v . x + u . max(0, V x + t), or a + v . x alone
 * A hierarchical model gives raw_k by the path of k in a tree; it is exact, and A(x) = c = 0.
 * A model may have a ladder of approximations a(x) of A(x), the rungs, each with its cost and a certified
 * error; a log-probability by one is raw_k - (a(x) - c) (below, at selfnorm_rungs).
 * In a model with an encoder the state h(x), selfnorm_features() values, stands in the place of x.
 * A chain gives log-probabilities of the labels of a sentence together (below, at the end).
 *
 * An open model is constant: any number of threads may use it at once. No call after selfnorm_open* allocates
 * memory, except selfnorm_precompute. States are kept on the stack, at most 768 KiB (20 KiB where neither the
 * states nor the embeddings of a context together have more than 1,024 values, and 64 KiB more by a rung of
 * kind nearest with at most 1,365 clusters). Every call that can fail
 * returns a selfnorm_status; selfnorm_error_message() then says, for the calling thread, what was found and
 * what was expected. Outputs are left untouched on failure, except as said at SELFNORM_ERROR_NOT_FINITE.
 */
#ifndef SELFNORM_H
#define SELFNORM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SELFNORM_API __attribute__((visibility("default")))
#else
#define SELFNORM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct selfnorm_model selfnorm_model;

typedef enum selfnorm_status {
  SELFNORM_OK = 0,
  SELFNORM_ERROR_ARGUMENT = 1,  /* a null pointer, an unknown flag, a top-N beyond the number of classes,
                                 * SELFNORM_AMORTISED for a model without b */
  SELFNORM_ERROR_IO = 2,        /* the file cannot be opened or mapped */
  SELFNORM_ERROR_FORMAT = 3,    /* the file is not a valid selfnorm model */
  SELFNORM_ERROR_MEMORY = 4,    /* out of memory while opening or pre-computing */
  SELFNORM_ERROR_FAMILY = 5,    /* the call is for another family of models, or another input */
  SELFNORM_ERROR_DIMENSION = 6, /* x does not have the model's number of features */
  SELFNORM_ERROR_CLASS = 7,     /* a class index >= selfnorm_classes(), or a label the model does not have */
  SELFNORM_ERROR_INDEX = 8,     /* sparse indices not strictly increasing, or beyond the model's features */
  /* x holds NaN or an infinity: nothing was written. The same code is given when a score of finite x is
   * beyond float32 or the file holds non-finite weights; then the outputs of classes computed before are
   * already written. */
  SELFNORM_ERROR_NOT_FINITE = 9,
  SELFNORM_ERROR_ATTRIBUTE = 10,  /* an attribute that the model does not have */
  SELFNORM_ERROR_CHECKSUM = 11,   /* the bytes are not those that selfnorm wrote: damaged, or changed */
  SELFNORM_ERROR_NO_CHECKSUM = 12 /* the file has none: written by the first release, or by another program */
} selfnorm_status;

typedef enum selfnorm_family {
  SELFNORM_MULTICLASS = 0,
  SELFNORM_JOINT = 1,
  SELFNORM_HIERARCHICAL = 2,
  SELFNORM_CHAIN = 3
} selfnorm_family;
typedef enum selfnorm_weights {
  SELFNORM_FLOAT32 = 0,
  SELFNORM_BFLOAT16 = 1,
  SELFNORM_INT8 = 2
} selfnorm_weights;

/* Which log-probabilities a call gives (its `kind`): SELFNORM_EXACT also computes A(x), at the cost of
 * reading every weight; SELFNORM_AMORTISED also computes b(x), at the cost of one dot product and one more
 * per hidden unit; SELFNORM_AUTO takes the cheapest rung of the ladder that is certified as the model
 * promises (selfnorm_promise), and exact where there is none; SELFNORM_LINEAR, SELFNORM_NETWORK and
 * SELFNORM_NEAREST take the cheapest rung of that kind that is, else the one of them with the smallest
 * certified error. All but exact and raw compute a(x) once for all classes of a call. SELFNORM_RUNG(i) takes
 * rung i. By AUTO or a rung no log-probability is above 0; raw and amortised ones, asked for by name, are as
 * they are. A ranking of all classes (selfnorm_top_*) reads every weight anyway: there SELFNORM_AUTO is
 * SELFNORM_EXACT. */
typedef enum selfnorm_kind {
  SELFNORM_RAW = 0,
  SELFNORM_EXACT = 1,
  SELFNORM_AMORTISED = 2, /* needs selfnorm_has_amortised_normalizer() */
  SELFNORM_AUTO = 3,
  SELFNORM_NEAREST = 4, /* this and the next two need a ladder with a rung of the kind */
  SELFNORM_LINEAR = 5,
  SELFNORM_NETWORK = 6
} selfnorm_kind;
#define SELFNORM_RUNG(i) (0x100 + (int)(i))

/* What the calling thread's last failed call found wrong; valid until its next failure. Never null. */
SELFNORM_API const char* selfnorm_error_message(void);

/* Opens a model file, or that of a run directory. The cost does not depend on its size: weights are read from
 * disk when first used. The file must not be truncated while open (replace it by renaming another over it).
 */
SELFNORM_API selfnorm_status selfnorm_open(const char* path, selfnorm_model** model);

/* Opens a model held in memory (aligned to 8 bytes), which is not copied and must outlive the model. */
SELFNORM_API selfnorm_status selfnorm_open_memory(const void* data, size_t size, selfnorm_model** model);

/* SELFNORM_OK when all bytes of the model are those that were written, by the checksum in the file. Opening
 * does not look: this reads the whole file, at the speed of memory or of the disk. A damaged model may still
 * open and give wrong numbers, so services call this once after opening what was copied or downloaded. */
SELFNORM_API selfnorm_status selfnorm_verify(const selfnorm_model* model);

/* Null is allowed. */
SELFNORM_API void selfnorm_close(selfnorm_model* model);

/* Properties of an open model; `model` must not be null. A joint model has 0 classes. The classes of a chain
 * are its labels, and it has 0 features and inputs. */
SELFNORM_API selfnorm_family selfnorm_model_family(const selfnorm_model* model);
SELFNORM_API selfnorm_weights selfnorm_model_weights(const selfnorm_model* model);
SELFNORM_API uint32_t selfnorm_classes(const selfnorm_model* model);
SELFNORM_API uint32_t selfnorm_features(const selfnorm_model* model);
SELFNORM_API uint32_t selfnorm_inputs(const selfnorm_model* model);                /* R, below */
SELFNORM_API double selfnorm_log_normalizer_constant(const selfnorm_model* model); /* the constant c */

/* Whether the model has b(x), 0 or 1, and its number of hidden units (0: linear, or there is none). */
SELFNORM_API int selfnorm_has_amortised_normalizer(const selfnorm_model* model);
SELFNORM_API size_t selfnorm_amortised_normalizer_units(const selfnorm_model* model);

/* A string of the model: not NUL-terminated, `*length` bytes, valid until close. Null (and *length 0) when
 * the model has no such string. A model of 1,000 classes or more whose labels are 0, 1, ..., K-1 does not
 * store them: null, too, and the label of a class is its number (selfnorm_metadata "labels" is then
 * "numbers"). Metadata keys are those of the file: "objective", "training", "audit", "text", ... */
SELFNORM_API const char* selfnorm_label(const selfnorm_model* model, uint32_t class_index, size_t* length);
SELFNORM_API const char* selfnorm_feature_name(const selfnorm_model* model, uint32_t feature, size_t* length);
SELFNORM_API const char* selfnorm_word(const selfnorm_model* model, uint32_t feature, size_t* length);
SELFNORM_API const char* selfnorm_metadata(const selfnorm_model* model, const char* key, size_t* length);

/* The first class with this label. By the index of the model when it has one (every language model, and other
 * models of 1,000 classes or more); otherwise linear in the number of classes, about 1 ns each. */
SELFNORM_API selfnorm_status selfnorm_class_of_label(const selfnorm_model* model, const char* label,
                                                     size_t length, uint32_t* class_index);

/* A dense x has exactly selfnorm_features() values; of a model with an encoder they are the state h. A sparse
 * x has nnz zero-based, strictly increasing indices below R = selfnorm_inputs() with their values; the rest
 * are zero. Without an encoder R = selfnorm_features(). With one (bag) each call on a sparse x computes
 *     v = sum_j a_j E_j / sum_j |a_j|,   h = v or max(0, U v + t)
 * first; a language model takes words instead (below). */

/* h[0 .. selfnorm_features()) = the state of a sparse x, of a model with a bag encoder. For many calls on one
 * x: they then take h as a dense x. */
SELFNORM_API selfnorm_status selfnorm_encode_sparse(const selfnorm_model* model, const uint32_t* index,
                                                    const float* value, size_t nnz, float* h);

/* out[i] = log-probability of classes[i], i < n. Raw cost: n dot products. */
SELFNORM_API selfnorm_status selfnorm_score_dense(const selfnorm_model* model, const float* x, size_t d,
                                                  const uint32_t* classes, size_t n, int kind, double* out);
SELFNORM_API selfnorm_status selfnorm_score_sparse(const selfnorm_model* model, const uint32_t* index,
                                                   const float* value, size_t nnz, const uint32_t* classes,
                                                   size_t n, int kind, double* out);

/* *out = A(x) (not A(x) - c), by one pass over the weights (hierarchical: 0). */
SELFNORM_API selfnorm_status selfnorm_log_normalizer_dense(const selfnorm_model* model, const float* x,
                                                           size_t d, double* out);
SELFNORM_API selfnorm_status selfnorm_log_normalizer_sparse(const selfnorm_model* model,
                                                            const uint32_t* index, const float* value,
                                                            size_t nnz, double* out);

/* *out = b(x), the approximation of A(x) - c that the model stores. */
SELFNORM_API selfnorm_status selfnorm_amortised_normalizer_dense(const selfnorm_model* model, const float* x,
                                                                 size_t d, double* out);
SELFNORM_API selfnorm_status selfnorm_amortised_normalizer_sparse(const selfnorm_model* model,
                                                                  const uint32_t* index, const float* value,
                                                                  size_t nnz, double* out);

/* The n <= selfnorm_classes() best classes, best first; equal scores by class index. The two outputs have n
 * places each and serve as the heap. A hierarchical model scores every class by its path, which is about
 * log2 K times as many dot products as a multiclass model needs. */
SELFNORM_API selfnorm_status selfnorm_top_dense(const selfnorm_model* model, const float* x, size_t d,
                                                size_t n, int kind, uint32_t* classes, double* log_probs);
SELFNORM_API selfnorm_status selfnorm_top_sparse(const selfnorm_model* model, const uint32_t* index,
                                                 const float* value, size_t nnz, size_t n, int kind,
                                                 uint32_t* classes, double* log_probs);

/* The ladder: rungs 0 .. selfnorm_rungs() - 1, none in files without one. A certificate says: with confidence
 * `conf`, |A(x) - a(x)| <= eps for all but a share rho of inputs, for all rungs of the model together,
 * provided that inputs are drawn like those it was certified on. eps is infinite where nothing could be
 * certified. */
typedef struct selfnorm_rung {
  const char* name; /* not NUL-terminated, valid until close */
  size_t name_length;
  int kind;    /* SELFNORM_RAW, _LINEAR, _NETWORK, _NEAREST or _EXACT */
  double cost; /* dot products of the size of x, on average */
  double rms, eps, rho, conf;
} selfnorm_rung;

SELFNORM_API size_t selfnorm_rungs(const selfnorm_model* model);
SELFNORM_API selfnorm_status selfnorm_rung_at(const selfnorm_model* model, size_t i, selfnorm_rung* out);
/* What SELFNORM_AUTO promises of this model: --within, --rho and --conf of the command that fitted its
 * ladder, or 0.1, 0.01 and 0.99. Any pointer may be null. */
SELFNORM_API void selfnorm_promise(const selfnorm_model* model, double* within, double* rho, double* conf);
/* The kind to ask for: SELFNORM_RUNG of the cheapest rung with an error of at most eps for all but a share
 * rho of inputs, with the confidence of the promise, or SELFNORM_EXACT. */
SELFNORM_API int selfnorm_kind_within(const selfnorm_model* model, double eps, double rho);
/* What is certified of the log-probabilities of this kind: 0 and 0 for exact ones, an infinite eps and rho =
 * 1 where there is no certificate. */
SELFNORM_API selfnorm_status selfnorm_error_bound(const selfnorm_model* model, int kind, double* eps,
                                                  double* rho);

/* A service watches its own certificate: of the calls selfnorm_score_* by a rung, one in `every` (0: none, as
 * at first) also computes A(x) and counts whether |A(x) - a(x)| is above the certified eps. `exceeded` much
 * above rho times `checked` says that inputs have changed: certify again. Any thread, at any time. */
SELFNORM_API void selfnorm_watch(selfnorm_model* model, uint64_t every);
SELFNORM_API void selfnorm_watched(const selfnorm_model* model, uint64_t* checked, uint64_t* exceeded);

/* Texts, of a model that was trained on them: the words, n-grams and weights of training. These calls take
 * memory for the features of the text; the first one of a model with a vocabulary makes an index of it.
 *
 * index[i], value[i], i < *nnz: the features of a text, for the calls on sparse x; SELFNORM_ERROR_ARGUMENT,
 * with *nnz set, when there are more than `capacity`. */
SELFNORM_API selfnorm_status selfnorm_encode_text(const selfnorm_model* model, const char* text,
                                                  size_t length, size_t capacity, uint32_t* index,
                                                  float* value, size_t* nnz);
/* out[i] = log-probability of classes[i] given the text, i < n. */
SELFNORM_API selfnorm_status selfnorm_score_text(const selfnorm_model* model, const char* text, size_t length,
                                                 const uint32_t* classes, size_t n, int kind, double* out);
/* The n best classes given the text, best first. */
SELFNORM_API selfnorm_status selfnorm_top_text(const selfnorm_model* model, const char* text, size_t length,
                                               size_t n, int kind, uint32_t* classes, double* log_probs);

/* Joint family: *out = w . x - c for one alternative's features x. */
SELFNORM_API selfnorm_status selfnorm_score_alternative_dense(const selfnorm_model* model, const float* x,
                                                              size_t d, double* out);
SELFNORM_API selfnorm_status selfnorm_score_alternative_sparse(const selfnorm_model* model,
                                                               const uint32_t* index, const float* value,
                                                               size_t nnz, double* out);

/* *out >= |score - score with the weights before quantisation, in exact arithmetic|, for the raw score of a
 * class (joint: class_index 0). With W the stored weights, S = sum_j |W_kj x_j|, L = sum_j |x_j| and n the
 * number of x_j summed: quantisation   float32: 0    bfloat16: 2^-8 S + 2^-134 L    int8: scale_k L / 2
 *   rounding       (n + 4) 2^-24 S + (n + 4) 2^-149 + 2^-50 (S + |log_carrier_k| + |bias_k| + |c|)
 * Hierarchical: the sum of this and 2^-50 over the nodes of the path. With an encoder: for the state as it
 * was computed. */
SELFNORM_API selfnorm_status selfnorm_score_error_bound_dense(const selfnorm_model* model, const float* x,
                                                              size_t d, uint32_t class_index, double* out);
SELFNORM_API selfnorm_status selfnorm_score_error_bound_sparse(const selfnorm_model* model,
                                                               const uint32_t* index, const float* value,
                                                               size_t nnz, uint32_t class_index, double* out);

/* Language models: p(w | the last n - 1 words), n = selfnorm_order() (0: the model is none). Words are the
 * classes, numbered from 0, and their labels are the words; in contexts one more, number selfnorm_classes(),
 * stands before the first word of a sentence. */
#define SELFNORM_MAX_ORDER 16

SELFNORM_API uint32_t selfnorm_order(const selfnorm_model* model);

/* The number of a word; of the model's unknown word (metadata "unknown", or else "<unk>") when it has no such
 * word; SELFNORM_ERROR_CLASS when it has neither. */
SELFNORM_API selfnorm_status selfnorm_word_id(const selfnorm_model* model, const char* text, size_t length,
                                              uint32_t* word);
/* The number of "</s>". */
SELFNORM_API selfnorm_status selfnorm_end_of_sentence(const selfnorm_model* model, uint32_t* word);

/* All that a model remembers of a sentence. Plain data: copy it freely. */
typedef struct selfnorm_state {
  uint32_t positions;                     /* n - 1 of the model it belongs to */
  uint32_t words[SELFNORM_MAX_ORDER - 1]; /* the last `positions` words, the oldest first */
} selfnorm_state;

SELFNORM_API selfnorm_status selfnorm_begin_sentence(const selfnorm_model* model, selfnorm_state* state);

/* *log_prob = log p(word | in), and *out = the state after the word. `out` may be `in`, or null. */
SELFNORM_API selfnorm_status selfnorm_score_word(const selfnorm_model* model, const selfnorm_state* in,
                                                 uint32_t word, int kind, double* log_prob,
                                                 selfnorm_state* out);

/* out[i] = log p(words[i] | in), i < n; the hidden state is computed once. */
SELFNORM_API selfnorm_status selfnorm_score_words(const selfnorm_model* model, const selfnorm_state* in,
                                                  const uint32_t* words, size_t n, int kind, double* out);

/* out[i] = log p(words[i] | contexts[i (n-1) .. (i+1) (n-1))), i < count, the oldest word first: the fastest
 * way to score many words, in any order. */
SELFNORM_API selfnorm_status selfnorm_score_contexts(const selfnorm_model* model, const uint32_t* contexts,
                                                     const uint32_t* words, size_t count, int kind,
                                                     double* out);

/* h[0 .. selfnorm_features()) = the state of a context of n - 1 words, as dense x of the other calls. */
SELFNORM_API selfnorm_status selfnorm_encode_context(const selfnorm_model* model, const uint32_t* context,
                                                     float* h);

/* Computes the products of the hidden layer with every word at every position once and for all (Devlin et al.
 * 2014), so that scoring one word takes n - 1 additions of vectors, a maximum and a dot product. Allocates
 * selfnorm_precompute_bytes(); SELFNORM_ERROR_MEMORY, and nothing changed, when that is more than the machine
 * has. `threads` share the work. The one call that is not for a model in use by other threads; a second one
 * does nothing, as for models without a hidden layer, of which the bytes are 0.
 * The products are kept as int16 with a scale s_j for each hidden unit j, s_j = sum_i max_w |P_i[w]_j| /
 * (32767
 * - (n - 1)): a raw score differs from the one before by at most (n - 1)/2 sum_j |w_kj| s_j, and by rounding.
 */
SELFNORM_API selfnorm_status selfnorm_precompute(selfnorm_model* model, unsigned threads);
SELFNORM_API uint64_t selfnorm_precompute_bytes(const selfnorm_model* model);

/* Chains: the labels y_1 .. y_T of a sentence x of T positions, together. Positions, labels (the classes) and
 * attributes are numbered from 0; with W, M, P and the bias of the model,
 *     raw(y) = sum_t u_t(y_t) + sum_{t>=1} v_t(y_{t-1}, y_t),
 *     u_t(k) = bias_k + sum_{a at t} value_a W[a,k],   v_t(j,k) = M[j,k] + sum_{a at t} value_a P[a,j,k],
 *     A(x) = log sum_y exp(raw(y)),   exact: raw - A(x), O(T L^2) for L labels,   amortised: raw - b(x), O(T)
 *     b(x) = a constant, one for each position, and a slope for each unigram attribute.
 * Raw and amortised sum raw(y) in double from the weights; exact takes it from the u_t and v_t of A, which
 * are rounded to float, and is at most 0: exact + A(x) differs from raw by their rounding. What templates
 * make of the text of a position is its attributes, such as "U00:the" (unigram, of W) or "B00:the" (bigram,
 * of P); the plain template "B" is M, and is not listed. */

SELFNORM_API uint32_t selfnorm_attributes(const selfnorm_model* model);      /* of W; 0: no chain */
SELFNORM_API uint32_t selfnorm_pair_attributes(const selfnorm_model* model); /* of P */

/* The number of an attribute; SELFNORM_ERROR_ATTRIBUTE for one that the model does not have, which callers
 * leave out. By the index of the model when it has one (1,000 attributes or more, except in files of older
 * versions); otherwise linear in their number. */
SELFNORM_API selfnorm_status selfnorm_attribute_id(const selfnorm_model* model, const char* text,
                                                   size_t length, uint32_t* number);
SELFNORM_API selfnorm_status selfnorm_pair_attribute_id(const selfnorm_model* model, const char* text,
                                                        size_t length, uint32_t* number);

/* Attributes prepared: those of position t are number[begin[t] .. begin[t+1]), in any order. */
typedef struct selfnorm_attribute_rows {
  const size_t* begin;    /* positions + 1 offsets that do not fall; the first need not be 0. Null: none */
  const uint32_t* number; /* null is allowed where there are none */
  const float* value;     /* one for each number; null: all are 1 */
} selfnorm_attribute_rows;

/* Plain data; zero what is not used. Bigram attributes of position 0 are ignored,
 * whatever they are. */
typedef struct selfnorm_sentence {
  size_t positions;
  selfnorm_attribute_rows unigram, bigram;
} selfnorm_sentence;

/* The bytes of memory that the calls below take as `workspace`, at any address; of one thread at a time. They
 * grow with positions, so the longest sentence's will do for all. 16 L + 8 bytes a position, L rounded up to
 * a multiple of 8, and 8 to 12 L^2. 0: no chain. */
SELFNORM_API size_t selfnorm_chain_workspace(const selfnorm_model* model, size_t positions);

/* labels[0 .. positions) = the labelling of highest probability (Viterbi; ties: the smaller label, of the
 * last position first), and *log_prob = its log-probability of this kind; log_prob may be null. */
SELFNORM_API selfnorm_status selfnorm_tag(const selfnorm_model* model, const selfnorm_sentence* sentence,
                                          void* workspace, size_t bytes, int kind, uint32_t* labels,
                                          double* log_prob);

/* *out = the log-probability of these labels. Only SELFNORM_EXACT needs the workspace: null otherwise. */
SELFNORM_API selfnorm_status selfnorm_score_labelling(const selfnorm_model* model,
                                                      const selfnorm_sentence* sentence,
                                                      const uint32_t* labels, int kind, void* workspace,
                                                      size_t bytes, double* out);

/* *out = A(x), by the forward recursion. */
SELFNORM_API selfnorm_status selfnorm_chain_log_normalizer(const selfnorm_model* model,
                                                           const selfnorm_sentence* sentence, void* workspace,
                                                           size_t bytes, double* out);

/* *out = b(x) */
SELFNORM_API selfnorm_status selfnorm_chain_amortised_normalizer(const selfnorm_model* model,
                                                                 const selfnorm_sentence* sentence,
                                                                 double* out);

/* out[t L + k] = p(y_t = k | x), for all positions t and labels k. */
SELFNORM_API selfnorm_status selfnorm_marginals(const selfnorm_model* model,
                                                const selfnorm_sentence* sentence, void* workspace,
                                                size_t bytes, double* out);

#ifdef __cplusplus
}
#endif

#endif
