// Independent trainings, as many at a time as there are threads, each on one thread: small networks gain
// little from more. Results are appended to the cells in the order of the jobs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/summary.h"

namespace selfnorm {

struct Job {
  std::string key;  // of its cell
  double work = 1;  // in the unit of the trials
  std::function<CellValues()> compute;
};

// One for every job, with two more numbers where it was computed: wall, its seconds by the clock, and
// at_once, how many ran at a time. An error of a job ends all of them.
std::vector<CellValues> run_jobs(Trials& trials, const std::vector<Job>& jobs, int threads);

// Processor time of the calling thread.
double thread_seconds();

}  // namespace selfnorm
