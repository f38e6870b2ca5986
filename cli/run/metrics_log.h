// metrics.jsonl: one JSON object per Progress, written line by line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "family/classifier/trainer.h"

namespace selfnorm::cli {

nlohmann::ordered_json progress_json(const Progress& progress);

class MetricsLog {
 public:
  explicit MetricsLog(std::string path) : path_(std::move(path)) {}
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  // The first call drops the lines of an earlier, interrupted part that the run now repeats. Throws Error
  // when the line cannot be written; then the file is as it was.
  void append(const Progress& progress);

 private:
  void open_before(const Progress& first);

  std::string path_;
  int file_ = -1;
};

}  // namespace selfnorm::cli
