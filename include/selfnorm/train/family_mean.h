// Means of T(x) and log h(x) over rows that come in blocks: all that the likelihood of an exponential family,
// eta . mean T + mean log h - log Z(eta), knows of the data.
#pragma once

#include <span>
#include <vector>

#include "selfnorm/model/energy/exponential_family.h"

namespace selfnorm {

struct StatisticMeans {
  std::vector<double> t;
  double log_carrier = 0;
};

class FamilyMean {
 public:
  explicit FamilyMean(const ExponentialFamily& family)
      : family_(family), sum_{std::vector<double>(family.count()), 0}, t_(family.count()) {}

  // Throws Error naming the row when it is outside the support or is 0 where its logarithm is taken; rows
  // have the numbers given, or count on from the first one added.
  void add(const Points& x, std::span<const uint64_t> numbers = {});

  uint64_t rows() const { return rows_; }
  StatisticMeans means() const;

 private:
  const ExponentialFamily& family_;
  StatisticMeans sum_;
  std::vector<double> t_;
  uint64_t rows_ = 0;
};

}  // namespace selfnorm
