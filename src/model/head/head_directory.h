// A checkpoint directory of Hugging Face's layout as the softmax head it ends with: config.json and
// model.safetensors, or shards with model.safetensors.index.json. The head is lm_head.weight (or a name like
// it), or else the embeddings, which it is tied to: the tensors decide, not tie_word_embeddings (which is
// asked about a tensor that was named).
//     scores of the checkpoint  s = scale (W h + bias),  h what goes into its head
// A model class that multiplies h itself when the head is tied (T5: d^-1/2) stops doing so once it is not;
// what is written makes up for it.
#pragma once

#include <string>
#include <vector>

#include "model/head/head_file.h"

namespace selfnorm {

struct HeadDirectory {
  std::string path;
  std::string shard;      // the file that holds the weights, in the directory
  std::string head_name;  // of the weights as they are written
  bool is_sharded = false;
  bool is_tied = false;            // there is no tensor of that name: the weights are the embeddings
  double scale = 1;                // folded into `head`
  double state_scale = 1;          // what a tied head's states are multiplied by, and an untied one's are not
  uint32_t rows = 0;               // of W in the file; those from head.model.classes on are padding
  Head head;                       // scale (W, bias) of the first classes
  std::vector<std::string> notes;  // what of the config is not so

  bool has_bias() const { return head.has_bias; }
};

// A directory with a config.json and a model.safetensors of another program, or an index of shards.
bool is_head_directory(const std::string& path);

// `vocabulary`: rows of W that are classes; 0: all. Throws Error naming the file, what was found and what to
// do: no head, a head that is capped by tanh (which no constant can be moved through), one that is not
// float32, float16 or bfloat16, a bias in another file or after the head, a scale of 0.
HeadDirectory open_head_directory(const std::string& path, const HeadNames& names, uint32_t vocabulary);

// Rounds to what the file holds: weights and, if it has a slot for them, biases; else the biases, which are
// one constant, stay as they are.
void round_to_kind(HeadDirectory& directory);

// Throws Error where `out` exists, or lies in the directory that is copied to it.
void check_new_directory(const std::string& directory, const std::string& out);

// Everything of the directory to `out`, which must not exist: the shard with the new head, config.json with
// an untied head and without a scale, and the rest byte for byte, or as hard links. A head without a bias
// gets minus its constant as metadata "selfnorm.log_normalizer" of the shard: a score less that is a
// log-probability.
enum class OtherFiles { copied, linked };
void save_head_directory(const HeadDirectory& directory, const std::string& out, OtherFiles others);

}  // namespace selfnorm
