#include "math/process/thread_job.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "math/process/communicator.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct LeftAlone {};  // another process has ended

// Where messages lie until they are received.
class Mail {
 public:
  void put(int from, int to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    box_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  void take(int from, int to, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    auto& messages = box_[{from, to}];
    changed_.wait(lock, [&] { return is_closed_ || !messages.empty(); });
    if (messages.empty()) throw LeftAlone{};
    SELFNORM_CHECK(messages.front().size() == bytes.size());
    std::copy(messages.front().begin(), messages.front().end(), bytes.begin());
    messages.pop_front();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> box_;
  bool is_closed_ = false;
};

class ThreadLink final : public Link {
 public:
  ThreadLink(Mail& mail, int rank, int size) : mail_(mail), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  uint64_t send(int to, std::span<const std::byte> bytes) override {
    mail_.put(rank_, to, bytes);
    return 0;
  }
  uint64_t receive(int from, std::span<std::byte> bytes) override {
    pending_[++last_] = {from, bytes};
    return last_;
  }
  // Those from the same process that began before it come first.
  void wait(uint64_t request) override {
    if (!pending_.contains(request)) return;
    const int from = pending_[request].from;
    for (auto i = pending_.begin(); i != pending_.end() && i->first <= request;) {
      if (i->second.from == from) {
        mail_.take(from, rank_, i->second.bytes);
        i = pending_.erase(i);
      } else {
        ++i;
      }
    }
  }

 private:
  struct Receipt {
    int from;
    std::span<std::byte> bytes;
  };

  Mail& mail_;
  int rank_, size_;
  std::map<uint64_t, Receipt> pending_;
  uint64_t last_ = 0;
};

}  // namespace

void run_as_processes(int processes, const std::function<void(int rank)>& body) {
  Mail mail;
  std::vector<std::exception_ptr> failure(static_cast<size_t>(processes));
  std::vector<std::thread> threads;
  for (int r = 0; r < processes; ++r)
    threads.emplace_back([&, r] {
      ThreadLink link(mail, r, processes);
      Communicator own(link);
      const CommunicatorScope scope(&own);
      try {
        body(r);
      } catch (const LeftAlone&) {
      } catch (...) {
        failure[static_cast<size_t>(r)] = std::current_exception();
        mail.close();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& f : failure)
    if (f) std::rethrow_exception(f);
}

}  // namespace selfnorm
