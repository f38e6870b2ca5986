// A regular file mapped read-only. Pages are read when they are touched, so opening costs the same whatever
// the size, and one at a time: without MADV_RANDOM one cold touch reads the device's whole read-ahead window,
// often megabytes. A file must not be truncated while it is mapped (replace it by rename, as selfnorm does).
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace selfnorm::runtime {

class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);  // throws IoError
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // From now on the file is read through, not touched here and there: gives the kernel its read-ahead back.
  void expect_scan() const;

  // This part of bytes() is not needed for now: its pages stop counting as memory of the process, and are
  // read again when touched.
  void release(std::span<const std::byte> part) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace selfnorm::runtime
