// What a model file says about itself, read without touching its weights.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "selfnorm/data/read.h"
#include "selfnorm/model/model_file.h"

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
  Schema schema;
  nlohmann::ordered_json objective, training, audit;

  bool is_joint() const { return family == Family::Joint; }
};

// MODEL of a command line: a model file, or a run directory that holds one.
std::string model_path(const std::string& model);
ModelHeader read_header(const std::string& model);

// Data for the model.
ReadResult read_for(const ModelHeader& header, const std::string& path, ReadOptions options);

}  // namespace selfnorm::cli
