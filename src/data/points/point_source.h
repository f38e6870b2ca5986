// Tables of numbers without a target, by row: in memory, or mapped array files of any size.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"
#include "data/read.h"

namespace selfnorm {

// Of the rows that have any.
using IntervalRows = std::map<uint64_t, std::vector<IntervalCell>>;

class PointSource {
 public:
  virtual ~PointSource() = default;

  virtual uint64_t rows() const = 0;
  virtual uint32_t columns() const = 0;
  virtual const std::vector<std::string>& names() const = 0;  // of the columns; empty: none
  virtual const Categories& categories() const;
  virtual uint64_t number(uint64_t row) const { return row; }  // in the file, from 0
  // The rows listed, in that order, row-major. Throws DataError for a value that is not finite.
  virtual void read(std::span<const uint64_t> rows, std::span<float> out) const = 0;
  // Cells of a row that are known to be in an interval alone; read() gives a number inside.
  virtual std::span<const IntervalCell> intervals(uint64_t /*row*/) const { return {}; }
  virtual bool has_intervals() const { return false; }
  // A hash of the contents: all of them in memory, a fixed sample of the rows of a mapped file.
  virtual std::string fingerprint() const = 0;
};

std::unique_ptr<PointSource> make_point_source(uint32_t columns, std::vector<float> values,
                                               std::vector<std::string> names = {},
                                               Categories categories = {}, RowNumbers numbers = {},
                                               IntervalRows intervals = {});

struct PointOptions {
  Format format = Format::automatic;
  Header header = Header::automatic;
  std::vector<std::string> drop;   // columns left out, by name or zero-based index
  std::vector<std::string> names;  // of the model: columns are matched by name when both have names; its
                                   // number of columns is expected
  uint32_t columns = 0;            // expected; 0: any
  std::string array;               // npz, safetensors: the array
  std::vector<std::string> categorical = {};  // tables: columns of words although they look like numbers
  std::optional<Categories> known = {};       // those of the model: other words are errors
};

// csv, tsv (columns of numbers or intervals, and of words as levels: data/points/word_points.h,
// data/points/interval_cells.h); npy, npz, safetensors
// (the first dimension is the rows, the others together are the columns; found as the readers of classes find
// features); svmlight (its features; labels are ignored), idx and compressed files, which are held in memory.
// Throws DataError (file:line), Error.
std::unique_ptr<PointSource> open_points(const std::string& path, const PointOptions& options = {});

// Points that are rows of other points: some of one source, or all of two.
// Keeps a reference to `whole`.
class PointSubset final : public PointSource {
 public:
  PointSubset(const PointSource& whole, std::vector<uint64_t> rows) : whole_(whole), rows_(std::move(rows)) {}

  uint64_t rows() const override { return rows_.size(); }
  uint32_t columns() const override { return whole_.columns(); }
  const std::vector<std::string>& names() const override { return whole_.names(); }
  const Categories& categories() const override { return whole_.categories(); }
  void read(std::span<const uint64_t> rows, std::span<float> out) const override;
  uint64_t number(uint64_t row) const override { return whole_.number(rows_[row]); }
  std::span<const IntervalCell> intervals(uint64_t row) const override {
    return whole_.intervals(rows_[row]);
  }
  bool has_intervals() const override { return whole_.has_intervals(); }
  std::string fingerprint() const override;

 private:
  const PointSource& whole_;
  std::vector<uint64_t> rows_;
};

// The rows of `first`, then those of `second`, which has as many columns.
class JoinedPoints final : public PointSource {
 public:
  JoinedPoints(std::unique_ptr<PointSource> first, std::unique_ptr<PointSource> second);

  uint64_t rows() const override { return first_->rows() + second_->rows(); }
  uint32_t columns() const override { return first_->columns(); }
  const std::vector<std::string>& names() const override { return first_->names(); }
  const Categories& categories() const override { return first_->categories(); }
  void read(std::span<const uint64_t> rows, std::span<float> out) const override;
  uint64_t number(uint64_t row) const override {
    return row < first_->rows() ? first_->number(row) : second_->number(row - first_->rows());
  }
  std::span<const IntervalCell> intervals(uint64_t row) const override {
    return row < first_->rows() ? first_->intervals(row) : second_->intervals(row - first_->rows());
  }
  bool has_intervals() const override { return first_->has_intervals() || second_->has_intervals(); }
  std::string fingerprint() const override { return first_->fingerprint() + second_->fingerprint(); }

 private:
  std::unique_ptr<PointSource> first_, second_;
};

}  // namespace selfnorm
