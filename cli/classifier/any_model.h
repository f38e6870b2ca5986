// MODEL and DATA of the commands that compute log-normalizers: a model of ours or anybody's softmax head,
// whole, and examples that stream where their format allows it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "classifier/model_header.h"
#include "data/corpus/token_corpus.h"
#include "data/example_source.h"

namespace selfnorm::cli {

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
// `states_name` chooses an array of an npz or safetensors file. Notes bad rows that were skipped and
// labels that are unseen.
std::unique_ptr<ExampleSource> open_examples(const AnyModel& model, const std::string& path,
                                             const ReadOptions& options, const std::string& states_name);

}  // namespace selfnorm::cli
