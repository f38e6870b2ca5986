// The joint-feature model (conditional logit) [ARJK 2]: s(x,y) = eta . T(x,y) for the alternatives y of
// example x. Rows of the data are the alternatives T(x,y); a group of rows is one x. theta = eta, d numbers.
#pragma once

#include <cstdint>
#include <span>

#include "selfnorm/data/dataset.h"

namespace selfnorm {

template <class Real>
class Joint {
 public:
  Joint(const Features& alternatives, uint32_t features) : x_(alternatives), features_(features) {}

  uint64_t rows() const { return x_.rows(); }
  size_t parameters() const { return features_; }

  double score(std::span<const Real> theta, uint64_t row) const;
  // gradient += d_score T(row)
  void backward(uint64_t row, double d_score, Real* gradient) const;

 private:
  const Features& x_;
  uint32_t features_;
};

}  // namespace selfnorm
