#include "selfnorm/runtime/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/json_cursor.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are read in place and are little-endian");

// In the order of Dtype.
constexpr std::array<std::string_view, 17> kDtypeNames = {
    "F64", "F32", "F16", "BF16", "I64",     "I32",     "I16",     "I8", "U64",
    "U32", "U16", "U8",  "BOOL", "F8_E5M2", "F8_E4M3", "F8_E8M0", "C64"};
constexpr std::array<size_t, 17> kDtypeSizes = {8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1, 1, 1, 1, 8};

struct Entry {
  Tensor tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Dtype parse_dtype(JsonCursor& json) {
  const std::string name = json.string();
  for (size_t i = 0; i < kDtypeNames.size(); ++i) {
    if (kDtypeNames[i] == name) return static_cast<Dtype>(i);
  }
  json.fail("a dtype such as F32, BF16 or I8 instead of \"" + name + "\"");
}

Entry parse_entry(JsonCursor& json, std::string name) {
  Entry entry;
  entry.tensor.name = std::move(name);
  bool has_dtype = false, has_shape = false, has_offsets = false;
  const auto once = [&json](bool& seen, const std::string& key) {
    if (seen) json.fail("each field once; \"" + key + "\" is repeated");
    seen = true;
  };
  json.expect('{');
  do {
    const std::string key = json.string();
    json.expect(':');
    if (key == "dtype") {
      once(has_dtype, key);
      entry.tensor.dtype = parse_dtype(json);
    } else if (key == "shape") {
      once(has_shape, key);
      json.expect('[');
      if (json.accept(']')) continue;
      do {
        entry.tensor.shape.push_back(json.integer());
      } while (json.accept(','));
      json.expect(']');
    } else if (key == "data_offsets") {
      once(has_offsets, key);
      json.expect('[');
      entry.begin = json.integer();
      json.expect(',');
      entry.end = json.integer();
      json.expect(']');
    } else {
      json.fail("dtype, shape or data_offsets instead of \"" + key + "\"");
    }
  } while (json.accept(','));
  json.expect('}');
  if (!has_dtype || !has_shape || !has_offsets) json.fail("dtype, shape and data_offsets in every tensor");
  return entry;
}

void parse_metadata(JsonCursor& json, Safetensors& out) {
  json.expect('{');
  if (json.accept('}')) return;
  do {
    std::string key = json.string();
    json.expect(':');
    std::string value = json.string();
    const auto [place, inserted] = out.metadata.emplace(std::move(key), std::move(value));
    if (!inserted) json.fail("each metadata key once; \"" + place->first + "\" is repeated");
  } while (json.accept(','));
  json.expect('}');
}

std::vector<Entry> parse_header(JsonCursor& json, Safetensors& out) {
  std::vector<Entry> entries;
  bool has_metadata = false;
  json.expect('{');
  if (!json.accept('}')) {
    do {
      std::string key = json.string();
      json.expect(':');
      if (key == "__metadata__") {
        if (has_metadata) json.fail("one __metadata__");
        has_metadata = true;
        parse_metadata(json, out);
      } else {
        entries.push_back(parse_entry(json, std::move(key)));
      }
    } while (json.accept(','));
    json.expect('}');
  }
  json.end();
  return entries;
}

std::string place_of(const Entry& entry, const std::string& file) {
  return file + ": tensor \"" + shortened(entry.tensor.name) + "\": bytes " + std::to_string(entry.begin) +
         " to " + std::to_string(entry.end);
}

// product(shape) x item size.
uint64_t byte_size(const Entry& entry, const std::string& file) {
  uint64_t size = item_size(entry.tensor.dtype);
  for (const uint64_t extent : entry.tensor.shape) {
    if (__builtin_mul_overflow(size, extent, &size)) {
      throw FormatError(place_of(entry, file) + ": shape " + shortened(entry.tensor.shape_text()) +
                        " does not fit in 64 bits");
    }
  }
  return size;
}

// The entries in order of offset tile [0, size).
void check_extents(std::vector<Entry>& entries, uint64_t size, const std::string& file) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t covered = 0;
  for (const Entry& entry : entries) {
    const uint64_t expected = byte_size(entry, file);
    if (entry.begin > entry.end || entry.end > size) {
      throw FormatError(place_of(entry, file) + " are outside the " + std::to_string(size) +
                        " bytes of data; the file is truncated or damaged");
    }
    if (entry.end - entry.begin != expected) {
      throw FormatError(
          place_of(entry, file) + " do not match shape " + shortened(entry.tensor.shape_text()) + " of " +
          std::string(dtype_name(entry.tensor.dtype)) + ", expected " + std::to_string(expected) + " bytes");
    }
    if (entry.begin != covered) {
      throw FormatError(place_of(entry, file) + (entry.begin < covered ? " overlap" : " leave a hole after") +
                        " another tensor, expected to begin at " + std::to_string(covered));
    }
    covered = entry.end;
  }
  if (covered != size) {
    throw FormatError(file + ": tensors cover " + std::to_string(covered) + " of the " +
                      std::to_string(size) + " bytes of data, expected all of them");
  }
}

}  // namespace

size_t item_size(Dtype dtype) { return kDtypeSizes[static_cast<size_t>(dtype)]; }
std::string_view dtype_name(Dtype dtype) { return kDtypeNames[static_cast<size_t>(dtype)]; }

std::string Tensor::shape_text() const {
  std::string text = "[";
  for (const uint64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

const Tensor* Safetensors::find(std::string_view name) const {
  const auto place = std::lower_bound(tensors.begin(), tensors.end(), name,
                                      [](const Tensor& t, std::string_view n) { return t.name < n; });
  return place != tensors.end() && place->name == name ? &*place : nullptr;
}

Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    throw FormatError(file + ": " + std::to_string(bytes.size()) + " bytes, expected a safetensors file");
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kLargestHeader || length > bytes.size() - sizeof length) {
    throw FormatError(file + ": header length " + std::to_string(length) + " in a file of " +
                      std::to_string(bytes.size()) + " bytes; not a safetensors file, or truncated");
  }
  const auto text = bytes.subspan(sizeof length, length);
  const auto data = bytes.subspan(sizeof length + length);

  Safetensors out;
  JsonCursor json({reinterpret_cast<const char*>(text.data()), text.size()}, file);
  std::vector<Entry> entries = parse_header(json, out);
  check_extents(entries, data.size(), file);
  out.tensors.reserve(entries.size());
  for (Entry& entry : entries) {
    entry.tensor.data = data.subspan(entry.begin, entry.end - entry.begin);
    out.tensors.push_back(std::move(entry.tensor));
  }
  std::sort(out.tensors.begin(), out.tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  const auto twin = std::adjacent_find(out.tensors.begin(), out.tensors.end(),
                                       [](const Tensor& a, const Tensor& b) { return a.name == b.name; });
  if (twin != out.tensors.end()) {
    throw FormatError(file + ": tensor \"" + shortened(twin->name) + "\" appears twice");
  }
  return out;
}

}  // namespace selfnorm::runtime
