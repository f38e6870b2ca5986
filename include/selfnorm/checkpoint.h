// The softmax head of a checkpoint directory of Hugging Face's layout, normalised without loss: afterwards
// the raw logits of the model are log-probabilities, less the constant where the head has no bias.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "selfnorm/audit.h"

namespace selfnorm {

struct CheckpointHeadOptions {
  std::string out;  // a new directory; empty: DIR-normalized
  std::string
      states_name;  // of the array of states in npz and safetensors files; empty: as they are usually called
  std::string weight_name, bias_name;  // empty: as architectures call them
  uint32_t vocabulary = 0;             // rows of W that are classes, the others are padding; 0: all
  bool links = false;                  // what does not change is linked, not copied
  double hold_out = 0.1;               // of the states: they only measure
  double eps = 0.1, rho = 0.01, confidence = 0.99;  // of the certificate
  uint64_t seed = 0;
};

struct NormalizedCheckpoint {
  std::string out, shard, weight;  // the directory, the file in it that was written anew, the tensor
  bool was_tied = false;
  uint32_t classes = 0, features = 0;
  uint64_t states = 0, held_out = 0;
  double log_normalizer = 0;  // log p = logit - this; 0 where it went into the biases
  double scale = 1;           // of the logits, folded in
  double probability = 0;  // the largest difference of a probability, on the states held out (at most 1,000)
  AuditReport before, after;  // on the states held out, of logit - log_normalizer
  std::vector<std::string> notes;
};

bool is_checkpoint_directory(const std::string& path);

// `states`: what goes into the head, in an npy, npz or safetensors file, or a directory of npy and
// safetensors files. Throws Error.
NormalizedCheckpoint normalize_checkpoint(const std::string& directory, const std::string& states,
                                          const CheckpointHeadOptions& options = {});

}  // namespace selfnorm
