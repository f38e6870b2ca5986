#include "selfnorm/math/parallel.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace selfnorm {

ThreadLimit::ThreadLimit(int threads) {
  if (threads > 0) {
    control_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                     static_cast<size_t>(threads));
  }
}

void units_on_plain_threads(size_t units, const std::function<void(size_t)>& body) {
  const size_t allowed = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  std::atomic<size_t> next{0};
  std::mutex guard;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t unit = next++; unit < units; unit = next++) {
      try {
        body(unit);
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(allowed, units); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace selfnorm
