#include "experiments/regression/jobs.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "math/parallel.h"

namespace selfnorm {
namespace {

CellValues timed(const Job& job, size_t at_once) {
  const auto start = std::chrono::steady_clock::now();
  CellValues out = job.compute();
  out.numbers["wall"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.numbers["at_once"] = static_cast<double>(at_once);
  return out;
}

}  // namespace

std::vector<CellValues> run_jobs(Trials& trials, const std::vector<Job>& jobs, int threads) {
  const ThreadLimit limit(1);  // of each job's own loops
  std::vector<size_t> missing;
  for (size_t i = 0; i < jobs.size(); ++i)
    if (!trials.has(jobs[i].key)) missing.push_back(i);
  const size_t cores =
      threads > 0 ? static_cast<size_t>(threads) : std::max(1u, std::thread::hardware_concurrency());
  const size_t at_once = std::min(cores, missing.size());

  std::vector<std::packaged_task<CellValues()>> tasks(jobs.size());
  std::vector<std::future<CellValues>> results(jobs.size());
  for (const size_t i : missing) {
    tasks[i] = std::packaged_task<CellValues()>([&job = jobs[i], at_once] { return timed(job, at_once); });
    results[i] = tasks[i].get_future();
  }
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> workers;
  for (size_t w = 0; w < at_once; ++w)
    workers.emplace_back([&] {
      for (size_t k = next++; k < missing.size(); k = next++) tasks[missing[k]]();
    });
  std::vector<CellValues> out;
  try {
    for (size_t i = 0; i < jobs.size(); ++i)
      out.push_back(trials.get(jobs[i].key, jobs[i].work, [&] { return results[i].get(); }));
  } catch (...) {
    next = missing.size();  // those that run come to their end
    throw;
  }
  return out;
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace selfnorm
