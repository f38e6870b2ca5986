// Trains a conditional log-linear model, multiclass or joint, from a Dataset to a ModelFile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "engine/engine.h"
#include "family/classifier/options.h"
#include "model/class_shard.h"
#include "model/model_file.h"

namespace selfnorm {

struct TrainResult : RunResult {
  ModelFile model;   // complete except audit_json, which the caller fills; interrupted: the best so far
  ClassShard shard;  // of a model of all classes (`shard classes`) that has the rows of the own ones
};

// `valid` may be null (no early stopping). Both datasets share labels and feature space. `train` and `valid`
// are taken by value because standardisation works in place. `unlabelled` has inputs that the penalty is of
// as well as of those of `train`; its targets do not count. Throws Error for unusable data (no rows, one
// class, ...) or options.
TrainResult train_classifier(Dataset train, std::optional<Dataset> valid, const TrainOptions& options,
                             const CheckpointOptions& checkpoint, TrainObserver& observer,
                             std::optional<Dataset> unlabelled = std::nullopt);

// Throws Error for an option that is not as in `initial` and that the steps of `optimiser`, which the data
// and `options` chose, do not read.
void refuse_other_steps(const std::string& family, TrainOptions options, TrainOptions initial,
                        const std::string& optimiser);

// The examples held out of training for validation are the second part of a random_split by this stream.
inline constexpr uint64_t kHoldOutStream = 0x686f6c646f7574;  // "holdout"

// Class weights multiply the weights of the examples.
//     "balanced": n / (K n_k) for class k;     "a=2,b=0.5": as given, 1 for the others.

// The weights come from `train` and apply to both. Throws Error for an unknown label, a bad number, or joint
// data.
void apply_class_weight(const std::string& spec, Dataset& train, Dataset* valid);

}  // namespace selfnorm
