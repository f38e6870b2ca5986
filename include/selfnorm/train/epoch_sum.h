// The loss of an epoch so far, into reports and checkpoints.
#pragma once

#include "selfnorm/engine/checkpoint.h"
#include "selfnorm/objective/loss.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm {

// Adds the mean loss to progress.loss and fills penalty, nll, log_z_rms, log_ratio and effective_samples as
// far as the sum has them.
void report_sum(const LossSum& sum, Progress& progress);

void save_sum(const LossSum& sum, Checkpoint& checkpoint);
LossSum restored_sum(const Checkpoint& checkpoint);

}  // namespace selfnorm
