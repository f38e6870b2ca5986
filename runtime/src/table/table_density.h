// What an energy tilts, in closed form: normal, Student's t, uniform, mixtures, kernels, and several stacked,
// as src/proposal/density stores them. With W lower triangular (packed by rows, or its diagonal alone),
//     log N(x; mean) = log det W - |W (x - mean)|^2 / 2 - d/2 log 2 pi.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/runtime/layout_reader.h"

namespace selfnorm::runtime {

class TableDensity {
 public:
  TableDensity() = default;  // log q = 0
  // Of the kind that metadata `key` names, its numbers in the tensors `prefix`NAME. Throws FormatError.
  TableDensity(const LayoutReader& reader, const std::string& key, const std::string& prefix,
               uint32_t dimension);

  double log_prob(const double* x) const;

 private:
  using Values = std::map<std::string, std::span<const double>>;
  struct Normal {
    double constant;  // log weight + log det W - d/2 log 2 pi, less d log bandwidth
    double inverse_bandwidth;
    std::span<const double> mean, root;
  };
  struct Box {
    double log_weight;
    std::span<const double> lower, upper;
  };
  struct StudentT {
    double constant, dof;
    std::span<const double> location, root;
  };

  void add(const LayoutReader& reader, const std::string& kind, const Values& values, double log_weight);
  double log_determinant(const LayoutReader& reader, std::span<const double> root) const;
  double square(std::span<const double> root, std::span<const double> mean, const double* x) const;

  uint32_t dimension_ = 0;
  std::vector<Normal> normals_;
  std::vector<Box> boxes_;
  std::vector<StudentT> students_;
};

}  // namespace selfnorm::runtime
