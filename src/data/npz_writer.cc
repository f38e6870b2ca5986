#include "selfnorm/data/npz_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "npy.h"
#include "zip_writer.h"

namespace selfnorm {
namespace {

void add_array(ZipWriter& writer, ZipMember member, const NpyArray& array) {
  const std::string header = npy_header(array.descr, array.shape);
  const auto head = std::as_bytes(std::span(header));
  member.size = head.size() + array.bytes.size();
  member.checksum = checksum(array.bytes, checksum(head));
  if (member.method == 0) {
    member.compressed_size = member.size;
    writer.add(std::move(member), {head, array.bytes});
    return;
  }
  std::vector<std::byte> whole(head.begin(), head.end());
  whole.insert(whole.end(), array.bytes.begin(), array.bytes.end());
  const std::vector<std::byte> packed = deflated(whole);
  member.compressed_size = packed.size();
  writer.add(std::move(member), {packed});
}

}  // namespace

void rewrite_npz(const std::string& source, const NpzChange& change, const std::string& out) {
  const auto file = file_storage(source);
  const std::span<const std::byte> bytes = file->bytes();
  const ZipArchive archive(source, memory_storage(bytes));
  const auto array_name = [](const ZipMember& m) {
    return m.name.ends_with(".npy") ? m.name.substr(0, m.name.size() - 4) : std::string();
  };
  AtomicFile target(out);
  ZipWriter writer(target);
  std::vector<bool> is_put(change.put.size());
  uint32_t method = 0;
  for (const ZipMember& member : archive.members()) {
    const std::string name = array_name(member);
    const auto put = std::find_if(change.put.begin(), change.put.end(),
                                  [&](const NpyArray& a) { return !name.empty() && a.name == name; });
    if (put != change.put.end()) {
      const auto i = static_cast<size_t>(put - change.put.begin());
      if (std::find(is_put.begin(), is_put.end(), true) == is_put.end()) method = member.method;
      if (!is_put[i]) add_array(writer, member, *put);
      is_put[i] = true;
      continue;
    }
    const bool is_left_out = !name.empty() && std::find(change.leave_out.begin(), change.leave_out.end(),
                                                        name) != change.leave_out.end();
    if (!is_left_out)
      writer.add(member, {bytes.subspan(archive.data_offset(member), member.compressed_size)});
  }
  for (size_t i = 0; i < change.put.size(); ++i) {
    if (is_put[i]) continue;
    ZipMember member;
    member.name = change.put[i].name + ".npy";
    member.method = method;
    add_array(writer, member, change.put[i]);
  }
  writer.finish();
  target.commit();
}

}  // namespace selfnorm
