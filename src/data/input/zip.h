// Zip archives (APPNOTE 6.3; zip64; stored and deflated members), enough for NPZ files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "data/input/source.h"

namespace selfnorm {

struct ZipMember {
  std::string name;
  uint32_t method = 0;  // 0 stored, 8 deflated
  uint32_t checksum = 0;
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint64_t offset = 0;  // of the local header
  uint32_t flags = 0;
  uint32_t time = (1u << 21) | (1u << 16);  // MS-DOS time and date: 1980-01-01, as NumPy writes
  uint32_t made_by = 20;
  uint32_t attributes = 0;  // external; made_by says of which system
};

class ZipArchive {
 public:
  ZipArchive(std::string name, std::shared_ptr<Storage> storage);  // reads and checks the directory
  const std::vector<ZipMember>& members() const { return members_; }

  bool holds(std::string_view ending) const;  // a member whose name ends so

  // Where its bytes, as stored, are in the file.
  uint64_t data_offset(const ZipMember& member) const;

  // Throws DataError at its end when the size or the CRC-32 is not the declared one.
  std::unique_ptr<ByteSource> open(const ZipMember& member) const;

 private:
  std::string bytes_at(uint64_t offset, uint64_t size) const;
  void read_directory(std::string_view directory, uint64_t count);
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::shared_ptr<Storage> storage_;
  std::vector<ZipMember> members_;
};

// Writes zip archives (zip.h): members one after the other, then their directory; zip64 where needed.

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
