#include "data/write.h"

#include <algorithm>
#include <iterator>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "data/array/array.h"
#include "data/array/matrix.h"
#include "data/input/zip.h"

namespace selfnorm {
namespace {

void append_row(const Features& features, uint64_t row, std::string& line) {
  for_each_entry(features, row, [&](uint64_t column, float value) {
    if (features.is_sparse || value != 0 || column + 1 == features.columns())
      fmt::format_to(std::back_inserter(line), " {}:{}", column + 1, value);
  });
  line += '\n';
}

// A label must survive as one token that is not taken for a comment, a pair or nothing.
void check_labels(const Dataset& data) {
  for (const std::string& label : data.labels)
    if (label.empty() || label[0] == '#' || label.find_first_of(" \t\r\n:") != std::string::npos)
      throw_error("label '{}' cannot be written in svmlight format", label);
}

void write_npy(const Points& points, AtomicFile& file) {
  const uint64_t shape[] = {points.rows, points.columns};
  file.write(npy_header("<f4", shape));
  file.write({reinterpret_cast<const char*>(points.data), points.size() * sizeof(float)});
}

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

void write_svmlight(const Dataset& data, const std::string& path) {
  if (!data.weight.empty()) throw Error("weights cannot be written in svmlight format");
  check_labels(data);
  AtomicFile file(path);
  std::string line;
  for (uint64_t e = 0; e < data.examples(); ++e) {
    if (!data.is_joint()) {
      if (data.target[e] == Dataset::kNoTarget)
        throw Error("a row without a label cannot be written in svmlight format");
      line = data.labels[data.target[e]];
      append_row(data.features, e, line);
      file.write(line);
      continue;
    }
    for (uint64_t row = data.group_begin[e]; row < data.group_begin[e + 1]; ++row) {
      line = fmt::format("{} qid:{}", row - data.group_begin[e] == data.target[e] ? 1 : 0, e + 1);
      append_row(data.features, row, line);
      file.write(line);
    }
  }
  file.commit();
}

std::string csv_field(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_of(",\"\r\n") == std::string::npos &&
                        !text.starts_with(' ') && !text.ends_with(' ');
  if (is_plain) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void csv_lines(const Points& points, const std::vector<std::string>& names,
               const std::function<void(const std::string&)>& write, const Categories& words) {
  std::string line;
  for (uint32_t j = 0; j < points.columns; ++j)
    line += (j > 0 ? "," : "") + (names.empty() ? fmt::format("x{}", j + 1) : csv_field(names[j]));
  write(line + "\n");
  for (uint64_t i = 0; i < points.rows; ++i) {
    line.clear();
    if (words.empty()) {
      fmt::format_to(std::back_inserter(line), "{}\n", fmt::join(points.row(i), ","));
    } else {
      for (uint32_t j = 0; j < points.columns; ++j) {
        const float x = points.row(i)[j];
        if (j > 0) line += ',';
        line += words[j].empty() ? fmt::format("{}", x) : csv_field(words[j].at(static_cast<size_t>(x)));
      }
      line += '\n';
    }
    write(line);
  }
}

void check_points_path(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".npy"))
    throw_error("cannot write points to {}: expected a name that ends with .csv or .npy", path);
}

void write_points(const Points& points, const std::vector<std::string>& names, const std::string& path,
                  const Categories& words) {
  check_points_path(path);
  if (!names.empty() && names.size() != points.columns)
    throw_error("found {} names for {} columns", names.size(), points.columns);
  for (uint64_t i = 0; i < points.rows; ++i) {
    const std::string message = value_error(points.row(i));
    if (!message.empty()) throw_error("cannot write {}: row {}: {}", path, i + 1, message);
  }
  AtomicFile file(path);
  if (path.ends_with(".csv")) {
    csv_lines(
        points, names, [&file](const std::string& line) { file.write(line); }, words);
  } else {
    write_npy(points, file);
  }
  file.commit();
}

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
