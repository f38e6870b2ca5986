// s(x, y) of a block of inputs for any y: what normalizers and predictions need of a regressor. y and s are
// in standardised units: p(y|x) = exp(s - A(x)) / prod_j scale_j in those of the data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/points/points.h"

namespace selfnorm {

class ConditionalScores {
 public:
  virtual ~ConditionalScores() = default;

  virtual uint64_t rows() const = 0;
  virtual uint32_t dimension() const = 0;
  virtual Support support() const = 0;
  // Of y given x, where it differs from row to row.
  virtual Support support_at(uint64_t /*row*/) const { return support(); }
  // s(x_row[i], y_i); `row` does not decrease. Parallel inside.
  virtual void score(const Points& y, std::span<const uint32_t> row, std::span<double> s) const = 0;
  // b(x): what stands for A(x) when it is not computed.
  virtual double normalizer(uint64_t row) const = 0;
  // A(x) = 0 for every x, exactly: s is a log-density as it is.
  virtual bool is_normalised() const { return false; }

  // Where mass may be, for the first nodes of a quadrature; it need not be right. At least one.
  struct Place {
    double weight;
    std::vector<double> mean, scale;
  };
  virtual std::vector<Place> places(uint64_t row) const = 0;
};

}  // namespace selfnorm
