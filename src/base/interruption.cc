#include "base/interruption.h"

#include <atomic>

namespace selfnorm {
namespace {

std::atomic<bool> is_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);
std::atomic<int> put_off{0};  // scopes that put off, less those that throw

}  // namespace

void request_interruption() noexcept { is_requested.store(true, std::memory_order_relaxed); }
void withdraw_interruption() noexcept { is_requested.store(false, std::memory_order_relaxed); }

void poll_interruption() {
  if (is_requested.load(std::memory_order_relaxed) && put_off.load(std::memory_order_relaxed) <= 0)
    throw Interrupted{};
}

InterruptionScope::InterruptionScope(Interruptions now) : added_(now == Interruptions::put_off ? 1 : -1) {
  put_off += added_;
}
InterruptionScope::~InterruptionScope() { put_off -= added_; }

}  // namespace selfnorm
