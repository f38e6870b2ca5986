// How far long work is, for people: a redrawn bar with the time left on a terminal, a plain line every few
// seconds elsewhere, nothing when quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "family/classifier/trainer.h"

namespace selfnorm::cli {

class ProgressLine {
 public:
  // What held-out data are measured by.
  enum class Unit { nll, perplexity };
  explicit ProgressLine(bool quiet, Unit unit = Unit::nll, bool verbose = false);
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `text` follows the numbers; at most so much time is left when `is_bound`, because the work may end early.
  struct State {
    uint64_t done = 0, total = 0;
    std::string text;
    bool is_bound = false;
    bool is_announced = false;  // with a line at once also where lines are plain
  };
  void show(const State& state);
  // Of training: the likelihood on the training data, on held-out data, now and at best; with verbose what it
  // computes with.
  void show(const Progress& progress);
  // Leaves the bar on its own line so that other text can follow.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::string measured(double nll) const;

  bool quiet_;
  Unit unit_;
  bool is_verbose_;
  bool is_terminal_;
  double held_out_ = 0, best_ = std::numeric_limits<double>::infinity();
  bool is_estimate_ = false;
  bool is_drawn_ = false;
  bool is_started_ = false;
  uint64_t first_ = 0;
  Clock::time_point start_;
  Clock::time_point last_;
};

// "1:02:03", "2:03" or "0:03"; "?" when not finite.
std::string clock_text(double seconds);

// metrics.jsonl: one JSON object per Progress, written line by line.
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
