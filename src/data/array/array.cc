#include "data/array/array.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "data/input/characters.h"

namespace selfnorm {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

[[noreturn]] void fail(const Array& array, const std::string& what) { throw DataError(array.name, 0, what); }

[[noreturn]] void fail_size(const Array& array, uint64_t declared, uint64_t found) {
  fail(array, fmt::format("the header declares {} bytes of elements, but {} follow", declared, found));
}

uint64_t declared_bytes(const Array& array) {
  uint64_t bytes = 0;
  if (array.type.size == 0 || __builtin_mul_overflow(element_count(array), array.type.size, &bytes))
    fail(array, "the declared shape is too large");
  return bytes;
}

// take(bytes) for runs of whole elements; `expect(n)` first, when the source is known to hold all n.
template <class Expect, class Take>
void for_each_run(const Array& array, Expect expect, Take take) {
  check_size(array);
  uint64_t count = element_count(array), bytes = declared_bytes(array);
  if (array.payload->remaining()) expect(count);
  uint64_t per_run = std::max<uint64_t>(1, kChunkBytes / array.type.size);
  if (array.type.size > kChunkBytes) fail(array, "found elements of more than 1 MiB");
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(per_run, count) * array.type.size));
  for (uint64_t done = 0; done < count;) {
    uint64_t n = std::min(per_run, count - done);
    uint64_t got = read_fully(*array.payload, reinterpret_cast<char*>(chunk.data()), n * array.type.size);
    if (got < n * array.type.size) fail_size(array, bytes, done * array.type.size + got);
    take(std::span<const std::byte>(chunk).first(n * array.type.size));
    done += n;
  }
  char extra = 0;
  if (array.payload->read(&extra, 1) > 0)
    fail(array, fmt::format("the header declares {} bytes of elements, but more follow", bytes));
}

// Column-major to row-major; any axes after the first two keep their place as further columns.
std::vector<float> transposed(std::vector<float> values, const std::vector<uint64_t>& shape) {
  if (shape.size() < 2) return values;
  uint64_t rows = shape[0], columns = rows ? values.size() / rows : 0;
  std::vector<float> out(values.size());
  for (uint64_t c = 0; c < columns; ++c)
    for (uint64_t r = 0; r < rows; ++r) out[r * columns + c] = values[c * rows + r];
  return out;
}

float to_float(double value) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::abs(value) > kLargest) value = std::copysign(std::numeric_limits<double>::infinity(), value);
  return static_cast<float>(value);
}

std::string text_element(const ElementType& type, const std::byte* from) {
  std::string out;
  if (type.kind == ElementKind::bytes) {
    out.assign(reinterpret_cast<const char*>(from), type.size);
    out.erase(out.find_last_not_of('\0') + 1);
    return out;
  }
  uint64_t length = type.size / 4;
  auto code = [&](uint64_t i) { return load_element<uint32_t>(from + 4 * i, type.big_endian); };
  while (length > 0 && code(length - 1) == 0) --length;
  for (uint64_t i = 0; i < length; ++i) append_utf8(code(i), out);
  return out;
}

template <class T>
std::string number_label(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return {};
    if (value == std::floor(value) && std::abs(static_cast<double>(value)) < 1e15)
      return fmt::format("{:.0f}", value + T{0});
    return fmt::format("{}", value);
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
  } else {
    return number_label(static_cast<float>(value));
  }
}

template <class T>
void store_each(std::span<const float> from, bool big_endian, std::byte* to) {
  for (const float value : from) {
    const T stored = static_cast<T>(value);
    std::memcpy(to, &stored, sizeof(T));
    if (big_endian) std::reverse(to, to + sizeof(T));
    to += sizeof(T);
  }
}

}  // namespace

uint64_t element_count(const Array& array) {
  uint64_t count = 1;
  for (uint64_t n : array.shape)
    if (__builtin_mul_overflow(count, n, &count)) fail(array, "the declared shape is too large");
  return count;
}

std::vector<float> read_floats(const Array& array) {
  if (!array.type.is_number()) fail(array, "found elements that are not numbers");
  std::vector<float> out;
  for_each_run(
      array, [&](uint64_t n) { out.reserve(n); },
      [&](std::span<const std::byte> bytes) {
        const size_t begin = out.size();
        out.resize(begin + bytes.size() / array.type.size);
        widen(array.type, bytes, std::span(out).subspan(begin));
      });
  return array.fortran_order ? transposed(std::move(out), array.shape) : out;
}

std::vector<int64_t> read_integers(const Array& array) {
  if (array.type.kind != ElementKind::integer && array.type.kind != ElementKind::natural)
    fail(array, "found elements that are not integers");
  std::vector<int64_t> out;
  with_number_type(array.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      for_each_run(
          array, [&](uint64_t n) { out.reserve(n); },
          [&](std::span<const std::byte> bytes) {
            for (size_t i = 0; i < bytes.size(); i += sizeof(T))
              out.push_back(static_cast<int64_t>(load_element<T>(bytes.data() + i, array.type.big_endian)));
          });
    }
  });
  return out;
}

std::vector<std::string> read_labels(const Array& array) {
  bool column = array.shape.size() == 2 && array.shape[1] == 1;
  if (array.shape.size() > 1 && !column)
    fail(array, fmt::format("found labels in {} dimensions, expected one", array.shape.size()));
  std::vector<std::string> out;
  for_each_run(
      array, [&](uint64_t n) { out.reserve(n); },
      [&](std::span<const std::byte> bytes) {
        for (size_t i = 0; i < bytes.size(); i += array.type.size)
          out.push_back(label_text(array.type, bytes.data() + i));
      });
  return out;
}

std::vector<std::byte> read_elements(const Array& array) {
  std::vector<std::byte> out;
  for_each_run(
      array, [&](uint64_t n) { out.reserve(n * array.type.size); },
      [&](std::span<const std::byte> bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); });
  return out;
}

void check_size(const Array& array) {
  const uint64_t bytes = declared_bytes(array);
  const auto remaining = array.payload->remaining();
  if (remaining && *remaining != bytes) fail_size(array, bytes, *remaining);
}

void check_elements(const Array& array) {
  for_each_run(
      array, [](uint64_t) {}, [](std::span<const std::byte>) {});
}

std::string ElementType::name() const {
  if (!is_number()) return fmt::format("{} bytes of text", size);
  if (kind == ElementKind::boolean) return "bool";
  const char* name = kind == ElementKind::integer   ? "int"
                     : kind == ElementKind::natural ? "uint"
                     : kind == ElementKind::real    ? "float"
                                                    : "bfloat";
  return fmt::format("{}{}", name, 8 * size);
}

void widen(const ElementType& type, std::span<const std::byte> from, std::span<float> to) {
  SELFNORM_CHECK(from.size() == to.size() * type.size);
  const bool is_native = !type.big_endian;
  if (is_native && type.kind == ElementKind::bfloat) return widen_bfloat16(from, to);
  if (is_native && type.kind == ElementKind::real && type.size == 2) return widen_float16(from, to);
  if (is_native && type.kind == ElementKind::real && type.size == 4) {
    if (!to.empty()) std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  with_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < to.size(); ++i) {
      const T value = load_element<T>(from.data() + i * sizeof(T), type.big_endian);
      if constexpr (std::is_same_v<T, double>) {
        to[i] = to_float(value);
      } else {
        to[i] = static_cast<float>(value);
      }
    }
  });
}

void narrow(const ElementType& type, std::span<const float> from, std::span<std::byte> to) {
  SELFNORM_CHECK(type.is_float() && to.size() == from.size() * type.size);
  if (type.size == 4) return store_each<float>(from, type.big_endian, to.data());
  if (type.size == 8) return store_each<double>(from, type.big_endian, to.data());
  if (type.kind == ElementKind::bfloat) {
    narrow_to_bfloat16(from, to);
  } else {
    narrow_to_float16(from, to);
  }
  for (size_t i = 0; type.big_endian && i < to.size(); i += 2) std::swap(to[i], to[i + 1]);
}

std::string label_text(const ElementType& type, const std::byte* element) {
  if (!type.is_number()) return text_element(type, element);
  std::string out;
  with_number_type(
      type, [&](auto zero) { out = number_label(load_element<decltype(zero)>(element, type.big_endian)); });
  return out;
}

}  // namespace selfnorm
