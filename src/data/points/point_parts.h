// Points that are rows of other points: some of one source, or all of two.
#pragma once

#include <memory>
#include <vector>

#include "data/points/point_source.h"

namespace selfnorm {

// Keeps a reference to `whole`.
class PointSubset final : public PointSource {
 public:
  PointSubset(const PointSource& whole, std::vector<uint64_t> rows) : whole_(whole), rows_(std::move(rows)) {}

  uint64_t rows() const override { return rows_.size(); }
  uint32_t columns() const override { return whole_.columns(); }
  const std::vector<std::string>& names() const override { return whole_.names(); }
  void read(std::span<const uint64_t> rows, std::span<float> out) const override;
  uint64_t number(uint64_t row) const override { return whole_.number(rows_[row]); }
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
  void read(std::span<const uint64_t> rows, std::span<float> out) const override;
  uint64_t number(uint64_t row) const override {
    return row < first_->rows() ? first_->number(row) : second_->number(row - first_->rows());
  }
  std::string fingerprint() const override { return first_->fingerprint() + second_->fingerprint(); }

 private:
  std::unique_ptr<PointSource> first_, second_;
};

}  // namespace selfnorm
