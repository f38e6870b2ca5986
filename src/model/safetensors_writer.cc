#include "model/safetensors_writer.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/atomic_file.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/checksum.h"

namespace selfnorm {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLengthSize = 8;

void check_tensor(const runtime::Tensor& tensor) {
  uint64_t elements = 1;
  for (const uint64_t extent : tensor.shape) elements *= extent;
  SELFNORM_CHECK(elements * runtime::item_size(tensor.dtype) == tensor.data.size());
  SELFNORM_CHECK(tensor.name != "__metadata__");
}

}  // namespace

std::string safetensors_header(std::vector<runtime::Tensor>& tensors, const Metadata& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const runtime::Tensor& a, const runtime::Tensor& b) {
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
    check_tensor(tensor);
    SELFNORM_CHECK(!header.contains(tensor.name));
    const uint64_t end = offset + tensor.data.size();
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
  json.resize((kLengthSize + json.size() + kAlignment - 1) / kAlignment * kAlignment - kLengthSize, ' ');
  const uint64_t length = json.size();
  if (length > runtime::kLargestHeader) throw Error("the metadata exceed 100 MB");
  std::string out(kLengthSize, '\0');
  std::memcpy(out.data(), &length, kLengthSize);
  out += json;
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(out))};
  for (const runtime::Tensor& tensor : tensors) parts.push_back(tensor.data);
  const runtime::ChecksumDigits digits = runtime::checksum_of(parts);
  std::copy(digits.begin(), digits.end(), out.begin() + runtime::kChecksumOffset);
  return out;
}

void write_safetensors(const std::string& path, std::vector<runtime::Tensor> tensors,
                       const Metadata& metadata) {
  std::string header;
  try {
    header = safetensors_header(tensors, metadata);
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
