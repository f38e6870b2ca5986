// Early stopping of a network: its exact NLL and log-normalizers on (a sample of) the validation data, and
// the best parameters so far.
#pragma once

#include <cstdint>
#include <limits>

#include "selfnorm/model/model_file.h"
#include "selfnorm/train/checkpoint.h"
#include "selfnorm/train/example_feed.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm {

// Weighted means over examples; of a hierarchical model log Z is 0.
struct NetworkQuality {
  double nll = 0;           // exact
  double log_z = 0;         // A - b, b the part of the normalizer that depends on h
  double log_z_square = 0;  // its square
};
NetworkQuality network_quality(const ModelFile& model, const ExampleBatch& examples);

class NetworkValidation {
 public:
  // `valid` may be null.
  NetworkValidation(const ExampleFeed* valid, const TrainOptions& options);

  bool present() const { return examples_.rows.rows() > 0; }
  bool has_kept() const { return has_kept_; }
  bool calibrates() const { return present() && calibrate_; }

  // Measures the model and fills the validation fields of `progress`; true when patience has run out. The
  // criterion is exact NLL + penalty about the calibrated centre; a model better than all before is kept.
  // Keeping takes the storage of `spare`, which is then empty.
  bool check(const ModelFile& model, ModelFile& spare, Progress& progress);
  // The best model, if one was kept, instead of `model`; then its calibrated centre, if there is one, and
  // whether there is: of `model` only when that is what was checked last.
  bool conclude(ModelFile& model, bool is_last) const;

  // Whether even the best model has a criterion above the NLL of where training starts, which is that of the
  // frequencies (n_k + 1) / sum_j (n_j + 1).
  bool is_worse_than_frequencies(std::span<const uint64_t> counts) const;

  void save(Checkpoint& checkpoint) const;
  // `like` has the shapes of the parameters.
  void restore(const Checkpoint& checkpoint, const ModelFile& like);

 private:
  ExampleBatch examples_;
  double alpha_;
  bool calibrate_;
  uint64_t patience_;
  uint64_t since_best_ = 0;
  double best_ = 0;
  double best_centre_ = 0;
  double last_centre_ = std::numeric_limits<double>::quiet_NaN();  // none yet
  ModelFile kept_;
  bool has_kept_ = false;
};

// The parameters of a network by name, to save and restore a copy of it.
void save_parameters(const std::string& prefix, const ModelFile& model, Checkpoint& checkpoint);
void restore_parameters(const std::string& prefix, const Checkpoint& checkpoint, ModelFile& model);

}  // namespace selfnorm
