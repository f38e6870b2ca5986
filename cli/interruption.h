// Signals. Ctrl-C, SIGTERM and SIGHUP end a command at once and leave no unfinished file behind, until a run
// has begun that is worth a checkpoint. From then on the first asks for an orderly stop between two steps;
// where no step ends within half a second, the loops are interrupted (base/interruption.h), and where none of
// them notices for as long, or at a second signal, the process ends: what is on disk is whole at any time.
#pragma once

#include <string>

namespace selfnorm::cli {

inline constexpr int kInterruptedExit = 130;

// Installs the handlers. A reader of ours that went away is no signal any more, but an error of writing.
void catch_signals();

// From now on stops are orderly; `words` say then, on stderr, how the work goes on.
void stop_in_order(const std::string& words);

// Of a process of several, which all stop between two steps: a second signal, which launchers send, ends
// nobody; but when they have not agreed after 20 seconds, one of them is gone.
void stop_together(bool is_so);

// Whether an orderly stop is wanted. True takes it over: nothing else will be interrupted.
bool takes_interruption();
bool is_interrupted();  // a stop was asked for at any time

// Says the words of an orderly stop; its exit code.
int interrupted();

// Ends the process as that signal does where nobody catches it.
[[noreturn]] void end_by_signal(int signal);

}  // namespace selfnorm::cli
