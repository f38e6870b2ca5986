#include "idx.h"

#include <fmt/format.h>

#include <filesystem>

#include "selfnorm/base/error.h"

namespace selfnorm {

Array open_idx(const std::string& name, ByteSource& source) {
  unsigned char head[4];
  bool whole = read_fully(source, reinterpret_cast<char*>(head), 4) == 4;
  if (!whole || head[0] != 0 || head[1] != 0)
    throw DataError(name, 0, "found no idx magic bytes at the start, expected 0, 0");
  Array array;
  array.name = name;
  array.payload = &source;
  switch (head[2]) {
    case 0x08:
      array.type = {ElementKind::natural, 1, true};
      break;
    case 0x09:
      array.type = {ElementKind::integer, 1, true};
      break;
    case 0x0B:
      array.type = {ElementKind::integer, 2, true};
      break;
    case 0x0C:
      array.type = {ElementKind::integer, 4, true};
      break;
    case 0x0D:
      array.type = {ElementKind::real, 4, true};
      break;
    case 0x0E:
      array.type = {ElementKind::real, 8, true};
      break;
    default:
      throw DataError(name, 0,
                      fmt::format("found the idx element type {:#04x}, expected 0x08 to 0x0e", head[2]));
  }
  if (head[3] == 0) throw DataError(name, 0, "found an idx file of 0 dimensions, expected at least 1");
  for (unsigned i = 0; i < head[3]; ++i) {
    unsigned char n[4];
    if (read_fully(source, reinterpret_cast<char*>(n), 4) < 4)
      throw DataError(name, 0, "the file ends within the idx header");
    array.shape.push_back(uint64_t{n[0]} << 24 | uint64_t{n[1]} << 16 | uint64_t{n[2]} << 8 | n[3]);
  }
  return array;
}

std::string idx_labels_path(const std::string& images_path) {
  std::filesystem::path path(images_path);
  std::string file = path.filename().string();
  size_t images = file.find("images"), idx = file.find("idx3");
  if (images == std::string::npos || idx == std::string::npos || idx < images) return {};
  file.replace(idx, 4, "idx1").replace(images, 6, "labels");
  std::string plain = file.ends_with(".gz") ? file.substr(0, file.size() - 3) : file;
  for (const std::string& candidate : {file, plain, plain + ".gz"}) {
    std::error_code ignored;
    auto labels = path.parent_path() / candidate;
    if (std::filesystem::exists(labels, ignored)) return labels.string();
  }
  return {};
}

}  // namespace selfnorm
