// Files of named arrays: npy (one array, its name empty), npz and safetensors. Opening maps the file and
// reads headers alone; elements are looked at in place, or unpacked whole when an npz member is deflated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/array/array.h"

namespace selfnorm {

class ByteSource;
class Storage;

enum class ArrayFormat { npy, npz, safetensors };

struct ArrayEntry {
  std::string name;   // npz: without ".npy"
  std::string place;  // for messages: the file and the array in it
  ElementType type;
  std::string descr;  // npy, npz: the type as written, "<f4"
  std::vector<uint64_t> shape;
  uint64_t elements = 0;       // product of the shape
  bool fortran_order = false;  // column-major
  std::string problem;         // why it cannot be read (objects, complex numbers, a damaged header), or empty

  std::string shape_text() const;  // "[2, 3]"
};

// The elements of an array in the order of the file, valid as long as the view.
struct ArrayView {
  std::string place;
  ElementType type;
  std::vector<uint64_t> shape;
  bool fortran_order = false;
  std::span<const std::byte> bytes;   // of any alignment
  std::shared_ptr<const void> owner;  // of the bytes
  const Storage* storage = nullptr;   // the same, unless they were unpacked

  // The float32 of elements first .. first + to.size() - 1.
  void widen(uint64_t first, std::span<float> to) const;
  // Elements first .. first + count - 1 are not needed for now: a mapped file gives their memory back.
  void release(uint64_t first, uint64_t count) const;
};

class ArrayFile {
 public:
  // Throw Error naming the file when it is none of the three, or damaged.
  explicit ArrayFile(const std::string& path);
  ArrayFile(std::string name, std::shared_ptr<Storage> storage);
  ~ArrayFile();
  ArrayFile(ArrayFile&&) noexcept;
  ArrayFile& operator=(ArrayFile&&) noexcept;

  ArrayFormat format() const;
  const std::string& name() const;
  std::span<const std::byte> bytes() const;  // of the whole file
  const std::vector<ArrayEntry>& entries() const;
  const ArrayEntry* find(std::string_view name) const;                      // null when absent
  const std::map<std::string, std::string, std::less<>>& metadata() const;  // of safetensors

  // Throw Error when the array has a problem, or its size or (npz) its CRC-32 is wrong.
  ArrayView view(const ArrayEntry& entry) const;
  std::unique_ptr<ByteSource> source(const ArrayEntry& entry) const;  // a stream of its elements

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

// "'a', 'b' and 3 others", or "nothing".
std::string list_of_names(const std::vector<ArrayEntry>& entries);

// By the first bytes of a file: npy, npz or safetensors.
bool is_array_head(std::string_view head);
inline constexpr size_t kArrayHead = 9;
// Those of a regular file; empty for anything else.
std::string array_head(const std::string& path);

// Whether a regular file is one of torch.save (.pt, .pth, .bin) or pickle.dump, which are not read here.
bool is_pickle_file(const std::string& path);
// Throws DataError: what it is, and the line of Python that makes a file of it that is read here.
[[noreturn]] void refuse_pickle(const std::string& name);

}  // namespace selfnorm
