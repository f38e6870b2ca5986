// Numbers in memory, or in a file that is mapped for reading: where they lie is a property of the array, and
// code that reads it does not know. Arrays of files are for data beyond memory: pages that were read are
// given back (NumberFile::was_read), so that what stays in memory does not grow with the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/error.h"

namespace selfnorm {

// What the disk of a file has no room for.
class DiskFull : public Error {
 public:
  using Error::Error;
};

// Pages of such files that a process keeps in its memory, all files together.
inline constexpr uint64_t kResidentBytes = uint64_t{256} << 20;

// Bytes of a file that is written once, from its start, then sealed and read where they are.
class NumberFile {
 public:
  // A file without a name in this folder, which goes with the process unless link() names it. Where the file
  // system has no nameless files it is .array-?????? until then, or until it is destroyed. Every call throws
  // Error naming the folder and the system's reason; DiskFull.
  explicit NumberFile(std::string folder);
  // The sealed file of this path; what is made of it is to be in `folder`. Throws Error.
  static std::shared_ptr<NumberFile> open(const std::string& path, std::string folder);
  ~NumberFile();
  NumberFile(const NumberFile&) = delete;
  NumberFile& operator=(const NumberFile&) = delete;

  void append(const void* bytes, size_t size);
  void seal();                         // nothing is appended any more
  void sync() const;                   // waits until it is on disk; sealed
  void link(const std::string& path);  // takes this name, which nobody has; sealed

  const std::string& folder() const { return folder_; }
  uint64_t size() const { return size_ + buffer_.size(); }
  const std::byte* data() const { return map_; }  // of a sealed file
  std::string digest() const;                     // XXH3-64 of a sealed file, 16 hexadecimal digits

  // So many bytes were looked at, scattered ones in pieces: when pages of all such files are more than
  // kResidentBytes in memory, all are given back. They are read again when they are looked at again.
  static void was_read(uint64_t bytes);
  static void limit_resident(uint64_t bytes);  // instead of kResidentBytes; 0: that again

 private:
  NumberFile() = default;
  void flush();
  void map();
  [[noreturn]] void fail(const char* action) const;

  std::string folder_, name_;  // name_: see above; mostly empty
  int descriptor_ = -1;
  uint64_t size_ = 0;  // in the file
  std::vector<std::byte> buffer_;
  const std::byte* map_ = nullptr;
  bool is_sealed_ = false;
};

template <class T>
class StoredArray {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;

  StoredArray() = default;
  StoredArray(std::initializer_list<T> values) : own_(values) {}
  StoredArray(std::vector<T> values) : own_(std::move(values)) {}
  // That of a file, to be appended to or sealed.
  explicit StoredArray(std::shared_ptr<NumberFile> file) : file_(std::move(file)) {}

  size_t size() const { return file_ ? file_->size() / sizeof(T) : own_.size(); }
  bool empty() const { return size() == 0; }
  const T* data() const { return file_ ? reinterpret_cast<const T*>(file_->data()) : own_.data(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](size_t i) const { return data()[i]; }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size() - 1]; }
  friend bool operator==(const StoredArray& a, const StoredArray& b) { return std::ranges::equal(a, b); }

  // At the end: in memory, or into the file before it is sealed.
  void push_back(T value) {
    if (file_)
      file_->append(&value, sizeof(T));
    else
      own_.push_back(value);
  }
  void append(std::span<const T> values) {
    if (file_)
      file_->append(values.data(), values.size_bytes());
    else
      own_.insert(own_.end(), values.begin(), values.end());
  }
  void reserve(size_t n) {
    if (!file_) own_.reserve(n);
  }
  void seal() {
    if (file_) file_->seal();
  }

  // To write to them: numbers of a file come into memory first.
  std::vector<T>& own() {
    if (file_) own_.assign(begin(), end());
    file_.reset();
    return own_;
  }
  void resize(size_t n, T value = {}) { own().resize(n, value); }
  void assign(size_t n, T value) { *this = std::vector<T>(n, value); }
  template <class Iterator>
  requires(!std::is_arithmetic_v<Iterator>) void assign(Iterator first, Iterator last) {
    *this = std::vector<T>(first, last);
  }
  void clear() { *this = StoredArray(); }

  const std::shared_ptr<NumberFile>& file() const { return file_; }  // null: in memory
  void was_read(size_t values) const {
    if (file_) NumberFile::was_read(values * sizeof(T));
  }

 private:
  std::vector<T> own_;
  std::shared_ptr<NumberFile> file_;
};

// body(numbers) for all of them in order, in pieces whose memory is given back.
template <class T, class Body>
void for_each_piece(const StoredArray<T>& values, const Body& body) {
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t begin = 0; begin < values.size(); begin += kPiece) {
    const size_t n = std::min(kPiece, values.size() - begin);
    body(std::span<const T>(values.data() + begin, n));
    values.was_read(n);
  }
}

}  // namespace selfnorm
