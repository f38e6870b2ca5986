// config.json of a run: every option as resolved and what data was read, so that --resume repeats the same
// run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/dataset.h"
#include "document/section/audit_section.h"
#include "grammar/arguments.h"
#include "grammar/command_table.h"

namespace selfnorm::cli {

inline constexpr const char* kModelName = "model.safetensors";
inline constexpr const char* kModelIndexName = "model.safetensors.index.json";  // of one in shards
inline constexpr const char* kRecordName = "config.json";
inline constexpr const char* kMetricsName = "metrics.jsonl";
inline constexpr const char* kCheckpointName = "checkpoint.safetensors";

// out/<stem of the data>-<objective>, with -2, -3, ... appended when taken.
std::string new_run_path(const RunArguments& run, const std::string& objective);
// The directory --resume means: --out, or the newest of the names new_run_path() would have given. Throws
// Error when there is none.
std::string resumed_run_path(const RunArguments& run, const std::string& objective);

// The options recorded by the run that `given` (with --resume) continues; null when it was stopped before
// recording any. Files are where they were, or where they are named from here. Throws Error when it is a run
// of another command, or recorded nothing and none are given.
Json recorded_options(const CommandRow& command, const Arguments& given);

// The command of the run in this directory, "train classifier" when it recorded none.
std::string recorded_command(const std::string& run);

// Where the data are that the run in this directory recorded under `key`, "data" or "valid"; empty when it
// recorded none.
std::string recorded_data(const std::string& run, const std::string& key);

// Throws Error when an option that shapes the result differs from the recorded one.
void check_same_run(const Json& recorded, const Json& given);

// A 64-bit hash of everything in the data that training depends on.
uint64_t fingerprint(const Dataset& data);

// {"path", "rows", "features", "classes", "hash"}; a record of other data has "path" and "hash" too
Json data_record(const std::string& path, const Dataset& data);
// Throws Error when the data read now are not those recorded in `run`/config.json under `key`.
void check_same_data(const std::string& run, const std::string& key, const Json& now);

// What part a data file had in a model, by config.json of the run that the model lies in.

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
