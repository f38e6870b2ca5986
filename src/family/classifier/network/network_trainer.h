// Trains an encoder and the output layer on top of it together, by minibatches, with any objective but
// constraint. Both kinds of rows, embeddings and classes, are updated lazily: a step touches those it used.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/string_index.h"
#include "family/classifier/network/example_feed.h"
#include "family/classifier/trainer.h"
#include "family/classifier/validation.h"
#include "model/class_shard.h"
#include "model/model_file.h"

namespace selfnorm {

// What the network is to be; labels, text and vocabulary of the result are the caller's.
struct EncoderPlan {
  EncoderKind kind = EncoderKind::Bag;
  uint32_t inputs = 0;     // rows of the embedding
  uint32_t positions = 1;  // context: n - 1
  uint32_t classes = 0;
  uint64_t examples = 0;  // to train on, for network_bytes; 0: not known
  // inputs x dimension values to start from, or empty; a row that is all NaN starts at random.
  std::vector<float> embedding;
};

// Starts from the vectors that a file has for `words`, numbered as the embeddings. Returns how many of them
// have one, in words; nothing without such a file.
std::string take_embeddings(const EncoderOptions& encoder, const StringIndex& words, EncoderPlan& plan);

// The bytes that training takes: parameters, the copy that is kept, the state of their
// optimiser, tables of the noise, and what a minibatch and a validation hold.
double network_bytes(const EncoderPlan& plan, const TrainOptions& options);
double network_parameters(const EncoderPlan& plan, const TrainOptions& options);

// `valid` may be null. Validation looks at no more than ValidationEffort::kMostRows of it, chosen at random
// once, and at fewer where they would take more than a fifth of the work of training.
TrainResult train_network(const ExampleFeed& train, const ExampleFeed* valid, EncoderPlan plan,
                          const TrainOptions& options, const CheckpointOptions& checkpoint,
                          TrainObserver& observer);

// Where a network starts. Output weights are 0 and the biases give the frequencies of the classes in the
// training data, log h(k) + b_k = log (n_k + 1) / sum_j (n_j + 1): the first scores are log-probabilities,
// and with noise from the same frequencies the importance weights start at 1 (theory.md 3). The nodes of a
// tree start at their log-odds for the same distribution. Embeddings are uniform in +-1/2 (bag: +-1/e),
// hidden weights in +-sqrt(6 / (p + m)) (Glorot & Bengio 2010).

// Of a shard: the own rows of weights and biases.
ModelFile starting_network(EncoderPlan plan, const TrainOptions& options, std::span<const uint64_t> counts,
                           const ClassShard& shard = {});

// What (a sample of) the held-out data say of a network in training.

// Weighted means over examples; of a hierarchical model log Z is 0.
struct NetworkQuality {
  double nll = 0;           // exact
  double log_z = 0;         // A - b, b the part of the normalizer that depends on h
  double log_z_square = 0;  // its square

  // With the constant c subtracted.
  ValidationMeasure about(double c) const {
    return {nll, log_z, log_z_square - 2 * c * log_z + c * c, log_z_square - log_z * log_z};
  }
};
// Of the own rows of a shard: all processes together.
NetworkQuality network_quality(const ModelFile& model, const ExampleBatch& examples,
                               const ClassShard& shard = {});

// At most so many, chosen at random once; none of none.
ExampleBatch validation_examples(const ExampleFeed* valid, uint64_t seed, uint64_t rows);

// The NLL of the frequencies (n_k + 1) / sum_j (n_j + 1), which is where training starts.
double frequency_nll(const ExampleBatch& examples, std::span<const uint64_t> counts);

}  // namespace selfnorm
