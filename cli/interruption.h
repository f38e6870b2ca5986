// Ctrl-C and SIGTERM: the first asks for an orderly stop, the second ends the process at once.
#pragma once

namespace selfnorm::cli {

inline constexpr int kInterruptedExit = 130;

// Installs the handlers for the rest of the process, and lets a reader of our output go away without ending a
// long run (SIGPIPE ignored).
void catch_interruptions();
bool interruption_requested();

}  // namespace selfnorm::cli
