// The log-normalizer by enumeration, with another head's distribution q(.|x) in the place of a label: the
// score that objectives see is the expected one, and its derivative is shared out by q,
//     s(x) = sum_k q_k(x) s_k(x),      d s_k = dA p_k + ds q_k,
// so that A - s is the cross-entropy of q with the model, and KL(q || p) up to the entropy of q. Blocks of
// rows in order, tiles of classes in parallel, each tile owning its columns of the gradient; the exponentials
// of a block are kept between the two passes within 96 MB.
#pragma once

#include <span>

#include "model/class_scores.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

class TeacherEnumeration final : public ExactPass<float> {
 public:
  // Keeps references. `teacher_log_z` has the teacher's exact log-normalizer of every row.
  TeacherEnumeration(const Multiclass<float>& model, const Features& rows, const ClassScores& teacher,
                     std::span<const double> teacher_log_z);

  uint64_t examples() const override { return rows_.rows(); }
  size_t parameters() const override { return model_.parameters(); }
  size_t gradient_size() const override { return model_.gradient_size(); }
  void run(std::span<const float> theta, uint64_t normalised, const Visit& visit,
           std::span<float> gradient) const override;
  // Not defined for a distribution in the place of a label: there is no rank of it. Throws Bug.
  void summarise(std::span<const float> theta,
                 const std::function<void(uint64_t, const OutputSummary&)>& sink) const override;

 private:
  Multiclass<float> model_;
  const Features& rows_;
  const ClassScores& teacher_;
  std::span<const double> teacher_log_z_;
};

}  // namespace selfnorm
