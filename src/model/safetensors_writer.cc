#include "model/safetensors_writer.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/atomic_file.h"
#include "selfnorm/error.h"
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

}  // namespace selfnorm
