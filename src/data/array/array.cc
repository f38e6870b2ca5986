#include "data/array/array.h"

#include <fmt/format.h>

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

}  // namespace selfnorm
