// What the fuzz targets of the readers share: a reader may refuse any bytes with an Error, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "data/read.h"
#include "selfnorm/error.h"

namespace selfnorm {

// The columns of every row increase and stay inside the matrix, targets are classes, sizes agree.
inline void check_dataset(const Dataset& d) {
  uint64_t rows = d.features.rows();
  SELFNORM_CHECK(rows > 0 && d.features.columns() > 0);
  SELFNORM_CHECK(d.target.size() == d.examples());
  SELFNORM_CHECK(d.weight.empty() || d.weight.size() == d.examples());
  if (d.is_joint()) SELFNORM_CHECK(d.group_begin.back() == rows);
  for (uint64_t e = 0; e < d.examples(); ++e) {
    uint64_t choices = d.is_joint() ? d.group_begin[e + 1] - d.group_begin[e] : d.classes();
    SELFNORM_CHECK(d.target[e] == Dataset::kNoTarget || d.target[e] < choices);
  }
  const SparseMatrix& x = d.features.sparse;
  if (!d.features.is_sparse) {
    SELFNORM_CHECK(d.features.dense.values.size() == rows * d.features.columns());
    return;
  }
  SELFNORM_CHECK(x.begin.back() == x.column.size() && x.column.size() == x.value.size());
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t k = x.begin[r]; k < x.begin[r + 1]; ++k)
      SELFNORM_CHECK(x.column[k] < x.columns && (k == x.begin[r] || x.column[k - 1] < x.column[k]));
}

// The first byte chooses among the options, the rest is the file.
inline int fuzz_reader(Format format, const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  ReadOptions options;
  options.format = format;
  options.threads = 1;
  options.require_labels = (data[0] & 1) != 0;
  options.skip_bad = (data[0] & 2) != 0 ? 3 : 0;
  options.block_bytes = (data[0] & 4) != 0 ? 16 : 1u << 16;
  options.text.hash_buckets = (data[0] & 8) != 0 ? 64 : 0;
  try {
    std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    check_dataset(read_dataset_from_memory("fuzz", bytes, options).data);
  } catch (const Error&) {
  }
  return 0;
}

}  // namespace selfnorm
