// How long work is ended from outside: whoever asks for it (the command line, from a signal handler) sets one
// flag, and every parallel loop reads it before each unit of work (math/parallel.h). What is thrown is no
// std::exception, so that nothing that reports or works around errors takes it for one.
#pragma once

namespace selfnorm {

struct Interrupted {};

void request_interruption() noexcept;   // async-signal-safe
void withdraw_interruption() noexcept;  // who noticed has work left to do: a checkpoint, say

void poll_interruption();  // throws Interrupted when it was requested

}  // namespace selfnorm
