#include "model/text_model.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/failure.h"

namespace selfnorm {
namespace {

// nlohmann would narrow silently.
template <typename T>
void take_whole(const nlohmann::json& options, const char* key, T& value) {
  const nlohmann::json& found = options.at(key);
  if (!found.is_number_unsigned() || found.get<uint64_t>() > std::numeric_limits<T>::max())
    throw_error("\"{}\" is {}, expected a whole number from 0 to {}", key, found.dump(),
                std::numeric_limits<T>::max());
  value = found.get<T>();
}

TextOptions options_from(const std::string& json) {
  const auto options = nlohmann::json::parse(json);
  TextOptions o;
  take_whole(options, "ngrams", o.ngrams);
  if (options.contains("char_ngrams_min") || options.contains("char_ngrams_max")) {
    take_whole(options, "char_ngrams_min", o.char_ngrams_min);
    take_whole(options, "char_ngrams_max", o.char_ngrams_max);
  }
  take_whole(options, "min_count", o.min_count);
  take_whole(options, "max_vocabulary", o.max_vocabulary);
  take_whole(options, "hash_buckets", o.hash_buckets);
  options.at("tf_idf").get_to(o.tf_idf);
  options.at("lowercase").get_to(o.lowercase);
  return o;
}

}  // namespace

void store_text(const TextEncoder& encoder, ModelFile& model) {
  const TextOptions& o = encoder.options();
  model.input = ModelInput::Text;
  model.vocabulary = encoder.vocabulary();
  model.idf = encoder.idf();
  model.feature_names.clear();
  const nlohmann::ordered_json options = {{"ngrams", o.ngrams},
                                          {"char_ngrams_min", o.char_ngrams_min},
                                          {"char_ngrams_max", o.char_ngrams_max},
                                          {"min_count", o.min_count},
                                          {"max_vocabulary", o.max_vocabulary},
                                          {"hash_buckets", o.hash_buckets},
                                          {"tf_idf", o.tf_idf},
                                          {"lowercase", o.lowercase}};
  model.text_json = options.dump();
}

TextEncoder restored_text(StoredText stored, const std::string& file) {
  check_metadata_json(file, "text", stored.options_json);
  std::string problem;
  try {
    TextEncoder encoder(options_from(stored.options_json), std::move(stored.vocabulary),
                        std::move(stored.idf));
    if (encoder.features() == stored.features) return encoder;
    problem = fmt::format("it gives {} features, the model has {}", encoder.features(), stored.features);
  } catch (const nlohmann::json::exception& error) {
    problem = error.what();
  } catch (const Error& error) {
    problem = error.what();
  }
  throw_error("{}: the text encoder of the model is damaged: {}", file, problem);
}

TextEncoder restored_text(const ModelFile& model, const std::string& file) {
  return restored_text({model.text_json, model.vocabulary, model.idf, model.inputs()}, file);
}

}  // namespace selfnorm
