// The output layer in one minibatch: scores w_k . h + c_k of the states, their loss, its derivatives with
// respect to the states, and one step of the layer's own parameters. One implementation per way of treating
// the log-normalizer: computed (exact, penalty, sampled), sampled (nce, ranking-nce, is, snl), built in
// (hierarchical). The parameters are those of a model file, changed in place.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/checkpoint.h"
#include "family/classifier/options.h"
#include "model/model_file.h"
#include "model/multiclass.h"
#include "objective/loss.h"

namespace selfnorm {

struct StateBatch {
  const Features& state;  // dense, h of every example
  std::span<const uint32_t> target;
  std::span<const float> weight;  // or empty for all 1
  double scale = 1;               // the loss minimised is scale times the weighted sum over the examples
  uint64_t step = 0;              // the stream of randomness
};

class OutputStep {
 public:
  virtual ~OutputStep() = default;

  // Keeps a reference until update().
  virtual void begin(const StateBatch& batch) = 0;
  // The terms of the loss of these examples, and d_state (rows x d, overwritten) = the derivative of the loss
  // minimised. Called once for every example, from several threads.
  virtual LossSum block(Range examples, float* d_state) = 0;
  virtual void update(double rate) = 0;

  // c or b as it is now; the constant part when b is a function.
  virtual double centre() const { return 0; }
  // Of the default rate.
  virtual double rate_factor() const { return 1; }
  // What to do when the loss is not finite.
  virtual const char* remedy() const { return "a smaller --learning-rate"; }
  // Brings the parameters up to date (decay of unused rows) and stores what the model needs besides them.
  virtual void finish(ModelFile& model) = 0;

  virtual void save(Checkpoint& checkpoint) const = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;
};

// `model` has its weights and biases; `counts` says how often each class is a target. Keep references.
std::unique_ptr<OutputStep> make_enumerated_output(const TrainOptions& options, ModelFile& model);
std::unique_ptr<OutputStep> make_candidate_output(const TrainOptions& options, ModelFile& model,
                                                  std::span<const uint64_t> counts);
std::unique_ptr<OutputStep> make_hierarchical_output(const TrainOptions& options, ModelFile& model);

}  // namespace selfnorm
