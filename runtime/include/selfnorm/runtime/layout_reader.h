// Metadata and tensors of a model file by name, checked; what fails names the file, what was found and what
// was expected.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string>
#include <type_traits>

#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/model_layout.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::runtime {

struct LayoutReader {
  const Safetensors& file;
  const std::string& name;

  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(name + ": " + shortened(what, 300));
  }

  std::string_view metadata(std::string_view key) const {
    const auto place = file.metadata.find(key);
    if (place == file.metadata.end()) fail("no metadata \"" + std::string(key) + "\"; not a selfnorm model");
    return place->second;
  }

  void check_version() const {
    if (metadata("format_version") == kFormatVersion) return;
    fail("model format version " + std::string(metadata("format_version")) +
         ", this selfnorm reads version 1; update selfnorm or write the model again with this version");
  }

  // Fails where a tensor has none of the names.
  template <class... Names>
  void refuse_others(const Names&... names) const {
    for (const Tensor& tensor : file.tensors) {
      if ((... || (std::find(names.begin(), names.end(), tensor.name) != names.end()))) continue;
      fail("unexpected tensor \"" + tensor.name + "\"");
    }
  }

  template <size_t N>
  size_t choice(std::string_view key, const std::array<std::string_view, N>& names) const {
    const std::string_view value = metadata(key);
    std::string expected;
    for (size_t i = 0; i < N; ++i) {
      if (names[i] == value) return i;
      expected += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    fail("metadata \"" + std::string(key) + "\" is \"" + std::string(value) + "\", expected one of " +
         expected);
  }

  template <class T>
  T number(std::string_view key) const {
    const std::string_view text = metadata(key);
    T value{};
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || last != text.data() + text.size()) {
      fail("metadata \"" + std::string(key) + "\" is \"" + std::string(text) +
           "\", expected a number below " + (std::is_integral_v<T> ? "2^32" : "1e308"));
    }
    return value;
  }

  // A tensor of the given dtype and shape; read in place.
  template <class T>
  std::span<const T> tensor(std::string_view key, Dtype dtype, std::vector<uint64_t> shape) const {
    const Tensor* found = file.find(key);
    const Tensor expected{std::string(key), dtype, std::move(shape), {}};
    if (found == nullptr) fail("no tensor \"" + expected.name + "\"");
    if (found->dtype != dtype || found->shape != expected.shape) {
      fail("tensor \"" + expected.name + "\" is " + std::string(dtype_name(found->dtype)) + " " +
           found->shape_text() + ", expected " + std::string(dtype_name(dtype)) + " " +
           expected.shape_text());
    }
    if (!found->is_aligned()) {
      fail("tensor \"" + expected.name + "\" is not aligned to " + std::to_string(item_size(dtype)) +
           " bytes; write the file with a padded header, or pass memory aligned to 8 bytes");
    }
    return {reinterpret_cast<const T*>(found->data.data()), static_cast<size_t>(found->elements())};
  }

  std::span<const float> optional_floats(std::string_view key, uint64_t n) const {
    return file.find(key) == nullptr ? std::span<const float>() : tensor<float>(key, Dtype::F32, {n});
  }

  StringTable strings(const std::string& key, uint64_t n) const {
    const Tensor* bytes = file.find(key + ".bytes");
    const Tensor* offsets = file.find(key + ".offsets");
    if (bytes == nullptr && offsets == nullptr) return {};
    if (bytes == nullptr || offsets == nullptr)
      fail("expected both " + key + ".bytes and " + key + ".offsets");
    return {tensor<uint8_t>(key + ".bytes", Dtype::U8, {bytes->data.size()}),
            tensor<uint64_t>(key + ".offsets", Dtype::U64, {n + 1})};
  }

  // Where the n strings of the list <key> are (label_index.h); optional.
  LabelIndex index(const std::string& key, uint64_t n) const {
    const Tensor* found = file.find(key + ".index");
    if (found == nullptr) return {};
    const uint64_t slots = found->elements();
    if (!std::has_single_bit(slots) || slots < 2 * n || file.find(key + ".bytes") == nullptr) {
      fail("tensor \"" + key + ".index\" has " + std::to_string(slots) +
           " slots, expected a power of two, at least two for each of " + std::to_string(n) + " strings");
    }
    return {tensor<uint32_t>(key + ".index", Dtype::U32, {slots})};
  }
};

}  // namespace selfnorm::runtime
