#include "base/interruption.h"

#include <atomic>

namespace selfnorm {
namespace {

std::atomic<bool> is_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void request_interruption() noexcept { is_requested.store(true, std::memory_order_relaxed); }
void withdraw_interruption() noexcept { is_requested.store(false, std::memory_order_relaxed); }

void poll_interruption() {
  if (is_requested.load(std::memory_order_relaxed)) throw Interrupted{};
}

}  // namespace selfnorm
