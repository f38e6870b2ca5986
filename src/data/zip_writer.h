// Writes zip archives (zip.h): members one after the other, then their directory; zip64 where a number needs
// it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "selfnorm/base/atomic_file.h"
#include "zip.h"

namespace selfnorm {

// bytes as one raw deflate stream.
std::vector<std::byte> deflated(std::span<const std::byte> bytes);
uint32_t checksum(std::span<const std::byte> bytes, uint32_t start = 0);  // CRC-32

class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  // `packed` are the bytes of the member as its method says, in pieces; its sizes and checksum are the
  // caller's, its place in the archive is not.
  void add(ZipMember member, std::initializer_list<std::span<const std::byte>> packed);
  void finish();

 private:
  void write(std::string_view bytes);

  AtomicFile& file_;
  uint64_t written_ = 0;
  std::vector<ZipMember> members_;
};

}  // namespace selfnorm
