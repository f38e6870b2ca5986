#include "zip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

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

// What the local header and the directory have in common, from the version needed to the length of the extra
// field.
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
