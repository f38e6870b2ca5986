// The safetensors container (https://github.com/huggingface/safetensors#format):
//   u64 little-endian header length N | N bytes of JSON, padded with spaces | data
//   {"__metadata__": {string: string}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin,
//   end]}, ...}
// with offsets relative to the data. Everything is checked before any tensor is visible: N against the file,
// the JSON, the dtypes, the sizes (shape product x item size, without overflow) and that the tensors tile the
// data exactly (no overlap, no hole, nothing beyond the end). Parsing reads the header only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace selfnorm::runtime {

// The last four are carried but never computed with.
enum class Dtype {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  BOOL,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  C64
};

size_t item_size(Dtype dtype);
std::string_view dtype_name(Dtype dtype);

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;

  uint64_t elements() const { return data.size() / item_size(dtype); }
  // Whether `data` may be read in place as an array of its dtype. Files by other writers may be misaligned.
  bool is_aligned() const { return reinterpret_cast<uintptr_t>(data.data()) % item_size(dtype) == 0; }
  std::string shape_text() const;  // "[2, 3]"
};

struct Safetensors {
  std::vector<Tensor> tensors;  // by name
  std::map<std::string, std::string, std::less<>> metadata;

  const Tensor* find(std::string_view name) const;  // null when absent
};

inline constexpr uint64_t kLargestHeader = 100'000'000;

// The result points into `bytes`. `file` names them in errors (FormatError).
Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& file);

}  // namespace selfnorm::runtime
