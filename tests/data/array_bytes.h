// Array files made in memory: NPY, NPZ and safetensors as their formats define them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "data/reader_checks.h"

namespace selfnorm {

template <class T>
std::string raw(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

inline std::string npy(const std::string& type, const std::string& shape, const std::string& payload,
                       bool fortran = false) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  header.append(63 - (header.size() + 10) % 64, ' ').push_back('\n');
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size() & 0xFF) +
         static_cast<char>(header.size() >> 8) + header + payload;
}

inline std::string little(uint64_t value, int width) {
  std::string out;
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

struct Member {
  std::string name, bytes;
  bool deflated = false;
};

inline std::string zip(const std::vector<Member>& members) {
  std::string out, directory;
  for (const Member& m : members) {
    std::string packed = m.bytes;
    if (m.deflated) packed = gzip(m.bytes).substr(10, gzip(m.bytes).size() - 18);
    uLong crc = crc32(0, reinterpret_cast<const Bytef*>(m.bytes.data()), static_cast<uInt>(m.bytes.size()));
    std::string fields = little(20, 2) + little(0, 2) + little(m.deflated ? 8 : 0, 2) + little(0, 4) +
                         little(crc, 4) + little(packed.size(), 4) + little(m.bytes.size(), 4) +
                         little(m.name.size(), 2) + little(0, 2);
    directory += "PK\1\2" + little(20, 2) + fields + std::string(10, '\0') + little(out.size(), 4) + m.name;
    out += "PK\3\4" + fields + m.name + packed;
  }
  return out + directory + "PK\5\6" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) +
         little(directory.size(), 4) + little(out.size(), 4) + little(0, 2);
}

struct TensorBytes {
  std::string name, dtype, shape, bytes;  // shape: "[2, 3]"
};

// `metadata` is JSON ("{...}") or empty; `padding` spaces after the header move the data off their alignment.
inline std::string safetensors(const std::vector<TensorBytes>& tensors, const std::string& metadata = "",
                               size_t padding = 0) {
  std::string header = "{", data;
  if (!metadata.empty()) header += "\"__metadata__\":" + metadata;
  for (const TensorBytes& t : tensors) {
    header += std::string(header.size() > 1 ? "," : "") + "\"" + t.name + "\":{\"dtype\":\"" + t.dtype +
              "\",\"shape\":" + t.shape + ",\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + t.bytes.size()) + "]}";
    data += t.bytes;
  }
  header += "}" + std::string(padding, ' ');
  return little(header.size(), 8) + header + data;
}

}  // namespace selfnorm
