// The penalised likelihood of a head over streamed examples, in the coordinates retraining works in: dense
// inputs standardised (folded back exactly into the head), parameters feature-major (model/multiclass.h).
#pragma once

#include <memory>
#include <vector>

#include "data/example_source.h"
#include "family/classifier/normalize/retrain.h"
#include "model/class_scores.h"
#include "model/model_file.h"
#include "model/parameters.h"
#include "objective/loss.h"

namespace selfnorm {

class RetrainProblem {
 public:
  // Keeps references. Computes the teacher's log-normalizers when there are no labels.
  RetrainProblem(const ModelFile& original, const ExampleSource& training, const ExampleSource& held_out,
                 bool allow_labels);

  bool uses_labels() const { return uses_labels_; }
  uint64_t examples() const { return training_.examples(); }
  size_t parameters() const { return (size_t{original_.features} + 1) * original_.classes; }
  double input_norm() const { return input_norm_; }  // rms of |x| as the head meets it
  double flops() const;                              // of one pass with its gradient, roughly

  std::vector<float> theta_of(const ModelFile& model) const;
  // t theta + (1 - t) times the uniform model with log Z = 0.
  std::vector<float> towards_uniform(std::vector<float> theta, double t) const;
  // The lossless shift of theory.md 1.5, which a solve that stopped early has not found by itself.
  void apply_gauge(std::vector<float>& theta) const;
  ModelFile model_of(const std::vector<float>& theta) const;

  using Report = std::function<void(uint64_t examples_done)>;
  // Over all training examples: the mean loss, and gradient <- its gradient.
  LossSum full(std::span<const float> theta, double alpha, std::span<float> gradient,
               const Report& report) const;
  // Over those listed, the same of their mean.
  LossSum batch(std::span<const uint64_t> examples, std::span<const float> theta, double alpha,
                std::span<float> gradient) const;
  LossSum held_out(std::span<const float> theta, double alpha) const;

 private:
  struct Side {
    const ExampleSource& source;
    std::vector<double> teacher_log_z;
  };
  LossSum add(const Side& side, Dataset block, std::span<const uint64_t> examples,
              std::span<const float> theta, double alpha, double scale, std::span<float> gradient) const;

  const ModelFile& original_;
  const ExampleSource& training_;
  bool uses_labels_;
  Scaling scaling_;
  double input_norm_ = 1, nonzeros_ = 0;
  std::unique_ptr<ClassScores> teacher_;
  Side sides_[2];  // training, held out
};

}  // namespace selfnorm
