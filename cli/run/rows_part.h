// What part a data file had in a model, by config.json of the run that the model lies in.
#pragma once

#include <string>

#include "document/section/rows_part.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

// The run that a model is the result of: the folder itself, or that of its model.safetensors; empty when
// there is none.
std::string run_of_model(const std::string& model);

// kTrained: `data` are what the run recorded as its training data; kChoseStep: as those of --valid. Files are
// the same when they are one file or have the same content. A recorded path that is relative is tried from
// here and from the folders above the run, where training may have been started. kNone is no proof: the model
// may lie in no run, or the data may be a part or another form of what was recorded.
RowsPart rows_part(const std::string& model, const std::string& data);

// Of validation rows: those of the file `valid`, or (empty) held out of `train`.
RowsPart part_of_valid(const std::string& train, const std::string& valid);

// "data.csv, validation rows" of a run; `unit` is "rows", "sentences".
std::string data_words(const RunArguments& run, RowsPart part, const std::string& unit);

}  // namespace selfnorm::cli
