// Enumeration with another head's distribution q(.|x) in the place of a label: the score that objectives see
// is the expected one, and its derivative is shared out by q,
//     s(x) = sum_k q_k(x) s_k(x),      d s_k = dA p_k + ds q_k,
// so that A - s is the cross-entropy of q with the model, and KL(q || p) up to the entropy of q.
#pragma once

#include <span>

#include "model/class_scores.h"
#include "normalizer/enumeration.h"

namespace selfnorm {

// There are no summaries (Bug): a distribution has no rank.
class TeacherEnumeration final : public Enumeration<float> {
 public:
  // Keeps references. `teacher_log_z` has the teacher's exact log-normalizer of every row.
  TeacherEnumeration(const Multiclass<float>& model, const Features& rows, const ClassScores& teacher,
                     std::span<const double> teacher_log_z);
};

}  // namespace selfnorm
