#include "math/parallel.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/interruption.h"
#include "math/process/communicator.h"

#if defined(__has_feature)  // clang; GCC has __SANITIZE_THREAD__
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

namespace selfnorm {

struct ThreadLimit::Control {
  explicit Control(size_t threads) : limit(tbb::global_control::max_allowed_parallelism, threads) {}
  tbb::global_control limit;
};

ThreadLimit::ThreadLimit(int threads) {
  if (threads > 0) control_ = std::make_unique<Control>(static_cast<size_t>(threads));
}

ThreadLimit::~ThreadLimit() = default;

size_t allowed_threads() {
  return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
}

void units_on_plain_threads(size_t units, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next{0};
  std::mutex guard;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t unit = next++; unit < units; unit = next++) {
      try {
        poll_interruption();
        body(unit);
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!failure) failure = std::current_exception();
        next = units;
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(allowed_threads(), units); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

void run_units(size_t units, const std::function<void(size_t)>& body) {
  const CommunicatorScope alone(nullptr);
#if defined(__SANITIZE_THREAD__)
  units_on_plain_threads(units, body);
#else
  tbb::parallel_for(size_t{0}, units, [&body](size_t unit) {
    poll_interruption();
    body(unit);
  });
#endif
}

}  // namespace selfnorm
