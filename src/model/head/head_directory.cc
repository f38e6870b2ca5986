#include "model/head/head_directory.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.h"
#include "base/failure.h"
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
                                       "embed_tokens.weight"};
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

double number_setting(const DirectoryJson& config, const char* key, const std::string& path) {
  const DirectoryJson* found = setting(config, key);
  if (found == nullptr) return 0;
  if (!found->is_number() || !std::isfinite(found->get<double>()))
    throw_error("{}: {} is {}; expected a number", path, key, found->dump());
  return found->get<double>();
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
    if (!is_plain || !fs::exists(directory + "/" + place))
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

void find_head(const HeadNames& names, const std::map<std::string, std::string>& places, HeadDirectory& out) {
  out.head.names = names;
  if (names.weight.empty()) {
    out.head.names.weight = first_of(kHeads, places);
    out.is_tied = out.head.names.weight.empty();
    if (out.is_tied) out.head.names.weight = first_of(kEmbeddings, places);
  }
  const auto place = places.find(out.head.names.weight);
  if (place == places.end())
    throw_error("{}: found no tensor {}; name the weights of the head (--weight-name)", out.path,
                names.weight.empty() ? "lm_head.weight, nor embeddings it could be tied to" : names.weight);
  out.shard = place->second;
  out.head_name = out.is_tied ? head_beside(out.head.names.weight) : out.head.names.weight;
}

void check_config(const DirectoryJson& config, const std::string& path, HeadDirectory& out) {
  if (const double cap = number_setting(config, "final_logit_softcapping", path); cap > 0)
    throw_error(
        "{}: final_logit_softcapping is {}: scores are capped by tanh, so that a constant added to them "
        "changes "
        "probabilities, and nothing can be moved into the weights without loss; fit b(h) to log Z of the "
        "capped "
        "scores instead (selfnorm.torch_gpu.log_normalizer takes softcap), or set it to null in a model that "
        "was "
        "trained on without",
        path, cap);
  if (const double scale = number_setting(config, "logit_scale", path); scale != 0) out.scale *= scale;
  if (const double divisor = number_setting(config, "logits_scaling", path); divisor != 0)
    out.scale /= divisor;
  const DirectoryJson* tie = setting(config, "tie_word_embeddings");
  const bool says_tied = tie != nullptr && tie->is_boolean() && tie->get<bool>();
  if (tie != nullptr && says_tied != out.is_tied)
    out.notes.push_back(fmt::format(
        "config.json says tie_word_embeddings {}, but {}; the tensors decide", says_tied,
        out.is_tied ? "there is no tensor of a head of its own" : "there is a tensor " + out.head_name));
  const DirectoryJson* type = setting(config, "model_type");
  const DirectoryJson* scaled = setting(config, "scale_decoder_outputs");
  const bool is_scaled =
      scaled != nullptr && scaled->is_boolean() ? scaled->get<bool>() : tie == nullptr || says_tied;
  if (type != nullptr && type->is_string() && kScaledWhenTied.contains(type->get<std::string>()) && is_scaled)
    out.state_scale = 1 / std::sqrt(static_cast<double>(out.head.model.features));
}

DirectoryJson written_config(DirectoryJson config) {
  for (DirectoryJson* part : {&config, &text_part(config)}) {
    if (part == &config || part->contains("tie_word_embeddings")) (*part)["tie_word_embeddings"] = false;
    for (const char* key : {"logit_scale", "logits_scaling"})
      if (part->contains(key) && !(*part)[key].is_null()) (*part)[key] = 1.0;
    if (part->contains("scale_decoder_outputs")) (*part)["scale_decoder_outputs"] = false;
  }
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
  if (others == OtherFiles::linked && fs::is_regular_file(from)) {
    std::error_code error;
    fs::create_hard_link(fs::canonical(from), to, error);
    if (error)
      throw_error("{}: cannot be linked to {} ({}); leave out --link to copy it", from.string(), to.string(),
                  error.message());
    return;
  }
  fs::copy(from, to, fs::copy_options::recursive);
}

}  // namespace

bool is_head_directory(const std::string& path) {
  std::error_code none;
  if (!fs::is_directory(path, none) || !fs::exists(path + "/" + kConfig, none)) return false;
  return fs::exists(path + "/" + kIndex, none) || is_head_file(path + "/" + kSingle);
}

HeadDirectory open_head_directory(const std::string& path, const HeadNames& names, uint32_t vocabulary) {
  HeadDirectory out;
  out.path = path;
  out.is_sharded = fs::exists(path + "/" + kIndex);
  const std::map<std::string, std::string> places = tensor_places(path, out.is_sharded);
  find_head(names, places, out);
  if (out.is_tied && out.head.names.bias.empty()) {  // GPT-J and others: a bias beside tied weights
    std::string bias = out.head_name;
    bias.replace(bias.rfind("weight"), 6, "bias");
    const auto beside = places.find(bias);
    if (beside != places.end() && beside->second == out.shard) out.head.names.bias = bias;
  }
  if (out.head.names.bias.empty()) {
    std::string bias = out.head_name;
    out.head.names.bias = bias.ends_with("weight") ? bias.replace(bias.rfind("weight"), 6, "bias") : "bias";
  }
  out.head = load_head(path + "/" + out.shard, out.head.names);
  ModelFile& model = out.head.model;
  out.rows = model.classes;
  const std::string config_path = path + "/" + kConfig;
  check_config(json_file(config_path), config_path, out);
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
  if (fs::exists(out)) throw_error("{} exists; expected a new directory", out);
  const std::string made = out + ".part";
  fs::remove_all(made);
  fs::create_directories(made);
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
    const auto dtype = [](HeadKind kind) {
      return kind == HeadKind::Bfloat16  ? runtime::Dtype::BF16
             : kind == HeadKind::Float16 ? runtime::Dtype::F16
                                         : runtime::Dtype::F32;
    };
    with_plain_errors([&] {
      const std::string path = d.path + "/" + d.shard;
      const runtime::MappedFile file(path);
      runtime::Safetensors contents = runtime::parse_safetensors(file.bytes(), path);
      std::erase_if(contents.tensors, [&](const runtime::Tensor& tensor) {
        return tensor.name == d.head_name || (d.has_bias() && tensor.name == d.head.names.bias);
      });
      contents.tensors.push_back({d.head_name, dtype(d.head.kind), {d.rows, model.features}, stored});
      if (d.has_bias())
        contents.tensors.push_back({d.head.names.bias, dtype(d.head.bias_kind), {d.rows}, bias});
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
    for (const auto& entry : fs::directory_iterator(d.path)) {
      const fs::path to = fs::path(made) / entry.path().filename();
      if (!fs::exists(to)) copy_or_link(entry.path(), to, others);
    }
    fs::rename(made, out);
  } catch (...) {
    std::error_code none;
    fs::remove_all(made, none);
    throw;
  }
}

}  // namespace selfnorm
