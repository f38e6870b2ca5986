#include "data/input/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "data/input/characters.h"
#include "data/read.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr std::string_view kEnd = "PK\5\6", kEnd64 = "PK\6\6", kLocator64 = "PK\6\7", kDirectory = "PK\1\2",
                           kLocal = "PK\3\4";
constexpr uint64_t kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56, kDirectorySize = 46, kLocalSize = 30;
constexpr uint64_t kLargestDirectory = uint64_t{1} << 24;
constexpr uint64_t kLargestRatio = 1032;  // of deflate: 258 bytes from 2 bits

uint64_t little(std::string_view bytes, size_t offset, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i)
    value |= uint64_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
  return value;
}

// Extra field 1: the 64-bit values of those among (size, compressed size, offset) that read 0xFFFFFFFF.
bool read_zip64(std::string_view extra, ZipMember& member) {
  constexpr uint64_t kElsewhere = 0xFFFFFFFFu;
  uint64_t* wanted[] = {&member.size, &member.compressed_size, &member.offset};
  bool missing =
      std::any_of(std::begin(wanted), std::end(wanted), [](auto* field) { return *field == kElsewhere; });
  while (missing && extra.size() >= 4) {
    uint64_t id = little(extra, 0, 2), size = little(extra, 2, 2);
    if (size > extra.size() - 4) return false;
    std::string_view body = extra.substr(4, size);
    for (auto* field : wanted)
      if (id == 1 && *field == kElsewhere) {
        if (body.size() < 8) return false;
        *field = little(body, 0, 8);
        body.remove_prefix(8);
      }
    if (id == 1) return true;
    extra.remove_prefix(4 + size);
  }
  return !missing;
}

class CheckedSource : public ByteSource {
 public:
  CheckedSource(std::string name, std::unique_ptr<ByteSource> inner, const ZipMember& member)
      : name_(std::move(name)), inner_(std::move(inner)), left_(member.size), expected_(member.checksum) {}

  size_t read(char* to, size_t n) override {
    size_t got = inner_->read(to, n);
    if (got > left_ || (got == 0 && n > 0 && left_ > 0))
      throw DataError(name_, 0, "its size differs from the one in the directory of the archive");
    left_ -= got;
    actual_ = crc32_z(actual_, reinterpret_cast<const Bytef*>(to), got);
    if (got == 0 && n > 0 && actual_ != expected_)
      throw DataError(name_, 0, "its CRC-32 is wrong: the archive is damaged");
    return got;
  }
  std::optional<uint64_t> remaining() const override {
    const auto stored = inner_->remaining();
    return stored ? stored : left_;
  }

 private:
  std::string name_;
  std::unique_ptr<ByteSource> inner_;
  uint64_t left_;
  uint64_t expected_;
  uLong actual_ = 0;
};

constexpr uint64_t kElsewhere = 0xFFFFFFFFu;  // the number is in the zip64 field
constexpr uint32_t kDescriptor = 8;           // flag: sizes follow the data, which they do not here

void append(std::string& out, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
}

uint64_t short_form(uint64_t value) { return std::min(value, kElsewhere); }

std::string zip64_field(std::initializer_list<uint64_t> numbers) {
  std::string body, out;
  for (uint64_t n : numbers)
    if (n >= kElsewhere) append(body, n, 8);
  if (body.empty()) return out;
  append(out, 1, 2);
  append(out, body.size(), 2);
  return out + body;
}

// What the local header and the directory have in common, from the version to the length of the extra field.
std::string common_fields(const ZipMember& m, const std::string& extra, uint64_t size,
                          uint64_t compressed_size) {
  std::string out;
  append(out, extra.empty() ? 20 : 45, 2);
  append(out, m.flags & ~kDescriptor, 2);
  append(out, m.method, 2);
  append(out, m.time, 4);
  append(out, m.checksum, 4);
  append(out, compressed_size, 4);
  append(out, size, 4);
  append(out, m.name.size(), 2);
  append(out, extra.size(), 2);
  return out;
}

}  // namespace

ZipArchive::ZipArchive(std::string name, std::shared_ptr<Storage> storage)
    : name_(std::move(name)), storage_(std::move(storage)) {
  uint64_t size = storage_->size();
  uint64_t tail_size = std::min<uint64_t>(size, kEndSize + 0xFFFF);
  std::string tail = bytes_at(size - tail_size, tail_size);
  size_t at = tail.rfind(kEnd);
  if (at == std::string::npos || tail.size() - at < kEndSize)
    fail("found no end of a zip archive: the file is truncated");
  uint64_t end = size - tail_size + at;
  uint64_t count = little(tail, at + 10, 2), bytes = little(tail, at + 12, 4),
           offset = little(tail, at + 16, 4);
  if (end >= kLocator64Size) {
    std::string locator = bytes_at(end - kLocator64Size, kLocator64Size);
    if (locator.starts_with(kLocator64)) {
      std::string end64 = bytes_at(little(locator, 8, 8), kEnd64Size);
      if (!end64.starts_with(kEnd64)) fail("the zip64 end of the archive is damaged");
      count = little(end64, 32, 8);
      bytes = little(end64, 40, 8);
      offset = little(end64, 48, 8);
    }
  }
  if (bytes > kLargestDirectory) fail(fmt::format("the directory of the archive declares {} bytes", bytes));
  read_directory(bytes_at(offset, bytes), count);
}

void ZipArchive::fail(const std::string& what) const { throw DataError(name_, 0, what); }

std::string ZipArchive::bytes_at(uint64_t offset, uint64_t size) const {
  if (offset > storage_->size() || size > storage_->size() - offset)
    fail("the archive points beyond its own end: it is truncated or damaged");
  std::string bytes(size, '\0');
  auto source = storage_source(storage_, offset, size);
  if (read_fully(*source, bytes.data(), size) < size) fail("the file ends too early");
  return bytes;
}

void ZipArchive::read_directory(std::string_view directory, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (directory.size() < kDirectorySize || !directory.starts_with(kDirectory))
      fail("the directory of the archive is damaged");
    uint64_t name = little(directory, 28, 2), extra = little(directory, 30, 2),
             comment = little(directory, 32, 2);
    if (directory.size() - kDirectorySize < name + extra + comment)
      fail("the directory of the archive is damaged");
    ZipMember member{.name = std::string(directory.substr(kDirectorySize, name)),
                     .method = static_cast<uint32_t>(little(directory, 10, 2)),
                     .checksum = static_cast<uint32_t>(little(directory, 16, 4)),
                     .compressed_size = little(directory, 20, 4),
                     .size = little(directory, 24, 4),
                     .offset = little(directory, 42, 4),
                     .flags = static_cast<uint32_t>(little(directory, 8, 2)),
                     .time = static_cast<uint32_t>(little(directory, 12, 4)),
                     .made_by = static_cast<uint32_t>(little(directory, 4, 2)),
                     .attributes = static_cast<uint32_t>(little(directory, 38, 4))};
    if (!read_zip64(directory.substr(kDirectorySize + name, extra), member))
      fail("a zip64 field of the archive is damaged");
    if (member.flags & 1) fail(fmt::format("the member {} is encrypted", quoted_text(member.name)));
    members_.push_back(std::move(member));
    directory.remove_prefix(kDirectorySize + name + extra + comment);
  }
}

bool ZipArchive::holds(std::string_view ending) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const ZipMember& member) { return member.name.ends_with(ending); });
}

uint64_t ZipArchive::data_offset(const ZipMember& member) const {
  std::string local = bytes_at(member.offset, kLocalSize);
  if (!local.starts_with(kLocal))
    fail(fmt::format("the header of the member {} is damaged", quoted_text(member.name)));
  uint64_t begin = member.offset + kLocalSize + little(local, 26, 2) + little(local, 28, 2);
  if (begin > storage_->size() || member.compressed_size > storage_->size() - begin)
    fail(fmt::format("the member {} reaches beyond the end of the file", quoted_text(member.name)));
  return begin;
}

std::unique_ptr<ByteSource> ZipArchive::open(const ZipMember& member) const {
  std::string name = fmt::format("{} {}", name_, quoted_text(member.name));
  auto raw = storage_source(storage_, data_offset(member), member.compressed_size);
  if (member.method != 0 && member.method != 8)
    fail(fmt::format("the member {} uses compression method {}, expected stored or deflated",
                     quoted_text(member.name), member.method));
  if (member.method == 8 && member.size / kLargestRatio > member.compressed_size)
    fail(fmt::format("the member {} declares {} bytes, more than its {} bytes can unpack to",
                     quoted_text(member.name), member.size, member.compressed_size));
  if (member.method == 8) check_expansion(name, member.compressed_size, member.size);
  if (member.method == 8) raw = deflate_source(name, std::move(raw));
  return std::make_unique<CheckedSource>(name, std::move(raw), member);
}

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  constexpr size_t kStep = size_t{1} << 20;
  constexpr size_t kMost = std::numeric_limits<uInt>::max();
  std::vector<std::byte> out;
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  size_t left = bytes.size();
  int code = Z_OK;
  do {
    const size_t given = std::min(left, kMost), begin = out.size();
    stream.avail_in = static_cast<uInt>(given);
    out.resize(begin + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    stream.avail_out = kStep;
    code = deflate(&stream, given == left ? Z_FINISH : Z_NO_FLUSH);
    left -= given - stream.avail_in;
    out.resize(out.size() - stream.avail_out);
  } while (code == Z_OK);
  deflateEnd(&stream);
  SELFNORM_CHECK(code == Z_STREAM_END);
  return out;
}

uint32_t checksum(std::span<const std::byte> bytes, uint32_t start) {
  return static_cast<uint32_t>(crc32_z(start, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void ZipWriter::add(ZipMember member, std::initializer_list<std::span<const std::byte>> packed) {
  member.offset = written_;
  // A local zip64 field has both sizes or neither.
  const bool is_large = std::max(member.size, member.compressed_size) >= kElsewhere;
  std::string extra;
  if (is_large) {
    append(extra, 1, 2);
    append(extra, 16, 2);
    append(extra, member.size, 8);
    append(extra, member.compressed_size, 8);
  }
  write("PK\3\4" +
        common_fields(member, extra, is_large ? kElsewhere : member.size,
                      is_large ? kElsewhere : member.compressed_size) +
        member.name + extra);
  for (const auto piece : packed) write({reinterpret_cast<const char*>(piece.data()), piece.size()});
  members_.push_back(std::move(member));
}

void ZipWriter::finish() {
  const uint64_t begin = written_, count = members_.size();
  for (const ZipMember& m : members_) {
    const std::string extra = zip64_field({m.size, m.compressed_size, m.offset});
    std::string entry = "PK\1\2";
    append(entry, m.made_by, 2);
    entry += common_fields(m, extra, short_form(m.size), short_form(m.compressed_size));
    append(entry, 0, 6);  // comment, disk, internal attributes
    append(entry, m.attributes, 4);
    append(entry, short_form(m.offset), 4);
    write(entry.append(m.name).append(extra));
  }
  const uint64_t size = written_ - begin, end = written_;
  std::string tail;
  if (begin >= kElsewhere || size >= kElsewhere || count >= 0xFFFF) {
    tail += "PK\6\6";
    append(tail, 44, 8);
    append(tail, 45, 2);
    append(tail, 45, 2);
    append(tail, 0, 8);  // disks
    append(tail, count, 8);
    append(tail, count, 8);
    append(tail, size, 8);
    append(tail, begin, 8);
    tail += "PK\6\7";
    append(tail, 0, 4);
    append(tail, end, 8);
    append(tail, 1, 4);
  }
  tail += "PK\5\6";
  append(tail, 0, 4);
  append(tail, std::min<uint64_t>(count, 0xFFFF), 2);
  append(tail, std::min<uint64_t>(count, 0xFFFF), 2);
  append(tail, short_form(size), 4);
  append(tail, short_form(begin), 4);
  append(tail, 0, 2);
  write(tail);
}

}  // namespace selfnorm
