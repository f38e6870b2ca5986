#include "array.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

template <class T>
T load(const char* from, bool big_endian) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  if (big_endian) std::reverse(bytes, bytes + sizeof(T));
  return std::bit_cast<T>(bytes);
}

[[noreturn]] void fail(const Array& array, const std::string& what) { throw DataError(array.name, 0, what); }

uint64_t element_count(const Array& array) {
  uint64_t count = 1;
  for (uint64_t n : array.shape)
    if (__builtin_mul_overflow(count, n, &count)) fail(array, "the declared shape is too large");
  return count;
}

// visit(T{}) with the arithmetic type of the elements.
template <class Visit>
void with_type(const Array& array, Visit visit) {
  auto [kind, size, big_endian] = array.type;
  if (kind == ElementKind::real && size == 4) return visit(float{});
  if (kind == ElementKind::real && size == 8) return visit(double{});
  if (kind == ElementKind::boolean && size == 1) return visit(uint8_t{});
  if (kind == ElementKind::natural && size == 1) return visit(uint8_t{});
  if (kind == ElementKind::natural && size == 2) return visit(uint16_t{});
  if (kind == ElementKind::natural && size == 4) return visit(uint32_t{});
  if (kind == ElementKind::natural && size == 8) return visit(uint64_t{});
  if (kind == ElementKind::integer && size == 1) return visit(int8_t{});
  if (kind == ElementKind::integer && size == 2) return visit(int16_t{});
  if (kind == ElementKind::integer && size == 4) return visit(int32_t{});
  if (kind == ElementKind::integer && size == 8) return visit(int64_t{});
  fail(array, "found elements that are not numbers of 1, 2, 4 or 8 bytes (floats: 4 or 8)");
}

// take(bytes, n) for runs of n elements; `expect(n)` first, when the source is known to hold all n.
template <class Expect, class Take>
void for_each_run(const Array& array, Expect expect, Take take) {
  uint64_t count = element_count(array), bytes = 0;
  if (array.type.size == 0 || __builtin_mul_overflow(count, array.type.size, &bytes))
    fail(array, "the declared shape is too large");
  auto remaining = array.payload->remaining();
  auto mismatch = [&](uint64_t found) {
    fail(array, fmt::format("the header declares {} bytes of elements, but {} follow", bytes, found));
  };
  if (remaining && *remaining != bytes) mismatch(*remaining);
  if (remaining) expect(count);
  uint64_t per_run = std::max<uint64_t>(1, kChunkBytes / array.type.size);
  if (array.type.size > kChunkBytes) fail(array, "found elements of more than 1 MiB");
  std::vector<char> chunk(static_cast<size_t>(std::min(per_run, count) * array.type.size));
  for (uint64_t done = 0; done < count;) {
    uint64_t n = std::min(per_run, count - done);
    uint64_t got = read_fully(*array.payload, chunk.data(), n * array.type.size);
    if (got < n * array.type.size) mismatch(done * array.type.size + got);
    take(chunk.data(), n);
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

// UTF-32 to UTF-8; anything that is no code point becomes U+FFFD.
void append_utf8(std::string& out, uint32_t c) {
  if (c >= 0x110000 || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  auto tail = [&](unsigned shift) { out += static_cast<char>(0x80u | ((c >> shift) & 0x3Fu)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0u | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0u | (c >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0u | (c >> 18));
    tail(12), tail(6), tail(0);
  }
}

// Elements are padded with zeros at the end.
std::string string_element(const char* from, const ElementType& type) {
  std::string out;
  if (type.kind == ElementKind::bytes) {
    out.assign(from, type.size);
    out.erase(out.find_last_not_of('\0') + 1);
    return out;
  }
  uint64_t length = type.size / 4;
  auto code = [&](uint64_t i) { return load<uint32_t>(from + 4 * i, type.big_endian); };
  while (length > 0 && code(length - 1) == 0) --length;
  for (uint64_t i = 0; i < length; ++i) append_utf8(out, code(i));
  return out;
}

template <class T>
std::string number_label(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return {};
    if (value == std::floor(value) && std::abs(static_cast<double>(value)) < 1e15)
      return fmt::format("{:.0f}", value + T{0});
    return fmt::format("{}", value);
  } else {
    return fmt::format("{}", static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
  }
}

}  // namespace

std::vector<float> read_floats(const Array& array) {
  std::vector<float> out;
  with_type(array, [&](auto zero) {
    using T = decltype(zero);
    for_each_run(
        array, [&](uint64_t n) { out.reserve(n); },
        [&](const char* bytes, uint64_t n) {
          for (uint64_t i = 0; i < n; ++i) {
            T value = load<T>(bytes + i * sizeof(T), array.type.big_endian);
            if constexpr (std::is_same_v<T, double>) {
              constexpr double kLargest = std::numeric_limits<float>::max();
              if (std::abs(value) > kLargest)
                value = std::copysign(std::numeric_limits<double>::infinity(), value);
            }
            out.push_back(static_cast<float>(value));
          }
        });
  });
  return array.fortran_order ? transposed(std::move(out), array.shape) : out;
}

std::vector<int64_t> read_integers(const Array& array) {
  if (array.type.kind != ElementKind::integer && array.type.kind != ElementKind::natural)
    fail(array, "found elements that are not integers");
  std::vector<int64_t> out;
  with_type(array, [&](auto zero) {
    using T = decltype(zero);
    for_each_run(
        array, [&](uint64_t n) { out.reserve(n); },
        [&](const char* bytes, uint64_t n) {
          for (uint64_t i = 0; i < n; ++i)
            out.push_back(static_cast<int64_t>(load<T>(bytes + i * sizeof(T), array.type.big_endian)));
        });
  });
  return out;
}

std::vector<std::string> read_labels(const Array& array) {
  bool column = array.shape.size() == 2 && array.shape[1] == 1;
  if (array.shape.size() > 1 && !column)
    fail(array, fmt::format("found labels in {} dimensions, expected one", array.shape.size()));
  std::vector<std::string> out;
  auto expect = [&](uint64_t n) { out.reserve(n); };
  if (array.type.kind == ElementKind::bytes || array.type.kind == ElementKind::unicode) {
    for_each_run(array, expect, [&](const char* bytes, uint64_t n) {
      for (uint64_t i = 0; i < n; ++i) out.push_back(string_element(bytes + i * array.type.size, array.type));
    });
    return out;
  }
  with_type(array, [&](auto zero) {
    using T = decltype(zero);
    for_each_run(array, expect, [&](const char* bytes, uint64_t n) {
      for (uint64_t i = 0; i < n; ++i)
        out.push_back(number_label(load<T>(bytes + i * sizeof(T), array.type.big_endian)));
    });
  });
  return out;
}

}  // namespace selfnorm
