// The scores of any multiclass model file, a block of rows by a tile of classes at a time:
//     s_k(x) = log h(k) + w_k . x + bias_k.
// Dense rows meet the class-major weights where they are, as one GEMM; sparse rows need whole rows of
// features, so for them the weights are held feature-major (model/multiclass.h).
#pragma once

#include <memory>

#include "model/model_file.h"
#include "model/multiclass.h"

namespace selfnorm {

class ClassScores {
 public:
  virtual ~ClassScores() = default;

  virtual uint32_t classes() const = 0;
  virtual uint32_t features() const = 0;
  // out (rows x classes of the tile, tight) <- s_k(x_i)
  virtual void tile(const Features& x, Range rows, Range tile, float* out) const = 0;
};

// For dense or for sparse rows. Keeps a reference to a dense model; copies a sparse one's weights.
std::unique_ptr<ClassScores> make_class_scores(const ModelFile& model, bool sparse_rows);
// Of these classes, counted from the first of them, for dense rows; weights are read a tile at a time. Keeps
// a reference.
std::unique_ptr<ClassScores> make_class_scores(const MappedModel& model, Range classes);

}  // namespace selfnorm
