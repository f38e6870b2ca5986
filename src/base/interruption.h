// How long work is ended from outside: whoever asks for it (the command line, from a signal handler) sets one
// flag, and every parallel loop reads it before each unit of work (math/parallel.h). What is thrown is no
// std::exception, so that nothing that reports or works around errors takes it for one.
#pragma once

namespace selfnorm {

struct Interrupted {};

void request_interruption() noexcept;   // async-signal-safe
void withdraw_interruption() noexcept;  // who noticed has work left to do: a checkpoint, say

void poll_interruption();  // throws Interrupted when it was requested, unless that is put off

// One of several processes must not leave work that all of them do: there, loops go on, but for those whose
// units are shared, and end together (math/process/communicator.h).
enum class Interruptions { thrown, put_off };

// While alive, in all threads. In a process that never put them off they are thrown anyway.
class InterruptionScope {
 public:
  explicit InterruptionScope(Interruptions now);
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  int added_;
};

}  // namespace selfnorm
