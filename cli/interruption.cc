#include "interruption.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/atomic_file.h"
#include "base/interruption.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

constexpr suseconds_t kPatience = 500'000;  // microseconds
constexpr int kPatienceTogether = 40;       // times that

enum Stage : int { kAtOnce, kInOrder, kRequested, kOverdue, kTaken };
std::atomic<int> stage{kAtOnce};
std::atomic<bool> is_together{false};
std::atomic<int> waits{0};
// What a handler reads is never written to, and never destroyed.
std::array<std::array<char, 10'000>, 2> rooms{};
std::atomic<const char*> words_of_stop{rooms[0].data()};

void set_clock(suseconds_t microseconds) {
  const itimerval once{{0, 0}, {0, microseconds}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

[[noreturn]] void end_at_once() {
  remove_unfinished_files();
  put_on_stderr(words_of_stop.load());
  _exit(kInterruptedExit);
}

void on_signal(int signal) {
  // A shell ends its loop at Ctrl-C only where its child died of it.
  if (stage == kAtOnce && signal == SIGINT) end_by_signal(signal);
  if (stage > kInOrder && is_together) return;
  if (stage != kInOrder) end_at_once();
  stage = kRequested;
  set_clock(kPatience);
}

void on_clock(int) {
  if (stage == kOverdue && is_together && ++waits < kPatienceTogether) return set_clock(kPatience);
  if (stage == kOverdue) end_at_once();
  int expected = kRequested;
  if (!stage.compare_exchange_strong(expected, kOverdue)) return;
  request_interruption();
  if (stage == kTaken) return withdraw_interruption();
  set_clock(kPatience);
}

void catch_signal(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int other : {SIGINT, SIGTERM, SIGHUP, SIGALRM}) sigaddset(&action.sa_mask, other);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_signals() {
  for (const int number : {SIGHUP, SIGINT}) {  // ignored by nohup(1), and for what a script starts by &
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) catch_signal(number, on_signal);
  }
  catch_signal(SIGTERM, on_signal);
  catch_signal(SIGALRM, on_clock);
  signal(SIGPIPE, SIG_IGN);
}

void stop_in_order(const std::string& words) {
  std::array<char, 10'000>& room = rooms[words_of_stop == rooms[0].data() ? 1 : 0];
  const size_t length = words.copy(room.data(), room.size() - 2);
  std::memcpy(room.data() + length, "\n", 2);
  words_of_stop = room.data();
  int expected = kAtOnce;
  stage.compare_exchange_strong(expected, kInOrder);
}

void stop_together(bool is_so) { is_together = is_so; }

bool is_interrupted() { return stage >= kRequested; }

bool takes_interruption() {
  if (!is_interrupted()) return false;
  stage = kTaken;  // for a clock that runs already, on any thread
  set_clock(0);
  withdraw_interruption();
  return true;
}

int interrupted() {
  set_clock(0);
  put_on_stderr(words_of_stop.load());
  return kInterruptedExit;
}

void end_by_signal(int number) {
  remove_unfinished_files();
  signal(number, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, number);
  raise(number);
  sigsuspend(&all);
  _exit(kInterruptedExit);
}

}  // namespace selfnorm::cli
