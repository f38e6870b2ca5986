// Everything a training run can be told, with the formula, the default and the range of each value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_file.h"
#include "objective/registry.h"
#include "selfnorm/progress.h"

namespace selfnorm {

// The part of a model before its output layer (model/encoder.h).
struct EncoderOptions {
  // identity (dense x), sparse (linear in sparse x), bag (of embeddings of sparse x), context (language
  // models); auto: identity or sparse, as the data are
  std::string kind = "auto";
  uint32_t dimension = 100;  // bag, context: e, the size of an embedding; 1..4096
  uint32_t hidden = 0;       // bag, context: m, units of the hidden layer; 0: none; at most 4096
  double dropout = 0;        // the share of the inputs of every layer left out in training; in [0, 1)
  std::string embeddings;    // bag, context: file of pretrained embeddings (word2vec text); "" random

  bool is_network() const { return kind == "bag" || kind == "context"; }
  void validate() const;  // throws Error naming the option, the value and the range
};

// Loss minimised: (1/sum w_i) sum_i w_i (nll_i + penalty_i) + l2/2 |W|^2 + l1 |W|_1; biases are not
// regularised. With a bag or context encoder l2 is decoupled weight decay instead: every step multiplies
// weights and embeddings by 1 - rate l2 (optim/adaptive.h), and the loss reported has no such term.
struct TrainOptions {
  ObjectiveOptions objective;
  EncoderOptions encoder;
  double l2 = 1e-6;  // >= 0
  // lbfgs with validation data: l2 starts here and becomes a quarter whenever their NLL stops falling, down
  // to l2; at most l2: no such path
  double l2_from = 0;
  double l1 = 0.0;  // >= 0; OWL-QN with lbfgs, soft threshold with adagrad/adam

  std::string optimiser = "auto";   // auto | lbfgs | adagrad | adam
  uint64_t iterations = 500;        // lbfgs: at most; >= 1
  double tolerance = 1e-4;          // lbfgs: stop when |gradient| <= tolerance * the one at the start; > 0
  uint64_t history = 10;            // lbfgs: correction pairs kept; 1..100
  uint64_t epochs = 20;             // adagrad, adam: passes over the data; >= 1
  uint64_t batch = 256;             // adagrad, adam: examples per step; >= 1
  double learning_rate = 0.0;       // adagrad, adam: > 0, or 0 for 2 / rms |x| (adam: 0.1 / rms |x|)
  std::string schedule = "linear";  // constant | linear (to 0) | cosine (to 0) | inverse-sqrt
  uint64_t patience = 5;  // validation checks without improvement before stopping; 0 never stops early
  // penalty, sampled, nce, ranking-nce, is, snl: c (b) becomes the mean of A on the validation data, which
  // removes what over-fitting adds to log Z; without validation data, with a given centre, or false: as
  // trained
  bool calibrate = true;

  std::string scale =
      "auto";  // dense x: standard (x-mean)/std, folded into the weights at the end | none | auto
  std::string precision = "float";  // float | double: arithmetic of scores and gradients
  std::string weights = "float32";  // float32 | bfloat16 | int8: how the model file stores the weights
  // none | classes: processes of a job have the rows of W of some classes each (model/class_shard.h)
  std::string shard = "none";
  std::string class_weight;        // "" | "balanced" | "label=2.5,other=0.5"
  std::vector<float> log_carrier;  // multiclass: fixed log h(k) by class index; empty means 0

  uint64_t seed = 0;
  int threads = 0;  // 0 = all cores; the result does not depend on it

  void validate() const;  // throws Error naming the option, the value and the range
};

// What the training of a "classifier", "lm" or "crf" can be told.
OptionTable train_option_table(const std::string& family, TrainOptions& o);

// A run in words: what its model records of it, and what tells it from other runs. Nothing that depends on
// the clock or the machine enters, so that the same command gives the same bytes.

WeightKind weight_kind(const std::string& name);  // float32 | bfloat16 | int8

// JSON of the objective with the constants it used; `alpha` is the multiplier that constraint ended with.
std::string objective_record(const ObjectiveOptions& objective, double alpha);

// JSON of the run.
std::string training_record(const TrainOptions& options, const std::string& optimiser,
                            const std::string& reason, uint64_t examples, const Progress& last);

// The GPU that took part in the steps, into the record; empty: none.
void note_training_device(const std::string& name, ModelFile& model);

// Everything the bits of the result depend on, besides the data.
std::string options_text(const TrainOptions& options, const std::string& optimiser);

// Whether the constant that log Z settles at has to be estimated after training.
bool needs_constant(const ObjectiveOptions& objective);

// Throws Error for what classes that are split over processes cannot do.
void check_shard(const TrainOptions& options);

// With gamma = 0 `sampled` never normalises anything.
void warn_about_gamma(const ObjectiveOptions& objective, TrainObserver& observer);

// In-batch noise needs two examples in a minibatch; draws are counted in 32 bits. Throws Error.
void check_noise(const ObjectiveOptions& objective, uint64_t batch);

// The centre is an option of penalty and constraint; nce and snl keep a learned b in its place.
void resolve_centre(bool is_joint, ObjectiveOptions& objective);

}  // namespace selfnorm
