#include "model/safetensors_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLengthSize = 8;

uint64_t bytes_of_shape(const runtime::Tensor& tensor) {
  uint64_t bytes = runtime::item_size(tensor.dtype);
  for (const uint64_t extent : tensor.shape) bytes *= extent;
  return bytes;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// "model" of folder/model.safetensors.index.json
std::string stem_of(const std::string& index) {
  const std::string name = index.substr(folder_of(index).size());
  return name.substr(0, name.size() - runtime::kShardIndexEnding.size());
}

// "model-00002-of-00004.safetensors"
std::string shard_name(const std::string& stem, size_t part, size_t parts) {
  return fmt::format("{}-{:05}-of-{:05}.safetensors", stem, part, parts);
}

bool is_shard_name(const std::string& name, const std::string& stem) {
  size_t part = 0, parts = 0;
  if (!name.starts_with(stem) ||
      std::sscanf(name.c_str() + stem.size(), "-%zu-of-%zu.safetensors", &part, &parts) != 2)
    return false;
  return name == shard_name(stem, part, parts);
}

// What a model is written as, until all of it is there.
constexpr const char* kUnfinished = "unfinished";

// The files that an index of ours names; none where there is no such index.
std::set<std::string> shards_of(const std::string& index) {
  std::set<std::string> out;
  if (!is_shard_index(index)) return out;
  std::ifstream file(index);
  const nlohmann::json content = nlohmann::json::parse(file);
  for (const auto& [tensor, part] : content.at("weight_map").items())
    if (part.is_string() && is_shard_name(part.get<std::string>(), stem_of(index)))
      out.insert(part.get<std::string>());
  return out;
}

}  // namespace

std::string safetensors_text(std::vector<runtime::Tensor>& tensors, const Metadata& metadata,
                             const SafetensorsPlace& place) {
  std::sort(tensors.begin(), tensors.end(), [&](const runtime::Tensor& a, const runtime::Tensor& b) {
    if ((a.name == place.first) != (b.name == place.first)) return a.name == place.first;
    const size_t x = runtime::item_size(a.dtype), y = runtime::item_size(b.dtype);
    return x != y ? x > y : a.name < b.name;
  });
  nlohmann::ordered_json header;
  nlohmann::ordered_json& texts = header["__metadata__"];
  texts[std::string(runtime::kChecksumKey)] = runtime::kBlankChecksum;
  for (const auto& [key, text] : metadata)
    if (key != runtime::kChecksumKey) texts[key] = text;  // that of a file that was read
  uint64_t offset = 0;
  for (const runtime::Tensor& tensor : tensors) {
    SELFNORM_CHECK(tensor.name != "__metadata__" && !header.contains(tensor.name));
    const uint64_t end = offset + bytes_of_shape(tensor);
    header[tensor.name] = {{"dtype", runtime::dtype_name(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string json;
  try {
    json = header.dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error("metadata and tensor names must be UTF-8");
  }
  const size_t unit = place.first.empty() ? kAlignment : runtime::kShardPage;
  const size_t least = kLengthSize + json.size(), start = place.start % unit;
  json.resize((least + unit - 1 - start) / unit * unit + start - kLengthSize, ' ');
  const uint64_t length = json.size();
  if (length > runtime::kLargestHeader) throw Error("the metadata exceed 100 MB");
  std::string out(kLengthSize, '\0');
  std::memcpy(out.data(), &length, kLengthSize);
  out += json;
  return out;
}

void put_checksum(std::span<const std::span<const std::byte>> parts, std::string& header) {
  const runtime::ChecksumDigits digits = runtime::checksum_of(parts);
  std::copy(digits.begin(), digits.end(), header.begin() + runtime::kChecksumOffset);
}

std::string safetensors_header(std::vector<runtime::Tensor>& tensors, const Metadata& metadata,
                               const SafetensorsPlace& place) {
  for (const runtime::Tensor& tensor : tensors) SELFNORM_CHECK(bytes_of_shape(tensor) == tensor.data.size());
  std::string out = safetensors_text(tensors, metadata, place);
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(out))};
  for (const runtime::Tensor& tensor : tensors) parts.push_back(tensor.data);
  put_checksum(parts, out);
  return out;
}

void write_safetensors(const std::string& path, std::vector<runtime::Tensor> tensors,
                       const Metadata& metadata, const SafetensorsPlace& place) {
  std::string header;
  try {
    header = safetensors_header(tensors, metadata, place);
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
  AtomicFile file(path);
  file.write(header);
  for (const runtime::Tensor& tensor : tensors)
    file.write(std::string_view(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()));
  file.commit();
}

std::string unfinished_shard(const std::string& index, size_t part, size_t parts) {
  const std::string place = folder_of(index) + shard_name(stem_of(index), part, parts);
  if (std::filesystem::is_directory(place)) throw_error("cannot write {}: it is a directory", place);
  return folder_of(index) + shard_name(kUnfinished, part, parts);
}

void place_model_shards(const std::string& index) {
  const std::string unfinished = unfinished_index(index), folder = folder_of(index);
  std::ifstream file(unfinished);
  nlohmann::ordered_json content = nlohmann::ordered_json::parse(file);
  std::set<std::string> before = shards_of(index), after;
  for (auto& [tensor, part] : content.at("weight_map").items()) {
    const std::string name = part.get<std::string>();
    part = stem_of(index) + name.substr(std::string_view(kUnfinished).size());
    after.insert(name);
    before.erase(part.get<std::string>());
  }
  AtomicFile finished(index);
  finished.write(content.dump(1) + "\n");
  std::error_code error, ignored;
  for (const std::string& name : after) {
    const std::string place = folder + stem_of(index) + name.substr(std::string_view(kUnfinished).size());
    std::filesystem::rename(folder + name, place, error);
    if (error) throw_error("cannot write {}: {}", place, error.message());
  }
  finished.commit();
  std::filesystem::remove(unfinished, ignored);
  for (const std::string& part : before) std::filesystem::remove(folder + part, ignored);
}

std::string unfinished_index(const std::string& index) {
  return folder_of(index) + kUnfinished + std::string(runtime::kShardIndexEnding);
}

bool is_shard_index(const std::string& path) {
  try {
    std::ifstream file(path);
    const nlohmann::json content = nlohmann::json::parse(file);
    return content.at("metadata").contains(runtime::kShardHeader) && content.at("weight_map").is_object();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

void remove_model_shards(const std::string& index) {
  const std::set<std::string> parts = shards_of(index);
  std::error_code ignored;
  if (!parts.empty()) std::filesystem::remove(index, ignored);
  for (const std::string& part : parts) std::filesystem::remove(folder_of(index) + part, ignored);
}

void remove_unfinished_shards(const std::string& index) {
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(index).parent_path(), ignored)) {
    const std::string file = entry.path().filename().string(), name = file.substr(0, file.find(".tmp-"));
    if (name == kUnfinished + std::string(runtime::kShardIndexEnding) || is_shard_name(name, kUnfinished))
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace selfnorm
