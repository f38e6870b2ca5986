#include "model/head/head_directory.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/option_table.h"
#include "data/array/array_file.h"
#include "model/head/head_tensors.h"
#include "model/safetensors_writer.h"
#include "model/stored_record.h"

namespace selfnorm {
namespace {

namespace fs = std::filesystem;
using DirectoryJson = nlohmann::ordered_json;

constexpr const char *kConfig = "config.json", *kSingle = "model.safetensors",
                     *kIndex = "model.safetensors.index.json";

// Heads, and the embeddings that they may be tied to, by the names that architectures give them.
constexpr const char* kHeads[] = {"lm_head.weight",       "embed_out.weight", "language_model.lm_head.weight",
                                  "model.lm_head.weight", "output.weight",    "decoder.lm_head.weight"};
constexpr const char* kEmbeddings[] = {"model.embed_tokens.weight",
                                       "transformer.wte.weight",
                                       "wte.weight",
                                       "shared.weight",
                                       "model.shared.weight",
                                       "model.language_model.embed_tokens.weight",
                                       "language_model.model.embed_tokens.weight",
                                       "model.decoder.embed_tokens.weight",
                                       "decoder.embed_tokens.weight",
                                       "gpt_neox.embed_in.weight",
                                       "transformer.word_embeddings.weight",
                                       "embed_tokens.weight",
                                       "backbone.embeddings.weight",
                                       "backbone.embedding.weight"};
// Their classes multiply the states of a tied head by d^-1/2.
const std::set<std::string> kScaledWhenTied = {"t5", "mt5", "umt5", "longt5", "switch_transformers"};

DirectoryJson json_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_error("{}: cannot be read", path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  check_metadata_json(path, "the file", text);
  DirectoryJson out = DirectoryJson::parse(text);
  if (!out.is_object()) throw_error("{}: found no object; expected that of a checkpoint", path);
  return out;
}

void write_json(const std::string& path, const DirectoryJson& json) {
  AtomicFile::write_file(path, json.dump(2) + "\n");
}

// The text model's part of a config of several.
DirectoryJson& text_part(DirectoryJson& config) {
  return config.contains("text_config") && config["text_config"].is_object() ? config["text_config"] : config;
}

const DirectoryJson* setting(const DirectoryJson& config, const char* key) {
  if (config.contains("text_config") && config["text_config"].is_object() &&
      config["text_config"].contains(key) && !config["text_config"][key].is_null())
    return &config["text_config"][key];
  return config.contains(key) && !config[key].is_null() ? &config[key] : nullptr;
}

std::optional<double> number_setting(const DirectoryJson& config, const char* key, const std::string& path) {
  const DirectoryJson* found = setting(config, key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number() || !std::isfinite(found->get<double>()))
    throw_error("{}: {} is {}; expected a number", path, key, found->dump());
  return found->get<double>();
}

double scale_setting(const DirectoryJson& config, const char* key, const std::string& path) {
  const double found = number_setting(config, key, path).value_or(1);
  if (found == 0) throw_error("{}: {} is 0: all scores are equal; expected another number", path, key);
  return found;
}

bool says_tied(const DirectoryJson& config) {
  const DirectoryJson* tie = setting(config, "tie_word_embeddings");
  return tie != nullptr && tie->is_boolean() && tie->get<bool>();
}

// Tensor -> file of it.
std::map<std::string, std::string> tensor_places(const std::string& directory, bool is_sharded) {
  std::map<std::string, std::string> out;
  if (!is_sharded) {
    const ArrayFile file(directory + "/" + kSingle);
    for (const ArrayEntry& entry : file.entries()) out[entry.name] = kSingle;
    return out;
  }
  const std::string path = directory + "/" + kIndex;
  const DirectoryJson index = json_file(path);
  if (!index.contains("weight_map") || !index["weight_map"].is_object())
    throw_error("{}: found no weight_map; expected the file of every tensor", path);
  for (const auto& [name, file] : index["weight_map"].items()) {
    const std::string place = file.is_string() ? file.get<std::string>() : "";
    const bool is_plain = !place.empty() && place.find('/') == std::string::npos && place != "..";
    if (!is_plain || !fs::exists(fs::path(directory) / place))
      throw_error("{}: tensor {} is in {}; expected a file of the directory", path, name, file.dump());
    out[name] = place;
  }
  return out;
}

std::string head_beside(const std::string& embeddings) {
  constexpr std::string_view kOfSeveral = "language_model.model.";
  return embeddings.starts_with(kOfSeveral)    ? "language_model.lm_head.weight"
         : embeddings.starts_with("gpt_neox.") ? "embed_out.weight"
                                               : "lm_head.weight";
}

template <class Names>
std::string first_of(const Names& names, const std::map<std::string, std::string>& places) {
  for (const char* name : names)
    if (places.contains(name)) return name;
  return "";
}

// The tensors decide whether the head is tied; of a tensor that was named, which may be either, the
// configuration is asked as well.
void find_head(const HeadNames& names, const std::map<std::string, std::string>& places,
               const DirectoryJson& config, HeadDirectory& out) {
  const std::string own = first_of(kHeads, places);
  out.head.names = names;
  if (names.weight.empty()) {
    out.is_tied = own.empty();
    out.head.names.weight = out.is_tied ? first_of(kEmbeddings, places) : own;
  } else {
    const bool is_embedding =
        std::find(std::begin(kEmbeddings), std::end(kEmbeddings), names.weight) != std::end(kEmbeddings);
    if (is_embedding && !own.empty())
      throw_error("{}: {} are the embeddings, and {} is the head; name that, or nothing", out.path,
                  names.weight, own);
    out.is_tied = own.empty() && (is_embedding || says_tied(config));
  }
  const auto place = places.find(out.head.names.weight);
  if (place == places.end())
    throw_error("{}: found no tensor {}; name the weights of the head ({})", out.path,
                names.weight.empty() ? "lm_head.weight, nor embeddings it could be tied to" : names.weight,
                option_name("weight-name"));
  out.shard = place->second;
  out.head_name = out.is_tied ? head_beside(out.head.names.weight) : out.head.names.weight;
}

// The head's bias, in the same file if anywhere: one that is left out would make the certificate a lie.
void find_bias(const std::map<std::string, std::string>& places, HeadDirectory& out) {
  std::string& bias = out.head.names.bias;
  const bool is_given = !bias.empty();
  if (!is_given) {
    bias = out.head_name;
    bias = bias.ends_with("weight") ? bias.replace(bias.rfind("weight"), 6, "bias") : "bias";
  }
  const auto place = places.find(bias);
  if (place == places.end()) {
    if (is_given) throw_error("{}: found no tensor {} ({})", out.path, bias, option_name("bias-name"));
  } else if (place->second != out.shard) {
    throw_error("{}: {} is in {} and {} in {}; expected both in one file: save the model with other shards",
                out.path, bias, place->second, out.head.names.weight, out.shard);
  }
}

// BART and Marian add it after the head, in a place that nothing can be moved into.
void refuse_later_bias(const std::map<std::string, std::string>& places, const std::string& directory) {
  for (const auto& [name, place] : places) {
    if (!name.ends_with("final_logits_bias")) continue;
    const ArrayFile file(fs::path(directory) / place);
    const ArrayEntry* entry = file.find(name);
    if (entry == nullptr)
      throw_error("{}/{}: found no tensor {}; the index names it", directory, place, name);
    std::vector<float> values(entry->elements);
    file.view(*entry).widen(0, values);
    if (std::any_of(values.begin(), values.end(), [](float v) { return v != 0; }))
      throw_error(
          "{}: {} is not 0, and is added to the scores after the head; expected scores of the head alone",
          directory, name);
  }
}

void check_config(const DirectoryJson& config, const std::string& path, HeadDirectory& out) {
  if (const double cap = number_setting(config, "final_logit_softcapping", path).value_or(0); cap != 0)
    throw_error(
        "{}: final_logit_softcapping is {}: scores are capped by tanh, so that a constant added to them "
        "changes "
        "probabilities, and nothing can be moved into the weights without loss; fit b(h) to log Z of the "
        "capped "
        "scores instead (fit_normalizer of Python and C++), or set it to null in a model that "
        "was "
        "trained on without",
        path, cap);
  out.scale = scale_setting(config, "logit_scale", path) / scale_setting(config, "logits_scaling", path);
  const bool has_tie = setting(config, "tie_word_embeddings") != nullptr, is_said = says_tied(config);
  if (has_tie && is_said != out.is_tied)
    out.notes.push_back(fmt::format(
        "config.json says tie_word_embeddings {}, but {}; the tensors decide", is_said,
        out.is_tied ? "there is no tensor of a head of its own" : "there is a tensor " + out.head_name));
  const DirectoryJson* type = setting(config, "model_type");
  const DirectoryJson* scaled = setting(config, "scale_decoder_outputs");
  const bool is_scaled =
      scaled != nullptr && scaled->is_boolean() ? scaled->get<bool>() : !has_tie || is_said;
  if (type != nullptr && type->is_string() && kScaledWhenTied.contains(type->get<std::string>()) && is_scaled)
    out.state_scale = 1 / std::sqrt(static_cast<double>(out.head.model.features));
}

void untie(DirectoryJson& part) {
  if (part.contains("tie_word_embeddings")) part["tie_word_embeddings"] = false;
  for (const char* key : {"logit_scale", "logits_scaling"})
    if (part.contains(key) && !part[key].is_null()) part[key] = 1.0;
  if (part.contains("scale_decoder_outputs")) part["scale_decoder_outputs"] = false;
}

// Inserting moves the parts of an object: the text model's is looked for afterwards.
DirectoryJson written_config(DirectoryJson config) {
  config["tie_word_embeddings"] = false;
  untie(config);
  untie(text_part(config));
  return config;
}

// All rows of W as they are written: those that are no classes are moved like the first.
std::vector<float> written_weights(const HeadDirectory& d) {
  const ModelFile& model = d.head.model;
  std::vector<float> out = model.weight;
  if (d.rows > model.classes) {
    const Head whole = load_head(d.path + "/" + d.shard, d.head.names);
    const auto scale = static_cast<float>(d.scale);
    for (size_t i = size_t{model.classes} * model.features; i < whole.model.weight.size(); ++i) {
      const size_t j = i % model.features;
      out.push_back(scale * whole.model.weight[i] - (scale * whole.model.weight[j] - model.weight[j]));
    }
  }
  for (float& w : out) w = static_cast<float>(w * d.state_scale);
  return out;
}

void copy_or_link(const fs::path& from, const fs::path& to, OtherFiles others) {
  std::error_code error;
  if (others == OtherFiles::linked && fs::is_regular_file(from, error)) {
    const fs::path file = fs::canonical(from, error);
    if (!error) fs::create_hard_link(file, to, error);
    if (error)
      throw_error("{}: cannot be linked to {} ({}); leave out {} to copy it", from.string(), to.string(),
                  error.message(), option_name("link"));
    return;
  }
  fs::copy(from, to, fs::copy_options::recursive, error);
  if (error) throw_error("{}: cannot be copied to {} ({})", from.string(), to.string(), error.message());
}

// A new directory beside `out`, of a name that nobody has, as open to others as `like`.
std::string made_directory(const std::string& out, const std::string& like) {
  std::error_code error;
  if (const fs::path parent = fs::path(out).parent_path(); !parent.empty())
    fs::create_directories(parent, error);
  std::string made = out + ".XXXXXX";
  if (!error && mkdtemp(made.data()) == nullptr) error.assign(errno, std::generic_category());
  if (error)
    throw_error("{}: cannot be made ({}); expected a place for a new directory", out, error.message());
  fs::permissions(made, fs::status(like, error).permissions() | fs::perms::owner_all, error);
  return made;
}

}  // namespace

bool is_head_directory(const std::string& path) {
  std::error_code none;
  if (!fs::is_directory(path, none) || !fs::exists(path + "/" + kConfig, none)) return false;
  return fs::exists(path + "/" + kSingle, none)
             ? is_head_file(path + "/" + kSingle)
             : fs::exists(path + "/" + kIndex, none) && !is_shard_index(path + "/" + kIndex);
}

void check_new_directory(const std::string& directory, const std::string& out) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(out, error))) throw_error("{} exists; expected a new directory", out);
  const fs::path inside = fs::canonical(directory, error);
  const fs::path found = error ? fs::path() : fs::weakly_canonical(fs::absolute(out, error), error);
  if (error) throw_error("{}: cannot be looked for ({})", out, error.message());
  if (std::mismatch(inside.begin(), inside.end(), found.begin(), found.end()).first == inside.end())
    throw_error("{} lies in {}, which is copied; expected a place outside it", out, directory);
}

HeadDirectory open_head_directory(const std::string& path, const HeadNames& names, uint32_t vocabulary) {
  HeadDirectory out;
  out.path = path;
  out.is_sharded = !fs::exists(path + "/" + kSingle);  // as the loaders, which prefer the single file
  const std::string config_path = path + "/" + kConfig;
  const DirectoryJson config = json_file(config_path);
  const std::map<std::string, std::string> places = tensor_places(path, out.is_sharded);
  find_head(names, places, config, out);
  find_bias(places, out);
  refuse_later_bias(places, path);
  out.head = load_head(path + "/" + out.shard, out.head.names);
  ModelFile& model = out.head.model;
  out.rows = model.classes;
  check_config(config, config_path, out);
  if (vocabulary > model.classes || vocabulary == 1)
    throw_error("{}: asked for a vocabulary of {}; expected 2 to {}, the rows of {}", path, vocabulary,
                model.classes, out.head.names.weight);
  if (vocabulary > 0) {
    model.classes = vocabulary;
    model.weight.resize(size_t{vocabulary} * model.features);
    model.bias.resize(vocabulary);
  }
  for (auto* values : {&model.weight, &model.bias})
    for (float& v : *values) v = static_cast<float>(v * out.scale);
  return out;
}

void round_to_kind(HeadDirectory& d) {
  std::vector<float> bias = d.head.model.bias;
  for (float& w : d.head.model.weight) w = static_cast<float>(w * d.state_scale);
  round_to_kind(d.head);
  for (float& w : d.head.model.weight) w = static_cast<float>(w / d.state_scale);
  if (!d.has_bias()) d.head.model.bias = std::move(bias);
}

void save_head_directory(const HeadDirectory& d, const std::string& out, OtherFiles others) {
  check_new_directory(d.path, out);
  const std::string made = made_directory(out, d.path);
  try {
    const ModelFile& model = d.head.model;
    const ElementType type = element_type(d.head.kind), bias_type = element_type(d.head.bias_kind);
    const auto stored = narrowed(type, written_weights(d), d.head_name);
    std::vector<float> bias_values = model.bias;
    if (d.rows > model.classes && d.has_bias()) {
      const Head whole = load_head(d.path + "/" + d.shard, d.head.names);
      const float moved = static_cast<float>(d.scale) * whole.model.bias[0] - model.bias[0];
      for (size_t k = model.classes; k < d.rows; ++k)
        bias_values.push_back(static_cast<float>(d.scale) * whole.model.bias[k] - moved);
    }
    const auto bias = narrowed(bias_type, bias_values, d.head.names.bias);
    with_plain_errors([&] {
      const std::string path = d.path + "/" + d.shard;
      const runtime::MappedFile file(path);
      runtime::Safetensors contents = runtime::parse_safetensors(file.bytes(), path);
      std::erase_if(contents.tensors, [&](const runtime::Tensor& tensor) {
        return tensor.name == d.head_name || (d.has_bias() && tensor.name == d.head.names.bias);
      });
      contents.tensors.push_back({d.head_name, dtype_of(type), {d.rows, model.features}, stored});
      if (d.has_bias()) contents.tensors.push_back({d.head.names.bias, dtype_of(bias_type), {d.rows}, bias});
      contents.metadata["selfnorm.log_normalizer"] =
          fmt::format("{}", d.has_bias() ? 0.0 : -static_cast<double>(model.bias[0]));
      write_safetensors(made + "/" + d.shard, std::move(contents.tensors), contents.metadata);
    });
    write_json(made + "/" + kConfig, written_config(json_file(d.path + "/" + kConfig)));
    if (d.is_sharded) {
      DirectoryJson index = json_file(d.path + "/" + kIndex);
      index["weight_map"][d.head_name] = d.shard;
      if (d.is_tied && index.contains("metadata") && index["metadata"].contains("total_size") &&
          index["metadata"]["total_size"].is_number_integer())
        index["metadata"]["total_size"] = index["metadata"]["total_size"].get<uint64_t>() + stored.size();
      write_json(made + "/" + kIndex, index);
    }
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(d.path, error)) {
      const fs::path to = fs::path(made) / entry.path().filename();
      if (!fs::exists(to)) copy_or_link(entry.path(), to, others);
    }
    if (error) throw_error("{}: cannot be listed ({})", d.path, error.message());
    fs::rename(made, out, error);
    if (error) throw_error("{}: cannot be renamed to {} ({})", made, out, error.message());
  } catch (...) {
    std::error_code none;
    fs::remove_all(made, none);
    throw;
  }
}

}  // namespace selfnorm
