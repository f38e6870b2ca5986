// A run in words: what its model records of it, and what tells it from other runs. Nothing that depends on
// the clock or the machine enters, so that the same command gives the same bytes.
#pragma once

#include <string>

#include "family/classifier/options.h"
#include "family/classifier/trainer.h"
#include "model/model_file.h"

namespace selfnorm {

WeightKind weight_kind(const std::string& name);  // float32 | bfloat16 | int8

// JSON of the objective with the constants it used; `alpha` is the multiplier that constraint ended with.
std::string objective_record(const ObjectiveOptions& objective, double alpha);

// JSON of the run.
std::string training_record(const TrainOptions& options, const std::string& optimiser,
                            const std::string& reason, uint64_t examples, const Progress& last);

// Everything the bits of the result depend on, besides the data.
std::string options_text(const TrainOptions& options, const std::string& optimiser);

// Whether the constant that log Z settles at has to be estimated after training.
bool needs_constant(const ObjectiveOptions& objective);

// With gamma = 0 `sampled` never normalises anything.
void warn_about_gamma(const ObjectiveOptions& objective, TrainObserver& observer);

// In-batch noise needs two examples in a minibatch; draws are counted in 32 bits. Throws Error.
void check_noise(const ObjectiveOptions& objective, uint64_t batch);

// The centre is an option of penalty and constraint; nce and snl keep a learned b in its place.
void resolve_centre(bool is_joint, ObjectiveOptions& objective);

}  // namespace selfnorm
