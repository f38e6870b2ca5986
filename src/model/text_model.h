// The text encoder in a model file: its options are the metadata "text", vocabulary and idf are tensors.
//   text  {"ngrams", "min_count", "max_vocabulary", "hash_buckets": whole numbers, "tf_idf", "lowercase":
//         booleans; optional "char_ngrams_min", "char_ngrams_max": whole numbers, both or none (0)}
#pragma once

#include <string>
#include <vector>

#include "data/text/text_encoder.h"
#include "model/model_file.h"

namespace selfnorm {

struct StoredText {
  std::string options_json;
  std::vector<std::string> vocabulary;
  std::vector<float> idf;
  uint32_t features = 0;  // inputs of the model
};

void store_text(const TextEncoder& encoder, ModelFile& model);

// Throws Error naming `file` when the options are damaged, out of range, or give other features than the
// model has weights for.
TextEncoder restored_text(StoredText stored, const std::string& file);
TextEncoder restored_text(const ModelFile& model, const std::string& file);

}  // namespace selfnorm
