// A trained model in memory, and its file (selfnorm/runtime/model_layout.h says what the file holds).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/string_index.h"
#include "model/class_shard.h"
#include "model/encoder.h"
#include "model/ladder.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/model_layout.h"

namespace selfnorm {

using runtime::Family;
using runtime::WeightKind;
using ModelInput = runtime::Input;

// Raw log-probability of class k: log_carrier_k + w_k . x + bias_k - log_normalizer; of a joint alternative:
// w . x - log_normalizer. With an encoder, h(x) stands in the place of x.
// A hierarchical model has K - 1 rows of weights and biases, those of the inner nodes of `tree`
// (model/huffman.h), and its probabilities sum to 1 as they are.
struct ModelFile {
  Family family = Family::Multiclass;
  ModelInput input = ModelInput::Sparse;
  WeightKind weights = WeightKind::Float32;  // how `weight` is stored in the file
  uint32_t classes = 0;                      // K; 0 for joint
  uint32_t features = 0;                     // d; with an encoder the size of h
  double log_normalizer = 0;
  std::vector<float> weight;               // K x d; joint: 1 x d
  std::vector<float> bias;                 // K; empty for joint
  std::vector<float> log_carrier;          // K or empty
  ClassNames labels;                       // K or empty
  std::vector<std::string> feature_names;  // inputs() or empty
  std::vector<std::string> vocabulary;     // inputs() or empty; text only
  std::vector<float> idf;                  // inputs() or empty; text only
  std::string objective_json = "{}";
  std::string training_json = "{}";
  std::string audit_json = "{}";
  std::string text_json;  // options of the text encoder; empty unless input is text
  std::string
      columns_json{};  // tables with columns of several kinds (data/table/table_encoder.h); else empty
  std::string target;  // tables: the column of the labels, by name or zero-based index; empty: none known
  AmortisedNormalizer normalizer;  // b(x) ~ A(x) - log_normalizer, if there is one; multiclass only
  Ladder ladder = {};              // rungs between raw and exact; multiclass only
  Encoder encoder;
  std::vector<uint32_t> tree;  // hierarchical: the parent of every node (model/huffman.h), 2K - 1
  std::string unknown;         // context: the label of words that are no class; empty: <unk>

  uint32_t inputs() const { return encoder.exists() ? encoder.inputs : features; }

  bool operator==(const ModelFile&) const = default;
};

// Stores `weight` as `weights` says; the file appears whole or not at all. Throws Error when a value is not
// finite, does not fit the stored kind, or the file cannot be written.
//   bfloat16  nearest, ties to even: |w - stored| <= 2^-8 |stored| + 2^-134
//   int8      scale_k = max_j |w_kj| / 127 (at least 2^-126; 0 for a zero row) rounded up to a bfloat16,
//             q = round(w / scale_k): |w - scale_k q| <= scale_k / 2
// Labels of context models, and those of kIndexedLabels classes or more, are stored with an index; that many
// that are just 0, 1, ..., K-1 are not stored, and come back all the same.
void save_model(const ModelFile& model, const std::string& path);
// Of a model whose weights and biases are those of the own classes (selfnorm/runtime/mapped_file.h has the
// format): the part of this process, in a file beside the index, and, of the first process when all have
// written theirs, an index of them. They are unfinished shards (model/safetensors_writer.h).
void save_model_part(const ModelFile& own, const ClassShard& shard, const std::string& index);
void save_model_index(const ModelFile& own, const ClassShard& shard, const std::string& index);
// The same in memory, for selfnorm_open_memory; `name` stands for the path in errors.
std::string model_bytes(const ModelFile& model, const std::string& name);

inline constexpr uint32_t kIndexedLabels = 1000;

// Each weight becomes what is read back after storing it as model.weights says.
void round_as_stored(ModelFile& model);

// Checks everything, down to each value, and widens the weights to float32. Throws Error naming the file.
ModelFile load_model(const std::string& path);
ModelFile parse_model(std::span<const std::byte> bytes, const std::string& name);

// A model of classes whose weights stay in the file, for models that are more than a process has room for.
// Throws Error as load_model; values are vouched for by the checksum.
class MappedModel {
 public:
  explicit MappedModel(const std::string& path);

  const ModelFile& model() const { return model_; }  // without `weight`
  // The weights of these classes, in `room` where the file has others than floats.
  const float* rows(Range classes, std::vector<float>& room) const;
  void release(Range classes) const;  // not needed for now

 private:
  runtime::MappedFile file_;
  runtime::Safetensors content_;
  runtime::ModelLayout layout_;
  ModelFile model_;
};

// The labels as load_model gives them, of a file whose string tables were checked.
ClassNames labels_of(const runtime::ModelLayout& layout);

// Throws Error naming the file and the key when `json` is not JSON or nested too deeply.
void check_metadata_json(const std::string& file, const char* key, const std::string& json);

}  // namespace selfnorm
