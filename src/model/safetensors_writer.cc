#include "model/safetensors_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
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

// "model-00002-of-00004.safetensors"; where that is taken, "model-00002-of-00004.2.safetensors"
std::string shard_name(const std::string& stem, size_t part, size_t parts, size_t version = 1) {
  return fmt::format("{}-{:05}-of-{:05}{}.safetensors", stem, part, parts,
                     version == 1 ? "" : fmt::format(".{}", version));
}

// Which version the name is of a shard; 0: of none.
size_t version_of(const std::string& name, const std::string& stem) {
  size_t part = 0, parts = 0, version = 1;
  if (!name.starts_with(stem)) return 0;
  const char* const rest = name.c_str() + stem.size();
  if (std::sscanf(rest, "-%zu-of-%zu.%zu.safetensors", &part, &parts, &version) < 2) return 0;
  return name == shard_name(stem, part, parts, version) ? version : 0;
}
bool is_shard_name(const std::string& name, const std::string& stem) { return version_of(name, stem) > 0; }

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

void put_checksum(std::span<const std::span<const std::byte>> parts, std::string& header,
                  const runtime::BytesRead& read) {
  const runtime::ChecksumDigits digits = runtime::checksum_of(parts, read);
  std::copy(digits.begin(), digits.end(), header.begin() + runtime::kChecksumOffset);
}

std::string safetensors_header(std::vector<runtime::Tensor>& tensors, const Metadata& metadata,
                               const SafetensorsPlace& place, const runtime::BytesRead& read) {
  for (const runtime::Tensor& tensor : tensors) SELFNORM_CHECK(bytes_of_shape(tensor) == tensor.data.size());
  std::string out = safetensors_text(tensors, metadata, place);
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(out))};
  for (const runtime::Tensor& tensor : tensors) parts.push_back(tensor.data);
  put_checksum(parts, out, read);
  return out;
}

runtime::ChecksumDigits write_safetensors(const std::string& path, std::vector<runtime::Tensor> tensors,
                                          const Metadata& metadata, const SafetensorsPlace& place,
                                          const runtime::BytesRead& read) {
  std::string header;
  try {
    header = safetensors_header(tensors, metadata, place, read);
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
  AtomicFile file(path);
  file.write(header);
  for (const runtime::Tensor& tensor : tensors)
    runtime::for_each_piece(tensor.data, [&](std::span<const std::byte> piece) {
      file.write(std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size()));
      if (read) read(piece);
    });
  file.commit();
  runtime::ChecksumDigits digits;
  std::copy_n(header.begin() + runtime::kChecksumOffset, digits.size(), digits.begin());
  return digits;
}

std::string unfinished_shard(const std::string& index, size_t part, size_t parts) {
  const std::string place = folder_of(index) + shard_name(stem_of(index), part, parts);
  if (std::filesystem::is_directory(place)) throw_error("cannot write {}: it is a directory", place);
  return folder_of(index) + shard_name(kUnfinished, part, parts);
}

// Under names that the model before does not have: its index names whole files until the new one stands.
void place_model_shards(const std::string& index) {
  const std::string unfinished = unfinished_index(index), folder = folder_of(index), stem = stem_of(index);
  std::ifstream file(unfinished);
  nlohmann::ordered_json content = nlohmann::ordered_json::parse(file);
  const std::set<std::string> before = shards_of(index);
  std::set<size_t> taken;
  for (const std::string& name : before) taken.insert(version_of(name, stem));
  size_t version = 1;
  while (taken.contains(version)) ++version;
  std::map<std::string, std::string> place;  // of an unfinished shard
  for (auto& [tensor, part] : content.at("weight_map").items()) {
    const std::string name = part.get<std::string>();
    size_t own = 0, parts = 0;
    std::sscanf(name.c_str() + std::string_view(kUnfinished).size(), "-%zu-of-%zu", &own, &parts);
    part = place[name] = shard_name(stem, own, parts, version);
  }
  AtomicFile finished(index);
  finished.write(content.dump(1) + "\n");
  std::error_code error, ignored;
  for (const auto& [name, to] : place) {
    std::filesystem::rename(folder + name, folder + to, error);
    if (error) throw_error("cannot write {}: {}", folder + to, error.message());
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
  const std::set<std::string> named = shards_of(index);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(index).parent_path(), ignored)) {
    const std::string file = entry.path().filename().string(), name = file.substr(0, file.find(".tmp-"));
    const bool is_left = version_of(name, stem_of(index)) > 1 && !named.contains(name);
    if (is_left || name == kUnfinished + std::string(runtime::kShardIndexEnding) ||
        is_shard_name(name, kUnfinished))
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace selfnorm
