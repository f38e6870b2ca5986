// The log-normalizer of a multiclass model by enumeration, in blocks: the n x K score matrix never exists.
//
// A block of rows meets the classes in tiles. Pass 1 computes a tile of scores S, replaces it by exp(S - m)
// with m the row maximum of the tile, and merges (m, sum) over the tiles into A. Pass 2 turns the tile into
// derivatives
//     d_ik = dA_i exp(m - A_i) exp(S_ik - m) + ds_i w_ik
// and adds X^T d to the gradient. The tiles of a block are kept between the passes when they fit the budget,
// and computed again when they do not, so memory beyond data, parameters and one gradient stays below 128 MB
// for any n and K. The cut into blocks and tiles depends on the sizes only, never on threads: same input,
// same bits.
//
// Every softmax over the classes of a multiclass model that is differentiated goes through here. Apart are
// class_moments.h, which reads heads as their files hold them and wants moments of scores, not gradients;
// group_enumeration.h, whose outputs are rows of the data, a few for each example; point_enumeration.h, whose
// outputs have no features and are scored by an energy. The four share exp_in_place and LogSumExp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "math/kernels.h"
#include "model/class_scores.h"
#include "model/multiclass.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

// How a problem of this shape is cut.
struct EnumerationPlan {
  uint64_t block = 64;     // rows per block
  uint64_t tile = 1;       // classes per tile
  bool keep_tiles = true;  // between the passes
  uint64_t chunks = 0;     // > 0: rows in this many pieces, each with its own gradient, summed in order;
                           // 0: one gradient, tiles in parallel
};

EnumerationPlan plan_enumeration(uint64_t rows, uint32_t classes, size_t gradient_size, size_t real_size);

// Whose score objectives see, s(x_i) = sum_k w_ik s_k(x_i): a label's, w_ik = [k = y_i], or the expected one
// of another distribution (TeacherEnumeration).
template <class Real>
class ScoreWeights {
 public:
  virtual ~ScoreWeights() = default;
  virtual bool needs_room() const = 0;  // for the w of a block and a tile, from `score` to `add`
  // part_i <- sum over the tile of w_ik S_ik
  virtual void score(Range rows, Range tile, const Real* scores, Real* room, double* part) const = 0;
  // d_ik <- d_ik + ds_i w_ik
  virtual void add(Range rows, Range tile, const ScoreDerivatives* by, const Real* room, Real* d) const = 0;
};

template <class Real>
class Enumeration : public ExactPass<Real> {
 public:
  // Keeps a view of target (the class of every row) and the references the model keeps.
  Enumeration(Multiclass<Real> model, std::span<const uint32_t> target);

  uint64_t examples() const override { return model_.rows(); }
  size_t parameters() const override { return model_.parameters(); }
  size_t gradient_size() const override { return model_.gradient_size(); }
  void run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
           std::span<Real> gradient) const override;
  void summarise(std::span<const Real> theta,
                 const std::function<void(uint64_t, const OutputSummary&)>& sink) const override;

 protected:
  // Without labels every example is normalised, and there are no summaries.
  Enumeration(Multiclass<Real> model, std::unique_ptr<ScoreWeights<Real>> weights);

 private:
  struct BlockPass;

  void run_by_rows(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                   std::span<Real> gradient, const EnumerationPlan& plan) const;
  void run_by_tiles(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                    std::span<Real> gradient, const EnumerationPlan& plan) const;
  void run_unnormalised(std::span<const Real> theta, uint64_t first, const Visit& visit,
                        std::span<Real> gradient) const;

  Multiclass<Real> model_;
  std::optional<std::span<const uint32_t>> target_;
  std::unique_ptr<ScoreWeights<Real>> weights_;
};

// Enumeration with another head's distribution q(.|x) in the place of a label: the score that objectives see
// is the expected one, and its derivative is shared out by q,
//     s(x) = sum_k q_k(x) s_k(x),      d s_k = dA p_k + ds q_k,
// so that A - s is the cross-entropy of q with the model, and KL(q || p) up to the entropy of q.
// There are no summaries (Bug): a distribution has no rank.
class TeacherEnumeration final : public Enumeration<float> {
 public:
  // Keeps references. `teacher_log_z` has the teacher's exact log-normalizer of every row.
  TeacherEnumeration(const Multiclass<float>& model, const Features& rows, const ClassScores& teacher,
                     std::span<const double> teacher_log_z);
};

// Of a row of outputs, or of a part of one.
SoftmaxMoments moments_of(std::span<const float> scores);
SoftmaxMoments moments_of(std::span<const double> scores);
// How many of outputs first, first + 1, ... are ahead of the target (OutputSummary::better).
template <class Real>
uint64_t outputs_ahead(std::span<const Real> scores, uint64_t first, Real target_score, uint64_t target) {
  uint64_t better = 0;
  for (size_t k = 0; k < scores.size(); ++k)
    better += scores[k] > target_score || (scores[k] == target_score && first + k < target) ? 1 : 0;
  return better;
}
OutputSummary summary_of(const SoftmaxMoments& moments, double target_score, uint64_t better,
                         uint64_t outputs);

}  // namespace selfnorm
