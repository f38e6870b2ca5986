// Writes a safetensors file (selfnorm/runtime/safetensors.h): models and training checkpoints alike. The file
// appears whole or not at all. The data section starts at a multiple of 64 bytes and larger item sizes come
// first, so every tensor is aligned to its item size and can be used in place when mapped. The first of the
// metadata is a checksum (selfnorm/runtime/checksum.h).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/safetensors.h"

namespace selfnorm {

// A tensor to write: runtime::Tensor with data that the caller keeps alive until the call returns.
template <class T>
runtime::Tensor make_tensor(std::string name, runtime::Dtype dtype, std::vector<uint64_t> shape,
                            std::span<const T> values) {
  return {std::move(name), dtype, std::move(shape), std::as_bytes(values)};
}

using Metadata = std::map<std::string, std::string, std::less<>>;

// Where the data begin that processes share (selfnorm/runtime/mapped_file.h): with this tensor, at this place
// of a page.
struct SafetensorsPlace {
  std::string first;
  uint64_t start = 0;
};
// The header alone, with blank digits for the checksum; what tensors there are is told by their shapes.
std::string safetensors_text(std::vector<runtime::Tensor>& tensors, const Metadata& metadata,
                             const SafetensorsPlace& place = {});
void put_checksum(std::span<const std::span<const std::byte>> parts, std::string& header,
                  const runtime::BytesRead& read = {});

// Everything before the data; puts `tensors` in the order of the file. Throws Error when a text is not UTF-8.
std::string safetensors_header(std::vector<runtime::Tensor>& tensors, const Metadata& metadata,
                               const SafetensorsPlace& place = {}, const runtime::BytesRead& read = {});

// Throws Error (naming `path`) when the file cannot be written. Returns its checksum. `read` is told twice of
// the numbers.
runtime::ChecksumDigits write_safetensors(const std::string& path, std::vector<runtime::Tensor> tensors,
                                          const Metadata& metadata, const SafetensorsPlace& place = {},
                                          const runtime::BytesRead& read = {});

// A model in shards (selfnorm/runtime/mapped_file.h), beside FOLDER/STEM.safetensors.index.json. Shards and
// an index of them are written under names of their own, so that the model before stays until all are there
// and place_model_shards puts them in its place. Throws Error when something else is there.
std::string unfinished_shard(const std::string& index, size_t part, size_t parts);  // part: from 1
std::string unfinished_index(const std::string& index);
void place_model_shards(const std::string& index);
void remove_unfinished_shards(const std::string& index);
bool is_shard_index(const std::string& path);  // of a model that was saved so, not one of Hugging Face
// The index and the parts that it names, if it is one of ours.
void remove_model_shards(const std::string& index);

}  // namespace selfnorm
