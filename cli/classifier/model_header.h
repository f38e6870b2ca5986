// What MODEL of a command line says about itself: one of our model files, read without touching its weights,
// or anybody's softmax head, read whole, whose classes are labelled 0 .. K-1.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "data/corpus/token_corpus.h"
#include "data/example_source.h"
#include "data/read.h"
#include "model/head/head_file.h"
#include "model/model_file.h"

namespace selfnorm::cli {

struct ModelHeader {
  std::string path;  // of the file itself, also when a run directory was named
  uint64_t bytes = 0;
  Family family = Family::Multiclass;
  ModelInput input = ModelInput::Sparse;
  WeightKind weights = WeightKind::Float32;
  uint32_t classes = 0;
  double log_normalizer = 0;
  bool has_carrier = false;
  bool has_normalizer = false;  // amortised
  uint64_t hidden_units = 0;    // of the normalizer; 0: linear
  uint32_t features = 0;        // of the output layer: x, or the state of an encoder
  struct {
    EncoderKind kind = EncoderKind::None;
    uint32_t width = 0, positions = 0, hidden = 0;
  } encoder;
  Schema schema;
  nlohmann::ordered_json objective, training, audit;
  std::shared_ptr<const Head> head;  // null: one of our model files

  bool is_joint() const { return family == Family::Joint; }
  bool is_language() const { return encoder.kind == EncoderKind::Context; }
};

// The file itself: `model`, or that of the run directory `model`.
std::string model_path(const std::string& model);
// The same; throws Error when the run in the directory is not finished.
std::string finished_model_path(const std::string& model);
// `names` are for heads; given for one of our models they are an error.
ModelHeader read_header(const std::string& model, const HeadNames& names = {});
// Whether its weights are left in the file by what reads all of them: a model in shards, of dense rows or
// with an encoder.
bool stays_in_file(const ModelHeader& header);
using selfnorm::load_model;
// The whole model.
ModelFile load_model(const ModelHeader& header);

// How data for the model, which is no language model, are read.
ReadOptions reading_for(const ModelHeader& header, ReadOptions options);
// Throws Error for dense rows where the model has a bag encoder.
void check_sparse(const ModelHeader& header, const std::string& path, const Dataset& data);
// Data for the model, which is no language model.
ReadResult read_for(const ModelHeader& header, const std::string& path, ReadOptions options);

// Of the commands that compute log-normalizers: a model of ours or anybody's softmax head, whole.
class AnyModel {
 public:
  AnyModel(const std::string& model, const HeadNames& names);

  const ModelHeader& header() const { return header_; }
  const std::string& path() const { return header_.path; }
  const Head* head() const { return header_.head.get(); }  // null for a model of ours
  const ModelFile& file() const;

 private:
  ModelHeader header_;
  std::optional<ModelFile> own_;
};

// Text in the words of a language model; the tokens are in a nameless file of the temporary folder.
TokenCorpus read_text(const std::vector<std::string>& words, const std::string& path);

// Of a model with an encoder: its states, computed from its inputs as they stream by, or stored ones.
// `states_name` chooses an array of an npz or safetensors file. Notes bad rows that were skipped and labels
// that are unseen.
std::unique_ptr<ExampleSource> open_examples(const AnyModel& model, const std::string& path,
                                             const ReadOptions& options, const std::string& states_name);

}  // namespace selfnorm::cli
