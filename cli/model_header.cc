#include "model_header.h"

#include <fmt/format.h>

#include <filesystem>

#include "run_record.h"
#include "selfnorm/base/error.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm::cli {
namespace {

std::vector<std::string> strings(const runtime::StringTable& table, const std::string& path) {
  std::vector<std::string> all(table.size());
  for (size_t i = 0; i < all.size(); ++i) {
    std::string_view text;
    if (!table.get(i, text))
      throw Error(path + ": a string of the model lies outside its table; the file is damaged");
    all[i] = text;
  }
  return all;
}

nlohmann::ordered_json metadata(const runtime::Safetensors& file, const std::string& key) {
  const auto entry = file.metadata.find(key);
  if (entry == file.metadata.end()) return nullptr;
  return nlohmann::ordered_json::parse(entry->second, nullptr, false);
}

ModelHeader header_of(std::span<const std::byte> bytes, const std::string& path) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, path);
  const runtime::ModelLayout layout = runtime::read_layout(file, path);
  ModelHeader header;
  header.path = path;
  header.bytes = bytes.size();
  header.family = layout.family;
  header.input = layout.input;
  header.weights = layout.weights;
  header.classes = layout.classes;
  header.log_normalizer = layout.log_normalizer;
  header.has_carrier = !layout.log_carrier.empty();
  header.schema.labels = strings(layout.labels, path);
  header.schema.feature_count = layout.features;
  header.schema.feature_names = strings(layout.feature_names, path);
  if (layout.input == ModelInput::Text) {
    header.schema.text = restored_text(file.metadata.find("text")->second, strings(layout.vocabulary, path),
                                       {layout.idf.begin(), layout.idf.end()});
  }
  header.objective = metadata(file, "objective");
  header.training = metadata(file, "training");
  header.audit = metadata(file, "audit");
  return header;
}

}  // namespace

std::string model_path(const std::string& model) {
  return std::filesystem::is_directory(model) ? model + "/" + kModelName : model;
}

ModelHeader read_header(const std::string& model) {
  const std::string path = model_path(model);
  try {
    const runtime::MappedFile file(path);
    return header_of(file.bytes(), path);
  } catch (const runtime::FormatError& error) {
    throw Error(error.what());
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

ReadResult read_for(const ModelHeader& header, const std::string& path, ReadOptions options) {
  options.schema = &header.schema;
  if (header.schema.text && options.format == Format::automatic) options.format = Format::text;
  ReadResult result = read_dataset(path, options);
  if (result.data.is_joint() != header.is_joint()) {
    throw DataError(path, 0,
                    header.is_joint()
                        ? "the model scores groups of alternatives; expected svmlight data with qid:"
                        : "the data are groups of alternatives (qid:), but the model has classes");
  }
  return result;
}

void store_text(const TextEncoder& encoder, ModelFile& model) {
  const TextOptions& o = encoder.options();
  model.input = ModelInput::Text;
  model.vocabulary = encoder.vocabulary();
  model.idf = encoder.idf();
  model.feature_names.clear();
  model.text_json = nlohmann::ordered_json{
      {"ngrams", o.ngrams},
      {"min_count", o.min_count},
      {"max_vocabulary", o.max_vocabulary},
      {"hash_buckets", o.hash_buckets},
      {"tf_idf", o.tf_idf},
      {"lowercase",
       o.lowercase}}.dump();
}

TextEncoder restored_text(const std::string& options_json, std::vector<std::string> vocabulary,
                          std::vector<float> idf) {
  TextOptions o;
  try {
    const auto json = nlohmann::json::parse(options_json);
    o.ngrams = json.at("ngrams");
    o.min_count = json.at("min_count");
    o.max_vocabulary = json.at("max_vocabulary");
    o.hash_buckets = json.at("hash_buckets");
    o.tf_idf = json.at("tf_idf");
    o.lowercase = json.at("lowercase");
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("the model's text options are damaged: {}", error.what()));
  }
  return TextEncoder(o, std::move(vocabulary), std::move(idf));
}

}  // namespace selfnorm::cli
