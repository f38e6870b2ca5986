// A minibatch of sentences as a CRF of its own: their attributes are renumbered 0 .. u-1, and the rows of
// theta they use, with all transitions and biases, are copied into a small theta. What a step costs does not
// depend on how many attributes there are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/sentences/sequences.h"
#include "family/classifier/loop.h"
#include "model/crf/crf_model.h"

namespace selfnorm {

// The sentences listed, in that order; unseen labels are those of all.
Sequences subset(const Sequences& data, std::span<const uint64_t> sentences);

struct CrfBatch {
  Sequences data;
  CrfShape shape;
  std::vector<uint32_t> unigrams, bigrams;  // number in the batch -> number in the model; increasing
};

// A run of parameters that the batch and the model both have.
struct CrfBlock {
  size_t local = 0, global = 0, size = 0;
};

class CrfBatchMaker {
 public:
  // Keeps a reference.
  CrfBatchMaker(const Sequences& data, const CrfShape& shape);

  CrfBatch make(std::span<const uint64_t> sentences);
  // Blocks of the batch's theta in order: unigram rows, transitions, bigram rows, biases.
  std::vector<CrfBlock> blocks(const CrfBatch& batch) const;

 private:
  std::vector<uint32_t> renumber(AttributeRows& rows, std::vector<uint32_t>& local) const;

  const Sequences& data_;
  CrfShape shape_;
  std::vector<uint32_t> local_unigram_, local_bigram_;  // number in the model -> number in the batch
};

// The probability that a minibatch of `batch` random sentences has an attribute, 1 - (1 - df/n)^batch.
std::vector<double> touch_probability(const Sequences& data, const AttributeRows& rows, uint64_t attributes,
                                      uint64_t batch);

// The root mean square of |x_t| over the positions, x_t the unigram attributes; 1 when there are none.
double position_norm(const AttributeRows& unigram);

// One minibatch of sentences: the part of CRF training that the loop of minibatches
// (family/classifier/loop.h) leaves to the model. `sampled` normalises the head of the batch.

// Keeps references. `batch` is the number of sentences of a step.
std::unique_ptr<MinibatchStep<float>> make_crf_step(const Sequences& train, const CrfShape& shape,
                                                    const TrainOptions& options, uint64_t batch);

}  // namespace selfnorm
