// What the classes of the public interface have in common.
#pragma once

#include <string>

#include "engine/engine.h"
#include "selfnorm/progress.h"
#include "selfnorm/rows.h"

namespace selfnorm {

// Throws Error unless they are whole rows of finite numbers.
void check_rows(const Rows& x);
// The model of a run directory, or the file itself.
std::string model_file_of(const std::string& path);
// Throws Error for training that was interrupted, which has no model to give; warns of one that diverged.
void check_ending(const RunResult& result, TrainObserver& observer);

}  // namespace selfnorm
