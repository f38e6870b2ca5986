// The directory of a training run. Whether it can be made is tried before any work starts; it is made when
// the data are good, and when the run comes to nothing, what was made is taken away again. A run that
// replaces another sets its record, metrics and checkpoint aside as NAME.replaced and leaves its model in
// place until the new one is written over it. While this object lives the directory is locked (flock(2),
// which ends with the process): two trainings cannot write the same run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "grammar/arguments.h"
#include "run/run_record.h"

namespace selfnorm::cli {

// The nearest folder on a path that exists already.
std::string existing_folder_of(const std::string& path);

class RunDirectory {
 public:
  enum class Mode { kNew, kOverwrite, kResume };

  // Throws Error when it cannot be made or written, (kNew) already holds a run, or is in use. Makes nothing;
  // what a run killed while setting files aside left behind is put back, unfinished files of dead processes
  // go.
  RunDirectory(std::string path, Mode mode);
  // Without keep(), and unless a checkpoint is there or the run was interrupted, removes the files and
  // folders that this object made.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  bool has(const std::string& name) const;
  std::string existing_folder() const { return existing_folder_of(path_); }

  // Of the model that is there; of one in shards the index.
  std::string model() const {
    return file(has(kModelName) || !has(kModelIndexName) ? kModelName : kModelIndexName);
  }
  // This file has just been written: that of a model before it goes, if it has another name.
  void keep_model(const std::string& written) const;

  bool is_complete() const;  // holds a model that is not older than what else is there

  // The data are good: the folders are made, an overwritten run is set aside until keep(), config.json
  // appears (a resumed run keeps its own). Throws Error when another process was faster.
  void begin(const Json& record);
  void keep();
  // The run is interrupted and can be resumed. What it replaces stays aside while it has no checkpoint, so
  // that the old model is not taken for its own.
  void suspend();

 private:
  void check_new() const;
  void restore_replaced();
  void lock();

  std::string path_;
  Mode mode_;
  bool is_kept_ = false;
  bool has_begun_ = false;
  int lock_ = -1;                  // descriptor of the directory
  std::vector<std::string> made_;  // folders, outermost first
};

// What a training will need, said before it starts, and what cannot be meant, refused before it starts.
struct RunNeeds {
  std::string what;                  // "3,039 classes x 205,112 features"
  double memory = 0;                 // bytes beside the data
  double checkpoint = 0, model = 0;  // bytes of the files
  double operations = 0;             // multiplications at most; 0: not known
  std::string advice;                // the options that make it less
};

// "needs about 5.6 GB of memory, ...". Throws Error when there is less memory or disk, unless --force.
std::string checked_needs(const Arguments& arguments, const RunDirectory& run, const RunNeeds& needs);

// Throws Error "FILE: DOUBT; if it is meant, --force trains" when there is a doubt, unless --force.
void refuse_doubtful(const RunArguments& given, const std::string& doubt);

}  // namespace selfnorm::cli
