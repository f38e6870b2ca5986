// Tables of numbers without a target, by row: in memory, or mapped array files of any size, of which only the
// rows asked for are looked at.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"
#include "data/read.h"

namespace selfnorm {

class PointSource {
 public:
  virtual ~PointSource() = default;

  virtual uint64_t rows() const = 0;
  virtual uint32_t columns() const = 0;
  virtual const std::vector<std::string>& names()
      const = 0;  // of the columns; empty when the format has none
  virtual uint64_t number(uint64_t row) const { return row; }  // in the file, from 0
  // The rows listed, in that order, row-major. Throws DataError naming file and row for a value that is not
  // finite.
  virtual void read(std::span<const uint64_t> rows, std::span<float> out) const = 0;
  // A hash of the contents: all of them in memory, a fixed sample of the rows of a mapped file.
  virtual std::string fingerprint() const = 0;
};

std::unique_ptr<PointSource> make_point_source(uint32_t columns, std::vector<float> values,
                                               std::vector<std::string> names = {});

struct PointOptions {
  Format format = Format::automatic;
  Header header = Header::automatic;
  std::vector<std::string> drop;   // columns left out, by name or zero-based index
  std::vector<std::string> names;  // of the model: columns are matched by name when both have names; its
                                   // number of columns is expected
  uint32_t columns = 0;            // expected; 0: any
  std::string array;               // npz, safetensors: the array
};

// csv, tsv (every column a number); npy, npz, safetensors (the first dimension is the rows, the others
// together are the columns; found as the readers of classes find features); svmlight (its features; labels
// are ignored), idx and compressed files whole, when they fit into memory. Throws DataError (file:line) or
// Error.
std::unique_ptr<PointSource> open_points(const std::string& path, const PointOptions& options = {});

}  // namespace selfnorm
