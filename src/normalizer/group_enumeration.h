// The log-normalizer of a joint-feature model by enumeration of each example's alternatives:
//     A(x) = log sum_{y in group(x)} exp(eta . T(x,y)).
// Groups are cut into pieces by their number alone; every piece has its own gradient and the pieces are
// summed in order.
#pragma once

#include <vector>

#include "math/kernels.h"
#include "model/multiclass.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

template <class Real>
class GroupEnumeration final : public ExactPass<Real> {
 public:
  // Keeps a reference to data, which must be joint.
  GroupEnumeration(Joint<Real> model, const Dataset& data);

  uint64_t examples() const override { return data_.examples(); }
  size_t parameters() const override { return model_.parameters(); }
  size_t gradient_size() const override { return model_.parameters(); }
  void run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
           std::span<Real> gradient) const override;
  void summarise(std::span<const Real> theta,
                 const std::function<void(uint64_t, const OutputSummary&)>& sink) const override;

 private:
  // The scores of a group's alternatives, and their sum.
  LogSumExp score_group(std::span<const Real> theta, uint64_t group, std::vector<double>& scores) const;

  Joint<Real> model_;
  const Dataset& data_;
};

}  // namespace selfnorm
