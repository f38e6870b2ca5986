// What tests of readers share.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <string_view>

#include "data/read.h"
#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {

inline std::string gzip(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// The message of the DataError that reading throws; "" when it throws none.
inline std::string read_error(const std::string& name, std::string_view bytes,
                              const ReadOptions& options = {}) {
  try {
    read_dataset_from_memory(name, bytes, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

inline ReadResult read_bytes(const std::string& name, std::string_view bytes,
                             const ReadOptions& options = {}) {
  return read_dataset_from_memory(name, bytes, options);
}

inline void expect_equal(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.group_begin, b.group_begin);
  EXPECT_EQ(a.feature_names, b.feature_names);
  EXPECT_EQ(a.features.is_sparse, b.features.is_sparse);
  EXPECT_EQ(a.features.columns(), b.features.columns());
  EXPECT_EQ(a.features.sparse.begin, b.features.sparse.begin);
  EXPECT_EQ(a.features.sparse.column, b.features.sparse.column);
  EXPECT_EQ(a.features.sparse.value, b.features.sparse.value);
  EXPECT_EQ(a.features.dense.rows, b.features.dense.rows);
  EXPECT_EQ(a.features.dense.values, b.features.dense.values);
}

// The bytes come through unchanged whatever the threads and block size.
inline void expect_block_invariance(const std::string& name, const std::string& bytes,
                                    ReadOptions options = {}) {
  options.threads = 1;
  ReadResult one = read_bytes(name, bytes, options);
  for (uint32_t block : {1u, 7u, 64u, 1u << 20})
    for (int threads : {1, 3}) {
      options.threads = threads;
      options.block_bytes = block;
      ReadResult other = read_bytes(name, bytes, options);
      expect_equal(one.data, other.data);
      ASSERT_EQ(one.report.bad.size(), other.report.bad.size());
      for (size_t i = 0; i < one.report.bad.size(); ++i) {
        EXPECT_EQ(one.report.bad[i].line, other.report.bad[i].line);
        EXPECT_EQ(one.report.bad[i].message, other.report.bad[i].message);
      }
    }
}

}  // namespace selfnorm
