#include "normalizer/teacher_enumeration.h"

#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// w_ik = q_k(x_i)
class TeacherWeights final : public ScoreWeights<float> {
 public:
  TeacherWeights(const Features& rows, const ClassScores& teacher, std::span<const double> log_z)
      : rows_(rows), teacher_(teacher), log_z_(log_z) {}

  bool needs_room() const override { return true; }
  void score(Range rows, Range tile, const float* scores, float* room, double* part) const override {
    teacher_.tile(rows_, rows, tile, room);
    const size_t n = tile.size();
    for (uint64_t i = 0; i < rows.size(); ++i) {
      float* q = room + i * n;
      const LogSumExp sum = exp_in_place(q, n);
      scale(static_cast<float>(std::exp(sum.max - log_z_[rows.begin + i])), q, n);
      part[i] = dot(q, scores + i * n, n);
    }
  }
  void add(Range rows, Range tile, const ScoreDerivatives* by, const float* room, float* d) const override {
    const size_t n = tile.size();
    for (uint64_t i = 0; i < rows.size(); ++i)
      add_scaled(static_cast<float>(by[i].score), room + i * n, d + i * n, n);
  }

 private:
  const Features& rows_;
  const ClassScores& teacher_;
  std::span<const double> log_z_;
};

}  // namespace

TeacherEnumeration::TeacherEnumeration(const Multiclass<float>& model, const Features& rows,
                                       const ClassScores& teacher, std::span<const double> teacher_log_z)
    : Enumeration(model, std::make_unique<TeacherWeights>(rows, teacher, teacher_log_z)) {
  SELFNORM_CHECK(teacher.classes() == model.classes() && rows.rows() == model.rows());
  SELFNORM_CHECK(teacher_log_z.size() == rows.rows());
}

}  // namespace selfnorm
